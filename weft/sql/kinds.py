"""What is known of an expression without asking Spark: its type, and whether evaluating it can ever raise."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from weft.sql.dialect import is_typed_literal
from weft.sql.schema import struct_fields

Columns = Mapping[str, str]  # Spark's simpleString type by the column's name, as the source spells it
INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FRACTIONAL = ("float", "double")
ORDERED = (*INTEGRAL, *FRACTIONAL, "boolean", "string", "date", "timestamp", "timestamp_ntz")
DIGITS = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}
LARGEST = 2**31 - 1  # of type INT
TEXTUAL = ("upper", "lower", "trim", "ltrim", "rtrim")
COMPARISONS = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
PREDICATES = (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.In, exp.Between, exp.Is, exp.Like, exp.ILike, exp.RegexpLike)
LITERAL_TYPES = {"DATE": "date", "TIMESTAMPTZ": "timestamp", "TIMESTAMPNTZ": "timestamp_ntz"}


def kind(node: exp.Expr, columns: Columns) -> str | None:
    """The Spark type of an expression as simpleString, or None where this module does not know it."""
    node = node.unnest()
    if isinstance(node, exp.Literal):
        return "string" if node.is_string else number_kind(node.this)
    if isinstance(node, exp.Column | exp.Dot):
        return _path_kind(node, columns)
    if isinstance(node, (exp.Boolean, *PREDICATES)):
        return "boolean"
    if isinstance(node, exp.Cast) and is_typed_literal(node):
        return LITERAL_TYPES.get(node.to.this.name)
    if isinstance(node, exp.Neg):
        inner = kind(node.this, columns)
        return inner if inner in (*INTEGRAL, *FRACTIONAL) or digits(inner) else None
    if isinstance(node, exp.Add | exp.Sub | exp.Mul):
        return _arithmetic_kind(kind(node.this, columns), kind(node.expression, columns))
    return "string" if _textual(node, columns) else None


def total(node: exp.Expr, columns: Columns) -> bool:
    """Whether evaluating the expression surely never raises, its implicit casts included."""
    node = node.unnest()
    if isinstance(node, exp.Literal | exp.Boolean | exp.Null) or constant(node):
        return True
    if isinstance(node, exp.Column | exp.Dot):
        return kind(node, columns) is not None
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Neg):
        return kind(node, columns) in FRACTIONAL and _all_total(node, columns)
    if isinstance(node, exp.And | exp.Or | exp.Not):
        return all(total(part, columns) and kind(part, columns) == "boolean" for part in operands(node))
    if isinstance(node, COMPARISONS):
        return _all_total(node, columns) and comparable(kind(node.this, columns), kind(node.expression, columns))
    if isinstance(node, exp.In):
        return total(node.this, columns) and (listable(node, columns) or _all_compare(node, columns))
    if isinstance(node, exp.Is):
        return total(node.this, columns) and isinstance(node.expression, exp.Null)
    if isinstance(node, exp.Like | exp.ILike):
        return total(node.this, columns) and kind(node.this, columns) == "string" and _is_string(node.expression)
    return _textual(node, columns) and _all_total(node, columns)


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a chain of one connector, left to right, however long it is; that of NOT."""
    found, waiting = [], [node]
    while waiting:
        part = waiting.pop().unnest()
        if isinstance(part, type(node)):
            waiting += reversed(list(part.iter_expressions()))
        else:
            found.append(part)
    return found


def constant(node: exp.Expr) -> bool:
    """Whether the node is a number, a date or a moment written out: never null, and no cast of it raises."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        node = node.this
    if isinstance(node, exp.Literal):
        return not node.is_string
    return isinstance(node, exp.Cast) and is_typed_literal(node) and bool(re.match(r"\d{4}-", node.this.this))


def listable(node: exp.In, columns: Columns) -> bool:
    """Whether the list holds integers for an integer, or strings for a string: no order of it can matter."""
    inner, items = kind(node.this, columns), node.expressions
    if inner == "string":
        return all(_is_string(item) for item in items)
    return inner in INTEGRAL and all(constant(item) and kind(item, columns) in INTEGRAL for item in items)


def alike(node: exp.In, columns: Columns) -> bool:
    """Whether the list holds constants of one type: no cast of them raises, so their order cannot matter."""
    kinds = {kind(item, columns) if constant(item) else None for item in node.expressions}
    return len(kinds) == 1 and None not in kinds


def comparable(one: str | None, other: str | None) -> bool:
    """Whether values of the two types compare without a cast that could raise."""
    if one is None or other is None:
        return False
    if one == other:
        return one in ORDERED or digits(one) is not None
    numbers = {one, other} & {*INTEGRAL, *FRACTIONAL}
    if len(numbers) == 2 or (numbers <= set(FRACTIONAL) and numbers and (digits(one) or digits(other))):
        return True
    first, second = digits(one), digits(other)
    return first is not None and second is not None and _fits(first, second)


def digits(name: str | None) -> tuple[int, int] | None:
    """Precision and scale of a decimal or of an integer type; None for any other."""
    found = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", name or "")
    return (int(found[1]), int(found[2])) if found else DIGITS.get(name or "")


def number_kind(text: str) -> str | None:
    """The type Spark gives a number without suffix."""
    if text.isdigit():
        value = int(text)
        return "int" if value <= LARGEST else "bigint" if value < 2**63 else None
    found = re.fullmatch(r"(\d*)\.(\d*)", text)
    if not found:
        return "double" if re.fullmatch(r"[\d.]+[eE][+-]?\d+", text) else None
    scale = len(found[2])
    precision = max(len((found[1] + found[2]).lstrip("0")), scale, 1)
    return f"decimal({precision},{scale})" if precision <= 38 else None


def _all_compare(node: exp.In, columns: Columns) -> bool:
    inner = kind(node.this, columns)
    return alike(node, columns) and comparable(inner, kind(node.expressions[0], columns))


def _fits(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether one decimal type holds both without rounding."""
    return max(one[0] - one[1], other[0] - other[1]) + max(one[1], other[1]) <= 38


def _arithmetic_kind(one: str | None, other: str | None) -> str | None:
    if one in INTEGRAL and other in INTEGRAL:
        return max(one, other, key=INTEGRAL.index)
    if "double" in (one, other):
        rest = other if one == "double" else one
        return "double" if rest in (*INTEGRAL, *FRACTIONAL) or digits(rest) else None
    return "float" if one == other == "float" else None


def _path_kind(node: exp.Expr, columns: Columns) -> str | None:
    """The type of a column or of a field of a struct."""
    parts = [part.name for part in node.parts] if isinstance(node, exp.Column | exp.Dot) else []
    found = columns.get(parts[0]) if parts and _is_path(node) else None
    for part in parts[1:]:
        found = dict(struct_fields(found or "")).get(part)
    return found


def _is_path(node: exp.Expr) -> bool:
    while isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        node = node.this
    return isinstance(node, exp.Column)


def _textual(node: exp.Expr, columns: Columns) -> bool:
    """Whether the node is a function of one string that gives a string and never raises."""
    call = isinstance(node, exp.Anonymous) and node.name.lower() in TEXTUAL and len(node.expressions) == 1
    return call and kind(node.expressions[0], columns) == "string"


def _is_string(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _all_total(node: exp.Expr, columns: Columns) -> bool:
    return all(total(part, columns) for part in node.iter_expressions())
