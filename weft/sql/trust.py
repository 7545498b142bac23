"""Which trees sqlglot certainly writes back with the meaning they had."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.sql.dialect import SUFFIX

TRUSTED: frozenset[type[exp.Expr]] = frozenset((
    exp.Add, exp.Alias, exp.And, exp.Anonymous, exp.Between, exp.BitwiseAnd, exp.BitwiseNot, exp.BitwiseOr,
    exp.BitwiseXor, exp.Boolean, exp.Bracket, exp.Case, exp.Cast, exp.Column, exp.DataType, exp.DataTypeParam,
    exp.Div, exp.Dot, exp.DPipe, exp.EQ, exp.Extract, exp.Filter, exp.From, exp.GT, exp.GTE, exp.Group, exp.Having,
    exp.Hint, exp.Identifier, exp.If, exp.In, exp.IntDiv, exp.Interval, exp.IntervalSpan, exp.Is, exp.LT, exp.LTE,
    exp.Like, exp.Literal, exp.Mod, exp.Mul, exp.NEQ, exp.Neg, exp.Not, exp.Null, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Or, exp.Paren, exp.Select, exp.Star, exp.Sub, exp.Table, exp.TableAlias, exp.TryCast, exp.Tuple, exp.Var,
    exp.Where, exp.ILike, exp.RegexpLike, exp.Distinct,
))  # fmt: skip
TYPES = frozenset((
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP", "TIMESTAMPTZ",
    "TIMESTAMPNTZ", "TIMESTAMPLTZ", "TEXT",
))  # fmt: skip


def trusted(nodes: Iterable[exp.Expr]) -> bool:
    """Whether every node is one of a known list, strings hold no escapes and casts go to simple types."""
    return all(type(node) in TRUSTED and _sure(node) for node in nodes)


BEFORE_SIGN = (TokenType.STAR, TokenType.SLASH, TokenType.PLUS, TokenType.DASH, TokenType.MOD, TokenType.DIV,
               TokenType.L_PAREN, TokenType.COMMA)
ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv)


def precise(nodes: Iterable[exp.Expr], tokens: Sequence[Token], kinds: Iterable[str]) -> bool:
    """Whether neither a cast of a number nor +5, whose sign sqlglot drops, can stand beside a decimal: the precision of
    a decimal's product depends on whether the other side is a literal."""
    if not any("decimal" in kind for kind in kinds):
        return True
    signs = (b.token_type == TokenType.PLUS and a.token_type in BEFORE_SIGN for a, b in pairwise(tokens))
    return not any(signs) and not any(_cast_number(side) for node in nodes if isinstance(node, ARITHMETIC)
                   for side in (node.this, node.expression))


def _cast_number(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, (exp.Neg, exp.Paren)) else node
    number = isinstance(inner, exp.Cast) and isinstance(inner.this, exp.Literal) and not inner.this.is_string
    return number and SUFFIX not in inner.meta


def _sure(node: exp.Expr) -> bool:
    if isinstance(node, exp.DataType):
        return node.this.name in TYPES
    if isinstance(node, exp.Literal) and node.is_string:
        return "\\" not in node.this and node.this.isprintable()
    if isinstance(node, exp.Interval):
        return isinstance(node.this, exp.Literal)
    return True
