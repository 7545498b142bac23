"""Whether Spark reads an expression as the tree that sqlglot reads: both must group the same operands."""

from __future__ import annotations

from sqlglot import exp

# From what binds loosest to what binds tightest in Spark's grammar; everything else stands by itself.
LEVELS: tuple[tuple[type[exp.Expr], ...], ...] = (
    (exp.Or,),
    (exp.And,),
    (exp.Not,),
    (exp.Is, exp.Between, exp.In, exp.Like, exp.ILike, exp.RegexpLike),
    (exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE),
    (exp.BitwiseOr,),
    (exp.BitwiseXor,),
    (exp.BitwiseAnd,),
    (exp.Add, exp.Sub),
    (exp.Mul, exp.Div, exp.Mod),
    (exp.Neg, exp.BitwiseNot),
)
PREDICATE = 3


def level(node: exp.Expr) -> int:
    """How tight a node binds its operands."""
    if isinstance(node, exp.Not) and isinstance(node.this, exp.Is):  # IS NOT NULL
        return PREDICATE
    return next((i for i, kinds in enumerate(LEVELS) if isinstance(node, kinds)), len(LEVELS))


def as_spark_groups(node: exp.Expr) -> bool:
    """Whether the operands of a node, without those below them, bind so tight that Spark takes the same ones.

    Operators of one level take their operands from the left.
    """
    own = level(node)
    if own == len(LEVELS):
        return True
    if isinstance(node, exp.Not | exp.Neg | exp.BitwiseNot):
        return level(node.this) >= own
    first, rest = node.this, [part for key, part in node.args.items() if key != "this" and isinstance(part, exp.Expr)]
    tight = own + 1 if own == PREDICATE else own
    return level(first) >= tight and all(level(part) > own for part in rest)
