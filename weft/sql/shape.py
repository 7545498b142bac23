"""What decides the names and types that Spark gives a query's outputs: queries of one shape need one analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from weft.sql.kinds import COMPARISONS, number_kind
from weft.sql.render import sql

# Nodes whose type follows from the types of their operands alone, as long as none of these is a decimal.
PLAIN = frozenset((
    *COMPARISONS, exp.Add, exp.And, exp.Between, exp.Boolean, exp.Case, exp.Column, exp.Div, exp.Dot, exp.Identifier,
    exp.If, exp.In, exp.IntDiv, exp.Is, exp.Literal, exp.Mod, exp.Mul, exp.Neg, exp.Not, exp.Null, exp.Or, exp.Paren,
    exp.Sub,
))  # fmt: skip
WHOLE = ("int", "bigint")
LEAST = "2147483648"  # with a minus before it an INT, without one a BIGINT


@dataclass(frozen=True)
class Shape:
    """Two keys of a query: `exact` holds every literal of its outputs, `loose` only the types of whole numbers.

    Queries of one exact shape have the same types. So have those of one loose shape, unless an argument, a key or a
    user's aggregate gives a decimal: the precision of what is priced with it hangs on the digits of literals.
    """

    exact: tuple
    loose: tuple


def names_of(items: Sequence[exp.Expr], text: str) -> tuple[str, ...] | str:
    """What decides the names of outputs without alias: the columns as the user spells them, else the whole `text`."""
    unnamed = [item for item in items if not isinstance(item, exp.Alias)]
    if not all(isinstance(item, exp.Column) for item in unnamed):
        return text
    return tuple(".".join(part.name for part in item.parts) for item in unnamed if isinstance(item, exp.Column))


def loose_output(node: exp.Expr, text: str) -> str:
    """The text of an output with each whole number as its type, where its value decides nothing."""
    return _typed(node, text, WHOLE)


def loose_predicate(node: exp.Expr, text: str) -> str:
    """The text of HAVING with each number as its type: it is boolean whatever the precision of what it compares."""
    return _typed(node, text, (*WHOLE, "decimal"))


def _typed(node: exp.Expr, text: str, allowed: Sequence[str]) -> str:
    """The text with every number as its type, or as it is if some number or node is not among those that allow it.

    A type has a question mark before it, which no name has.
    """
    nodes = list(node.walk())
    numbers = [part for part in nodes if isinstance(part, exp.Literal) and not part.is_string]
    kinds = ["" if part.this == LEAST else number_kind(part.this) or "" for part in numbers]
    if not (numbers and all(kind.startswith(tuple(allowed)) for kind in kinds)):
        return text
    if not all(type(part) in PLAIN for part in nodes):
        return text
    return sql(_replaced(node, {id(part): f"?{kind}" for part, kind in zip(numbers, kinds, strict=True)}))


def _replaced(node: exp.Expr, kinds: dict[int, str]) -> exp.Expr:
    """The tree, changed in place, with the type of each number in its place."""
    if id(node) in kinds:
        return exp.Var(this=kinds[id(node)])
    for part in [part for part in node.walk() if id(part) in kinds]:
        part.replace(exp.Var(this=kinds[id(part)]))
    return node
