"""Literals, columns and operators: each by its kind of tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from weft.final.project.arithmetic import Arithmetic, Negate, Quotient
from weft.final.project.bits import Bitwise, Inverted
from weft.final.project.leaves import Call, Key, Literal, Value, WindowStruct
from weft.final.project.predicates import And, Compare, IsPresent, Not, NullSafeEqual, Or
from weft.final.project.tree import Node, walk
from weft.final.project.vector import DTYPES, INTEGRAL
from weft.sql.kinds import number_kind
from weft.stages.project.coercion import (
    NUMBERS,
    VOID,
    Exact,
    NotCoveredError,
    coerce,
    common,
    require,
    require_numbers,
    truth,
)
from weft.stages.project.decimals import are_decimals, decimal_arithmetic, decimal_compare
from weft.stages.project.texts import Text, compare_text, text_literal

if TYPE_CHECKING:
    from weft.stages.project.compiler import Compiler

SIGNS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
ARITHMETIC = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
BITS = {exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^"}
MOST_LISTED = 32  # values of an IN, each of which is compared
QUOTIENTS = {exp.Div: "/", exp.Mod: "%"}
EDGES = ("2147483648", "9223372036854775808")  # with a minus Spark reads a smaller type than without


def literal(compiler: Compiler, tree: exp.Literal) -> Node:
    """A number, or a text, which only comparisons read."""
    if tree.is_string:
        return text_literal(tree.this)
    kind = number_kind(tree.this)
    if kind in INTEGRAL:
        return Literal(kind, int(tree.this))
    if kind == "double":
        return Literal(kind, float(tree.this))
    if kind is None:
        raise NotCoveredError(f"the literal {tree.this}")
    return Exact(kind, tree.this)


def boolean(compiler: Compiler, tree: exp.Boolean) -> Node:
    """TRUE or FALSE."""
    return Literal("boolean", bool(tree.this))


def void(compiler: Compiler, tree: exp.Null) -> Node:
    """NULL, whose type is that of what it stands beside."""
    return Literal(VOID, None)


def column(compiler: Compiler, tree: exp.Column) -> Node:
    """A component, a key, a call, or a time of the window."""
    first, *path = [part.name.lower() for part in tree.parts]
    found = compiler.columns.get(first)
    if isinstance(found, WindowStruct) and path in (["start"], ["end"]):
        return found.start if path == ["start"] else found.end
    if found is None or path:
        raise NotCoveredError(f"the column {'.'.join([first, *path])}")
    return found


def negate(compiler: Compiler, tree: exp.Neg) -> Node:
    """-x."""
    if tree.this.name in EDGES:
        raise NotCoveredError(f"the literal -{tree.this.name}")
    inner = compiler.node(tree.this)
    if isinstance(inner, Exact):
        return Exact(inner.kind, inner.text[1:] if inner.text[0] == "-" else f"-{inner.text}")
    require(inner.kind, NUMBERS, "a minus")
    return Negate(inner.kind, inner, compiler.ansi)


def arithmetic(compiler: Compiler, tree: exp.Binary) -> Node:
    """+, - and *."""
    parts = compiler.nodes((tree.this, tree.expression))
    if are_decimals(parts):
        return decimal_arithmetic(ARITHMETIC[type(tree)], parts)
    kind = require_numbers(parts, ARITHMETIC[type(tree)])
    if compiler.ansi and kind in INTEGRAL and sum(isinstance(n, Literal) for part in parts for n in walk(part)) > 1:
        raise NotCoveredError("several integer constants, which Spark computes first and may find too large")
    left, right = (coerce(part, kind) for part in parts)
    return Arithmetic(kind, ARITHMETIC[type(tree)], left, right, compiler.ansi)


def quotient(compiler: Compiler, tree: exp.Binary) -> Node:
    """/, which is of doubles, and %."""
    sign, parts = QUOTIENTS[type(tree)], compiler.nodes((tree.this, tree.expression))
    kind = require_numbers(parts, sign)
    left, right = (coerce(part, "double" if sign == "/" else kind) for part in parts)
    return Quotient(left.kind, sign, left, right, compiler.ansi)


def bitwise(compiler: Compiler, tree: exp.Binary) -> Node:
    """&, | and ^."""
    parts = compiler.nodes((tree.this, tree.expression))
    kind = common(parts, BITS[type(tree)])
    require(kind, INTEGRAL, BITS[type(tree)])
    left, right = (coerce(part, kind) for part in parts)
    return Bitwise(kind, BITS[type(tree)], left, right)


def inverted(compiler: Compiler, tree: exp.BitwiseNot) -> Node:
    """~x."""
    inner = compiler.node(tree.this)
    require(inner.kind, INTEGRAL, "~")
    return Inverted(inner.kind, inner)


def comparison(compiler: Compiler, tree: exp.Binary) -> Node:
    """=, <>, <, <=, > and >=."""
    return compare(SIGNS[type(tree)], *compiler.nodes((tree.this, tree.expression)))


def compare(sign: str, one: Node, other: Node) -> Node:
    """A comparison in the common kind of its operands."""
    if isinstance(one, Text) or isinstance(other, Text):
        return compare_text(sign, one, other)
    if are_decimals((one, other)):
        return decimal_compare(sign, (one, other))
    kind = common((one, other), sign)
    return Compare("boolean", sign, coerce(one, kind), coerce(other, kind))


def null_safe(compiler: Compiler, tree: exp.Expr) -> Node:
    """<=>, and IS [NOT] DISTINCT FROM."""
    parts = compiler.nodes((tree.this, tree.expression))
    kind = common(parts, "<=>")
    found = NullSafeEqual("boolean", *(coerce(part, kind) for part in parts))
    return Not("boolean", found) if isinstance(tree, exp.NullSafeNEQ) else found


def between(compiler: Compiler, tree: exp.Between) -> Node:
    """x BETWEEN low AND high: two comparisons."""
    if tree.args.get("symmetric"):
        raise NotCoveredError("BETWEEN SYMMETRIC")
    inner, low, high = compiler.nodes((tree.this, tree.args["low"], tree.args["high"]))
    return And("boolean", compare(">=", inner, low), compare("<=", inner, high))


def among(compiler: Compiler, tree: exp.In) -> Node:
    """x IN (a, b, …): whether it equals one of them, which are few."""
    listed = tree.expressions
    if not 0 < len(listed) <= MOST_LISTED or set(tree.args) - {"this", "expressions"}:
        raise NotCoveredError("IN of anything but a short list")
    inner, *found = compiler.nodes((tree.this, *listed))
    if not any(isinstance(node, Text) for node in found) and not are_decimals((inner, *found)):
        kind = common((inner, *found), "IN")
        inner, *found = (coerce(node, kind) for node in (inner, *found))
    return reduce(partial(Or, "boolean"), [compare("=", inner, node) for node in found])


def connector(compiler: Compiler, tree: exp.Expr) -> Node:
    """AND and OR."""
    left, right = (truth(part) for part in compiler.nodes((tree.this, tree.expression)))
    return (And if isinstance(tree, exp.And) else Or)("boolean", left, right)


def negation(compiler: Compiler, tree: exp.Not) -> Node:
    """NOT, and IS NOT NULL."""
    return Not("boolean", truth(compiler.node(tree.this)))


def is_null(compiler: Compiler, tree: exp.Is) -> Node:
    """IS NULL; other kinds of IS are not covered."""
    if not isinstance(tree.expression, exp.Null):
        raise NotCoveredError("IS of what is not NULL")
    return Not("boolean", present(compiler.node(tree.this)))


def present(node: Node) -> Node:
    """Whether a value is there, of what can be computed, and of keys and components of any type."""
    if node.kind not in DTYPES and not isinstance(node, Key | Value | Call):
        raise NotCoveredError(f"IS NULL of type {node.kind}")
    return IsPresent("boolean", node)


OPERATOR_BUILDERS: tuple[tuple[tuple[Any, ...], Callable[[Compiler, Any], Node]], ...] = (
    ((exp.Literal,), literal),
    ((exp.Boolean,), boolean),
    ((exp.Null,), void),
    ((exp.Column,), column),
    ((exp.Neg,), negate),
    (tuple(ARITHMETIC), arithmetic),
    (tuple(QUOTIENTS), quotient),
    (tuple(BITS), bitwise),
    ((exp.BitwiseNot,), inverted),
    (tuple(SIGNS), comparison),
    ((exp.NullSafeEQ, exp.NullSafeNEQ), null_safe),
    ((exp.Between,), between),
    ((exp.In,), among),
    ((exp.And, exp.Or), connector),
    ((exp.Not,), negation),
    ((exp.Is,), is_null),
)
