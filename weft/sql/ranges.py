"""Predicates that compare expressions with numbers: what they compare, with what, and with which numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sqlglot import exp

from weft.sql.canonical import read
from weft.sql.kinds import FRACTIONAL, INTEGRAL, Columns, operands
from weft.sql.render import sql as rendered

OPERATORS: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=", exp.EQ: "="}
TURNED = {">": "<", ">=": "<=", "<": ">", "<=": ">=", "=": "="}
# Numbers that every type of Spark's holds without rounding, nearly all that people write.
NUMBER = re.compile(r"-?(\d{1,9}|\d{0,8}\.\d{1,6})")


class Comparison(NamedTuple):
    """An expression compared with a number: `price`, `>`, `100`."""

    expression: str
    operator: str
    number: str

    @property
    def family(self) -> tuple[str, bool]:
        """Comparisons of one family can be told from one look at the expression: Spark casts their numbers alike."""
        return self.expression, "." in self.number


@lru_cache(maxsize=65536)
def comparisons(predicate: str) -> tuple[Comparison, ...] | None:
    """The comparisons that a predicate is the conjunction of; None where it is anything else."""
    tree = read(predicate)
    if tree is None:
        return None
    found = [c for part in (operands(tree) if isinstance(tree, exp.And) else [tree.unnest()]) for c in compared(part)]
    return None if None in found else tuple(c for c in found if c is not None)


def compared(node: exp.Expr) -> Iterator[Comparison | None]:
    """The comparisons of one operand of a conjunction; None for what is none."""
    if isinstance(node, exp.Between):
        yield comparison(node.this, ">=", node.args["low"])
        yield comparison(node.this, "<=", node.args["high"])
    elif type(node) in OPERATORS:
        operator = OPERATORS[type(node)]
        right = comparison(node.this, operator, node.expression)
        yield right or comparison(node.expression, TURNED[operator], node.this)
    else:
        yield None


def comparison(expression: exp.Expr, operator: str, number: exp.Expr) -> Comparison | None:
    """An expression of some column compared with a plain number."""
    text = rendered(number.unnest())
    if not NUMBER.fullmatch(text) or expression.find(exp.Column) is None:
        return None
    return Comparison(rendered(expression.unnest()), operator, text)


def is_risky(predicate: str | None, columns: Columns) -> bool:
    """Whether a comparison might fail on rows where an earlier one of another expression is not true.

    Spark does not come to it there. What surely cannot fail is a number's column, or what remains of an integer's after
    a division by a number that is not zero.
    """
    found = (comparisons(predicate) or ()) if predicate else ()
    return any(c.expression != found[0].expression and not is_calm(c.expression, columns) for c in found[1:])


def is_calm(expression: str, columns: Columns) -> bool:
    """Whether comparing the expression with a number surely cannot fail."""
    parts = re.fullmatch(r"(\w+|`[^`]+`)( % [1-9]\d{0,8})?", expression)
    kind = columns.get(parts[1].strip("`"), "") if parts else ""
    return kind in INTEGRAL or (not (parts and parts[2]) and (kind in FRACTIONAL or kind.startswith("decimal")))
