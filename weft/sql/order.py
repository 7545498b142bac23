"""Operators that sqlglot and Spark bind differently: such a mix needs parentheses to be read the same by both."""

from __future__ import annotations

from sqlglot import exp

EQUALITIES = (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
ORDERINGS = (exp.GT, exp.GTE, exp.LT, exp.LTE)
PREDICATES = (exp.Not, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Is)
BITWISE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.DPipe)
SUMS = (exp.Add, exp.Sub)


def unclear(node: exp.Expr) -> bool:
    """Whether Spark would group the operands of this operator differently from sqlglot."""
    if isinstance(node, EQUALITIES):
        return _any(node, (*ORDERINGS, *PREDICATES))
    if isinstance(node, ORDERINGS):
        return _any(node, (*EQUALITIES, *PREDICATES))
    if isinstance(node, BITWISE):
        other = tuple(kind for kind in BITWISE if kind is not type(node))
        return _any(node, other) or (isinstance(node, exp.DPipe) and isinstance(node.expression, SUMS))
    return False


def _any(node: exp.Expr, kinds: tuple[type[exp.Expr], ...]) -> bool:
    return isinstance(node.this, kinds) or isinstance(node.args.get("expression"), kinds)
