"""CASE, CAST and the functions that workers evaluate: one line of FUNCTIONS each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from weft.final.project.arithmetic import Absolute, SquareRoot
from weft.final.project.bits import Shift
from weft.final.project.conditional import Case
from weft.final.project.leaves import Call, Key, Literal, Value
from weft.final.project.predicates import IsPresent
from weft.final.project.tree import Node
from weft.final.project.vector import DTYPES, INTEGRAL
from weft.final.project.widened import LongerDecimal, Widened
from weft.sql.kinds import digits
from weft.stages.project.coercion import NUMBERS, VOID, NotCoveredError, coerce, common, is_constant, require, truth
from weft.stages.project.operators import compare

if TYPE_CHECKING:
    from weft.stages.project.compiler import Compiler

# Types that are not computed with, and those that hold all their values.
WIDENED = {"float": ("double",), "tinyint": ("int", "bigint", "double"), "smallint": ("int", "bigint", "double")}
CASTS = {"INT": "int", "BIGINT": "bigint", "DOUBLE": "double"}


def cast(compiler: Compiler, tree: exp.Cast) -> Node:
    """A cast that cannot fail: suffixes of literals are such casts."""
    inner, to = compiler.node(tree.this), tree.to
    if to.this.name == "DECIMAL":
        return longer_decimal(inner, [part.name for part in to.expressions])
    kind = None if to.expressions else CASTS.get(to.this.name)
    if kind is None or inner.kind == VOID:
        raise NotCoveredError(f"a cast from {inner.kind} to {to.this.name.lower()}")
    if kind in WIDENED.get(inner.kind, ()) and isinstance(inner, Value | Key | Call):
        return Widened(kind, inner)
    return coerce(inner, kind)


def longer_decimal(inner: Node, to: Sequence[str]) -> Node:
    """A cast of a decimal column that keeps its scale and takes no digit away."""
    before, kind = digits(inner.kind), f"decimal({','.join(to)})"
    after = digits(kind)
    if not isinstance(inner, Value | Key) or not before or not after or before[1] != after[1] or before[0] > after[0]:
        raise NotCoveredError(f"a cast from {inner.kind} to {kind}")
    return LongerDecimal(kind, inner, *after)


def shift(sign: str, parts: Sequence[Node], ansi: bool) -> Node:
    """shiftleft(x, places), shiftright(x, places)."""
    value, places = parts
    require(value.kind, INTEGRAL, "a shift")
    require(places.kind, ("int",), "the places of a shift")
    return Shift(value.kind, sign, value, places)


def case(compiler: Compiler, tree: exp.Case) -> Node:
    """CASE WHEN …, and CASE x WHEN …."""
    subject, default = tree.this, tree.args.get("default")
    tests = compiler.nodes(branch.this for branch in tree.args["ifs"])
    if subject is not None:
        tests = [compare("=", compiler.node(subject), test) for test in tests]
    values = compiler.nodes(branch.args["true"] for branch in tree.args["ifs"])
    return cases(tests, values, Literal(VOID, None) if default is None else compiler.node(default))


def cases(tests: Sequence[Node], values: Sequence[Node], otherwise: Node) -> Node:
    """Branches in their common kind."""
    kind = common((*values, otherwise), "branches")
    pairs = tuple((truth(test), coerce(value, kind)) for test, value in zip(tests, values, strict=True))
    return conditional(kind, pairs, coerce(otherwise, kind))


def conditional(kind: str, pairs: tuple[tuple[Node, Node], ...], otherwise: Node) -> Node:
    """Cases, none of which is decided before there are answers: Spark would make constants of what is left."""
    if any(is_constant(test) for test, _ in pairs):
        raise NotCoveredError("a condition that is a constant")
    return Case(kind, pairs, otherwise)


def if_of(parts: Sequence[Node], ansi: bool) -> Node:
    """if(condition, then, else)."""
    condition, then, otherwise = parts
    return cases((condition,), (then,), otherwise)


def coalesce_of(parts: Sequence[Node], ansi: bool) -> Node:
    """coalesce(a, b, …): the first that is there."""
    kind = common(parts, "coalesce")
    *first, last = (coerce(part, kind) for part in parts)
    return conditional(kind, tuple((IsPresent("boolean", part), part) for part in first), last)


def nullif_of(parts: Sequence[Node], ansi: bool) -> Node:
    """nullif(a, b): null where both are equal, else a, in a's own kind."""
    one, other = parts
    require(one.kind, tuple(DTYPES), "nullif")
    return conditional(one.kind, ((compare("=", one, other), Literal(one.kind, None)),), one)


def absolute_of(parts: Sequence[Node], ansi: bool) -> Node:
    """abs(x)."""
    (inner,) = parts
    require(inner.kind, NUMBERS, "abs")
    return Absolute(inner.kind, inner, ansi)


def root_of(parts: Sequence[Node], ansi: bool) -> Node:
    """sqrt(x)."""
    (inner,) = parts
    require(inner.kind, NUMBERS, "sqrt")
    return SquareRoot("double", coerce(inner, "double"))


# Each function with the least and the greatest number of its arguments.
FUNCTIONS: dict[str, tuple[int, int, Callable[[Sequence[Node], bool], Node]]] = {
    "if": (3, 3, if_of),
    "coalesce": (1, 99, coalesce_of),
    "ifnull": (2, 2, coalesce_of),
    "nvl": (2, 2, coalesce_of),
    "nullif": (2, 2, nullif_of),
    "abs": (1, 1, absolute_of),
    "sqrt": (1, 1, root_of),
    "shiftleft": (2, 2, partial(shift, "<<")),
    "shiftright": (2, 2, partial(shift, ">>")),
}


def function(compiler: Compiler, tree: exp.Anonymous) -> Node:
    """A call of one of FUNCTIONS."""
    least, most, make = FUNCTIONS.get(tree.name.lower(), (0, -1, if_of))
    if not least <= len(tree.expressions) <= most:
        raise NotCoveredError(f"the function {tree.name.lower()} of {len(tree.expressions)} arguments")
    return make(compiler.nodes(tree.expressions), compiler.ansi)


FUNCTION_BUILDERS: tuple[tuple[tuple[Any, ...], Callable[[Compiler, Any], Node]], ...] = (
    ((exp.Cast,), cast),
    ((exp.Case,), case),
    ((exp.Anonymous,), function),
)
