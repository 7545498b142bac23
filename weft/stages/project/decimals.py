"""Decimal literals beside integers: exact arithmetic and comparisons, in longs that count units of the last digit.

Spark's result has room for every digit where its precision is at most 38; a long that has not is Spark's to compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from weft.final.project.arithmetic import Arithmetic
from weft.final.project.leaves import Literal
from weft.final.project.predicates import Compare
from weft.final.project.tree import Node
from weft.final.project.vector import INTEGRAL
from weft.sql.kinds import digits
from weft.stages.project.coercion import Exact, NotCoveredError, coerce

MOST_DIGITS, LARGEST = 38, 2**63 - 1


@dataclass(frozen=True, eq=False)
class Scaled(Node):
    """A decimal as a long of so many units, which only comparisons and sums, differences and products read."""

    units: Node


def are_decimals(nodes: Sequence[Node]) -> bool:
    """Whether Spark computes with decimals here, all of which are literals, integers or made of those."""
    others = [node for node in nodes if not isinstance(node, Exact | Scaled)]
    return len(others) < len(nodes) and all(node.kind in INTEGRAL for node in others)


def scaled(node: Node) -> Scaled:
    """A literal or an integer as a decimal of at least the precision that Spark gives it."""
    if isinstance(node, Scaled):
        return node
    if not isinstance(node, Exact):
        return Scaled("decimal({},{})".format(*size_of(node)), coerce(node, "bigint"))
    units = int(Decimal(node.text).scaleb(size_of(node)[1]))
    if abs(units) > LARGEST:
        raise NotCoveredError(f"the literal {node.text}")
    return Scaled(node.kind, Literal("bigint", units))


def size_of(node: Node) -> tuple[int, int]:
    """Precision and scale."""
    found = digits(node.kind)
    assert found is not None
    return found


def decimal_arithmetic(sign: str, parts: Sequence[Node]) -> Node:
    """A sum, a difference or a product."""
    left, right = map(scaled, parts)
    (p, s), (q, t) = size_of(left), size_of(right)
    precision, scale = (p + q + 1, s + t) if sign == "*" else (max(p - s, q - t) + max(s, t) + 1, max(s, t))
    require_room(precision)
    units = (left.units, right.units) if sign == "*" else (rescale(left, scale), rescale(right, scale))
    return Scaled(f"decimal({precision},{scale})", raising(sign, *units))


def decimal_compare(sign: str, parts: Sequence[Node]) -> Node:
    """A comparison in the scale of the finer one."""
    left, right = map(scaled, parts)
    (p, s), (q, t) = size_of(left), size_of(right)
    require_room(max(p - s, q - t) + max(s, t))
    return Compare("boolean", sign, rescale(left, max(s, t)), rescale(right, max(s, t)))


def rescale(node: Scaled, scale: int) -> Node:
    """The units of a finer scale."""
    factor = 10 ** (scale - size_of(node)[1])
    return node.units if factor == 1 else raising("*", node.units, Literal("bigint", factor))


def raising(sign: str, left: Node, right: Node) -> Node:
    """Arithmetic of longs that needs Spark where they overflow, whatever the mode."""
    if any(isinstance(part, Literal) and abs(part.value or 0) > LARGEST for part in (left, right)):
        raise NotCoveredError("a decimal of too many digits")
    return Arithmetic("bigint", sign, left, right, True)


def require_room(precision: int) -> None:
    """Raise where Spark would have to round."""
    if precision > MOST_DIGITS:
        raise NotCoveredError(f"a decimal of {precision} digits")
