"""The plain oracle of projections in the worker: one row at a time, with Python's own numbers and no arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from weft.final.project import arithmetic, bits, conditional, leaves, predicates, texts
from weft.final.project.tree import Node

BITS = {"int": 32, "bigint": 64}


class RaisedError(Exception):
    """Spark raises an error on the row."""


def value_of(node: Node, row: Mapping[str, Any]) -> Any:
    """The value of an expression on a row of components' values; None is null."""
    return RULES[type(node)](node, row)


def whole(value: int, kind: str, ansi: bool) -> int:
    """An integer that fits its type, wrapped around or not at all."""
    size = 2 ** BITS[kind]
    wrapped = (value + size // 2) % size - size // 2
    if wrapped != value and ansi:
        raise RaisedError
    return wrapped


def rank(value: Any) -> tuple:
    """What orders values as Spark does: NaN last."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)


def both(node: Any, row: Mapping[str, Any]) -> tuple[Any, Any]:
    return value_of(node.left, row), value_of(node.right, row)


def arithmetic_of(node: arithmetic.Arithmetic, row: Mapping[str, Any]) -> Any:
    left, right = both(node, row)
    if left is None or right is None:
        return None
    found = {"+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right}[node.sign]()
    return found if node.kind == "double" else whole(found, node.kind, node.ansi)


def quotient_of(node: arithmetic.Quotient, row: Mapping[str, Any]) -> Any:
    left, right = both(node, row)
    if left is None or right is None:
        return None
    if right == 0:
        if node.ansi:
            raise RaisedError
        return None
    if node.kind != "double":
        return int(math.copysign(1, left)) * (abs(left) % abs(right))
    if node.sign == "/":
        return left / right
    return math.nan if math.isinf(left) else math.fmod(left, right)


def one_of(node: Any, row: Mapping[str, Any]) -> Any:
    inner = value_of(node.inner, row)
    if inner is None:
        return None
    if isinstance(node, arithmetic.Cast):
        return float(inner) if node.kind == "double" else inner
    if isinstance(node, arithmetic.SquareRoot):
        return math.nan if inner < 0 else math.sqrt(inner)
    found = abs(inner) if isinstance(node, arithmetic.Absolute) else -inner
    return found if node.kind == "double" else whole(found, node.kind, node.ansi)


def compare_of(node: predicates.Compare, row: Mapping[str, Any]) -> bool | None:
    left, right = both(node, row)
    if left is None or right is None:
        return None
    one, other = rank(left), rank(right)
    return {"=": one == other, "<>": one != other, "<": one < other, "<=": one <= other, ">": one > other,
            ">=": one >= other}[node.sign]


def compare_text_of(node: texts.CompareText, row: Mapping[str, Any]) -> bool | None:
    left = value_of(node.text, row)
    if left is None:
        return None
    one, other = left.encode(), node.constant.encode()
    return {"=": one == other, "<>": one != other, "<": one < other, "<=": one <= other, ">": one > other,
            ">=": one >= other}[node.sign]


def bitwise_of(node: bits.Bitwise, row: Mapping[str, Any]) -> Any:
    left, right = both(node, row)
    if left is None or right is None:
        return None
    return {"&": left & right, "|": left | right, "^": left ^ right}[node.sign]


def shift_of(node: bits.Shift, row: Mapping[str, Any]) -> Any:
    left, right = both(node, row)
    if left is None or right is None:
        return None
    places = right % BITS[node.kind]
    return whole(left << places, node.kind, False) if node.sign == "<<" else left >> places


def inverted_of(node: bits.Inverted, row: Mapping[str, Any]) -> Any:
    inner = value_of(node.inner, row)
    return None if inner is None else ~inner


def null_safe_of(node: predicates.NullSafeEqual, row: Mapping[str, Any]) -> bool:
    left, right = both(node, row)
    return left is right if left is None or right is None else rank(left) == rank(right)


def and_of(node: predicates.And, row: Mapping[str, Any]) -> bool | None:
    sides = both(node, row)
    return False if False in sides else None if None in sides else True


def or_of(node: predicates.Or, row: Mapping[str, Any]) -> bool | None:
    sides = both(node, row)
    return True if True in sides else None if None in sides else False


def not_of(node: predicates.Not, row: Mapping[str, Any]) -> bool | None:
    inner = value_of(node.inner, row)
    return None if inner is None else not inner


def case_of(node: conditional.Case, row: Mapping[str, Any]) -> Any:
    for test, value in node.cases:
        if value_of(test, row):
            return value_of(value, row)
    return None if node.otherwise is None else value_of(node.otherwise, row)


RULES: dict[type[Node], Any] = {
    leaves.Literal: lambda node, row: node.value,
    leaves.Value: lambda node, row: row[node.name],
    leaves.Call: lambda node, row: row[f"c{node.index}_value"],
    arithmetic.Arithmetic: arithmetic_of,
    arithmetic.Quotient: quotient_of,
    arithmetic.Cast: one_of,
    arithmetic.SquareRoot: one_of,
    arithmetic.Absolute: one_of,
    arithmetic.Negate: one_of,
    predicates.Compare: compare_of,
    predicates.NullSafeEqual: null_safe_of,
    predicates.And: and_of,
    predicates.Or: or_of,
    predicates.Not: not_of,
    predicates.IsPresent: lambda node, row: value_of(node.inner, row) is not None,
    conditional.Case: case_of,
    texts.CompareText: compare_text_of,
    bits.Bitwise: bitwise_of,
    bits.Shift: shift_of,
    bits.Inverted: inverted_of,
}
