"""One form for expressions that mean the same: the identity by which queries find what they can share.

Every rule keeps value, type, nulls and NaN, and which rows raise an error: operands change places only where none of
them can raise, since Spark leaves the second one out where the first is null or decides.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from weft.aggregates import find
from weft.sql.dialect import VERBATIM
from weft.sql.forms import Forms
from weft.sql.functions import ANALYTIC, CHANGING, GENERATORS, NOT_YET
from weft.sql.kinds import LARGEST, Columns
from weft.sql.order import unclear
from weft.sql.render import is_plain
from weft.sql.render import sql as rendered
from weft.sql.trust import TRUSTED, trusted

# Parts of a query, not of an expression, and lists whose fields Spark names after what is in them.
FOREIGN = (exp.Alias, exp.Distinct, exp.Filter, exp.From, exp.Group, exp.Having, exp.Hint, exp.Select, exp.Star,
           exp.Table, exp.TableAlias, exp.Tuple, exp.Where)
KNOWN = TRUSTED - set(FOREIGN)
# Functions that name fields after their arguments, or whose value is not the arguments' alone.
NAMING = frozenset(("struct", "arrays_zip", "identifier", "window", "session_window", "window_time", "unix_timestamp"))
UNSAFE = NAMING | CHANGING | ANALYTIC | GENERATORS | NOT_YET
# sqlglot reads 5L as CAST(5 AS BIGINT), which is no literal to Spark
SUFFIXED = re.compile(r"(?<![\w`])[\d.]+(?:e[+-]?\d+)?(?:L|S|Y|D|F|BD)\b", re.IGNORECASE)


def canonical(sql: str, columns: Columns | None = None) -> str:
    """The canonical Spark SQL of an expression, or its own words where no rule is surely right for it.

    Columns are spelled as the source spells them. `columns` gives their types; without them fewer forms meet.
    """
    if is_plain(sql):
        return sql
    try:
        tree = read(sql)
        return rendered(Forms(columns or {}).form(tree.copy())) if tree is not None else sql
    except RecursionError:
        return sql


@lru_cache(maxsize=4096)  # a predicate is read for its form and for its comparisons
def read(sql: str) -> exp.Expr | None:
    """The tree of one expression that holds nothing unknown; who changes it must copy it."""
    try:
        tokens = VERBATIM.tokenize(f"SELECT {sql}")
        trees = VERBATIM.parser().parse(tokens, sql)
    except SqlglotError:
        return None
    select = trees[0] if len(trees) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        return None
    if any(value for name, value in select.args.items() if name != "expressions") or SUFFIXED.search(sql):
        return None
    nodes = list(select.expressions[0].walk())
    sums = sum(isinstance(node, exp.Add) for node in nodes)
    pluses = sum(token.token_type == TokenType.PLUS for token in tokens)  # sqlglot drops the sign of +5
    safe = pluses == sums and trusted(nodes) and all(_safe(node) for node in nodes)
    return select.expressions[0] if safe else None


def _safe(node: exp.Expr) -> bool:
    """Whether the rules know the node in all its variants."""
    if type(node) not in KNOWN or unclear(node):
        return False
    if isinstance(node, exp.Literal) and node.is_string:
        return "'" not in node.this and '"' not in node.this
    if isinstance(node, exp.Anonymous):
        return isinstance(node.this, str) and node.name.lower() not in UNSAFE and not find(node.name)
    if isinstance(node, exp.Neg):
        return _safe_sign(node)
    if isinstance(node, exp.In):
        return all(name in ("this", "expressions") for name, value in node.args.items() if value)
    if isinstance(node, exp.Between):
        return not node.args.get("symmetric")
    if isinstance(node, exp.Dot):
        return isinstance(node.expression, exp.Identifier)
    return not (isinstance(node, exp.Add) and isinstance(node.this, exp.Interval))


def _safe_sign(node: exp.Neg) -> bool:
    """Whether parentheses cannot matter: -5 is a literal to Spark, -(5) is none, and types may hang on it."""
    inner = node.this.unnest()
    if not isinstance(inner, exp.Literal):
        return True
    return inner is node.this and not inner.is_string and not (inner.is_int and int(inner.this) > LARGEST)
