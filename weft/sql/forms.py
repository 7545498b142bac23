"""The rules that bring an expression to its canonical form, over sqlglot's trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from sqlglot import exp

from weft.sql.kinds import (
    COMPARISONS,
    FRACTIONAL,
    INTEGRAL,
    LARGEST,
    Columns,
    alike,
    comparable,
    constant,
    digits,
    kind,
    listable,
    operands,
    total,
)
from weft.sql.render import identifier
from weft.sql.render import sql as rendered

Turns = dict[type[exp.Expr], type[exp.Expr]]
FLIPPED: Turns = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE}
# NaN equals itself and is above all others in Spark, so each order is just the other's opposite.
OPPOSITE: Turns = {exp.EQ: exp.NEQ, exp.NEQ: exp.EQ, exp.GT: exp.LTE, exp.LTE: exp.GT, exp.LT: exp.GTE, exp.GTE: exp.LT}
DUAL: Turns = {exp.And: exp.Or, exp.Or: exp.And}
FOLDED: dict[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: int.__add__, exp.Sub: int.__sub__, exp.Mul: int.__mul__,
}
ATOMS = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Anonymous, exp.Cast, exp.Dot, exp.Bracket, exp.Case,
         exp.Extract, exp.Interval, exp.Identifier, exp.Var, exp.DataType, exp.Paren)


class Forms:
    """The rules over trees of one source's columns."""

    def __init__(self, columns: Columns):
        self.columns = columns

    def form(self, tree: exp.Expr) -> exp.Expr:
        """The canonical tree: first what is spelled otherwise is spelled alike, then operands find their order."""
        return self._ordered(self._plain(tree))

    def _plain(self, node: exp.Expr) -> exp.Expr:
        """The tree without parentheses and BETWEEN, with NOT as far in as it goes and lists sorted."""
        node = node.unnest()
        if isinstance(node, exp.Not):
            return self._negated(node.this)
        if isinstance(node, exp.Between) and self._splits(node):
            low = exp.GTE(this=node.this.copy(), expression=node.args["low"])
            return self._plain(exp.And(this=low, expression=exp.LTE(this=node.this, expression=node.args["high"])))
        if isinstance(node, exp.And | exp.Or):
            return _linked(type(node), [self._plain(part) for part in operands(node)])
        made = _mapped(node, self._plain)
        return self._listed(made) if isinstance(made, exp.In) else made

    def _negated(self, node: exp.Expr) -> exp.Expr:
        """The opposite: as AND stops at false, so OR stops at its opposite, and the same operands are evaluated."""
        node = node.unnest()
        if isinstance(node, exp.And | exp.Or):
            return _linked(DUAL[type(node)], [self._negated(part) for part in operands(node)])
        if isinstance(node, exp.Between) and self._splits(node):
            above = exp.LT(this=node.this.copy(), expression=node.args["low"])
            return self._plain(exp.Or(this=above, expression=exp.GT(this=node.this, expression=node.args["high"])))
        if isinstance(node, exp.Not) and kind(node.this, self.columns) == "boolean":
            return self._plain(node.this)
        made = self._plain(node)
        if type(made) in OPPOSITE:
            return OPPOSITE[type(made)](this=made.this, expression=made.expression)
        return exp.Not(this=made)

    def _splits(self, node: exp.Between) -> bool:
        """Whether a range is two comparisons: Spark evaluates what is compared beforehand, even if nobody needs it."""
        return isinstance(node.this.unnest(), exp.Column) or self._total(node.this)

    def _listed(self, node: exp.In) -> exp.Expr:
        """IN with its list sorted and each value once; one value makes an equality."""
        sure = listable(node, self.columns)
        if not (sure or alike(node, self.columns)):
            return node
        items = _once(node.expressions)
        if sure and len(items) == 1:
            return exp.EQ(this=node.this, expression=items[0])
        return exp.In(this=node.this, expressions=items)

    def _ordered(self, node: exp.Expr) -> exp.Expr:
        """The tree with operands in order and in parentheses wherever they are more than a word."""
        if isinstance(node, exp.And | exp.Or):
            ordered = _linked(type(node), [self._ordered(part) for part in operands(node)])
            return _linked(type(node), list(self._runs(type(node), operands(ordered))))
        made = _mapped(node, self._ordered)
        if isinstance(made, exp.Column):
            return _named(made)
        if isinstance(made, exp.Anonymous):
            return exp.Anonymous(this=made.name.lower(), expressions=made.expressions)
        if isinstance(made, (*COMPARISONS, *FOLDED)):
            made = self._pair(made)
        return _wrapped(made)

    def _pair(self, node: exp.Expr) -> exp.Expr:
        """A comparison or a sum with its two operands in order, where both orders are the same to Spark."""
        left, right = self._folded(node.this, node.expression), self._folded(node.expression, node.this)
        swaps = isinstance(node, COMPARISONS) and self._compares(left, right)
        swaps = swaps or (isinstance(node, exp.Add | exp.Mul) and self._adds(left, right))
        if swaps and _rank(right) < _rank(left):
            turned = FLIPPED.get(type(node), type(node))
            return turned(this=right, expression=left)
        return type(node)(this=left, expression=right)

    def _folded(self, node: exp.Expr, other: exp.Expr) -> exp.Expr:
        """The literal of `60 * 60` beside a number that is no decimal: a decimal's type hangs on what is a literal."""
        beside = kind(other, self.columns)
        value = _value(node) if beside in (*INTEGRAL, *FRACTIONAL) else None
        if value is None or constant(node):
            return node
        literal = exp.Literal.number(abs(value))
        return exp.Neg(this=literal) if value < 0 else literal

    def _compares(self, left: exp.Expr, right: exp.Expr) -> bool:
        return constant(left) or constant(right) or (
            self._total(left, right) and comparable(kind(left, self.columns), kind(right, self.columns))
        )

    def _adds(self, left: exp.Expr, right: exp.Expr) -> bool:
        kinds = [kind(left, self.columns), kind(right, self.columns)]
        numbers = all(found in FRACTIONAL or digits(found) for found in kinds)
        return numbers and (constant(left) or constant(right) or self._total(left, right))

    def _total(self, *nodes: exp.Expr) -> bool:
        return all(total(node, self.columns) for node in nodes)

    def _runs(self, connector: type[exp.Expr], parts: list[exp.Expr]) -> Iterator[exp.Expr]:
        """The operands of AND or OR, each once and in order between those that may raise, which keep their place."""
        for calm, run in groupby(parts, self._calm):
            found = list(run)
            yield from _once(self._joined(connector, found)) if calm else found

    def _calm(self, node: exp.Expr) -> bool:
        return self._total(node) and kind(node, self.columns) == "boolean"

    def _joined(self, connector: type[exp.Expr], parts: list[exp.Expr]) -> list[exp.Expr]:
        """`x = 1 OR x IN (2, 3)` as one IN, and `x <> 1 AND x NOT IN (2, 3)` as one NOT IN."""
        lists: dict[str, exp.In] = {}
        others = []
        for part in parts:
            made = _as_list(connector, part)
            if made and listable(made, self.columns):
                found = lists.setdefault(rendered(made.this), exp.In(this=made.this, expressions=[]))
                for item in made.expressions:
                    found.append("expressions", item)
            else:
                others.append(part)
        joined = (_wrapped(self._listed(found)) for found in lists.values())
        return [*others, *(found if connector is exp.Or else _wrapped(self._negated(found)) for found in joined)]


def _as_list(connector: type[exp.Expr], node: exp.Expr) -> exp.In | None:
    """The list of values that an operand of OR asks for, or that one of AND rules out."""
    if isinstance(node, exp.EQ if connector is exp.Or else exp.NEQ):
        return exp.In(this=node.this, expressions=[node.expression])
    if connector is exp.And:
        node = node.this.unnest() if isinstance(node, exp.Not) else exp.Null()
    return node if isinstance(node, exp.In) else None


def _linked(connector: type[exp.Expr], parts: list[exp.Expr]) -> exp.Expr:
    """The operands under one connector, the other kind in parentheses."""
    if len(parts) == 1:
        return parts[0]
    first, *rest = (exp.Paren(this=part) if isinstance(part, DUAL[connector]) else part for part in parts)
    for part in rest:
        first = connector(this=first, expression=part)
    return first


def _mapped(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The node with every child changed."""
    def part(value: object) -> object:
        if isinstance(value, list):
            return [part(item) for item in value]
        return change(value) if isinstance(value, exp.Expr) else value

    return type(node)(**{name: part(value) for name, value in node.args.items()})


def _once(nodes: list[exp.Expr]) -> list[exp.Expr]:
    """Each of the nodes once, in the order of their texts."""
    return [node for _, node in sorted({rendered(node): node for node in nodes}.items())]


def _named(column: exp.Column) -> exp.Column:
    """The column with backticks only where it needs them."""
    names = [part.name for part in column.parts]
    parts = ("this", "table", "db", "catalog")
    return exp.Column(**dict(zip(parts, (identifier(name) for name in reversed(names)), strict=False)))


def _wrapped(node: exp.Expr) -> exp.Expr:
    """The node with every operand in parentheses that is more than a word or a call."""
    if isinstance(node, exp.Binary | exp.Unary) and not _is_null_test(node):
        return _mapped(node, _operand)
    if isinstance(node, exp.Between):
        return _mapped(node, _operand)
    if isinstance(node, exp.In | exp.Bracket):
        node.set("this", _operand(node.this))
    return node


def _operand(node: exp.Expr) -> exp.Expr:
    return node if isinstance(node, ATOMS) or constant(node) else exp.Paren(this=node)


def _is_null_test(node: exp.Expr) -> bool:
    """Whether the node is IS NOT NULL, which is written as one."""
    return isinstance(node, exp.Not) and isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null)


def _rank(node: exp.Expr) -> tuple[bool, str]:
    """Columns and calls before literals, then by their text."""
    literal = constant(node) or isinstance(node, exp.Literal | exp.Boolean)
    return literal, rendered(node)


def _value(node: exp.Expr) -> int | None:
    """The value of integer literals under + - *, if it and all values on the way are of type INT."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = _value(node.this) if isinstance(node.this, exp.Literal) else None
        return None if inner is None else -inner
    if isinstance(node, exp.Literal):
        return int(node.this) if node.is_int and int(node.this) <= LARGEST else None
    if type(node) not in FOLDED:
        return None
    left, right = _value(node.this), _value(node.expression)
    found = None if left is None or right is None else FOLDED[type(node)](left, right)
    return None if found is None or abs(found) > LARGEST else found
