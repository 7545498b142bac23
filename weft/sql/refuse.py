"""What Weft refuses, each with its sentence and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.errors import QueryError
from weft.sql.functions import ANALYTIC, CHANGING, GENERATORS, NOT_YET
from weft.sql.order import unclear
from weft.sql.spots import keyword, spot, symbol, word
from weft.sql.text import Text

SPLIT = "Run it as a query of its own on the rows Weft gives, or register the prepared rows as a source."
AFTERWARDS = "Leave it out and sort or cut the result DataFrame instead."
ONE_SOURCE = "Select FROM one source; prepare joined or nested rows as a DataFrame and register it as a source."
PLAIN_GROUPS = "Write one query for each grouping: GROUP BY the keys and window(...)."


@dataclass(frozen=True)
class Refusal:
    """A sentence and the way out."""

    reason: str
    hint: str


# Clauses of a SELECT that do not run, by sqlglot's name for them.
CLAUSES: dict[str, Refusal] = {
    "with_": Refusal("Weft runs no common table expressions (WITH).", ONE_SOURCE),
    "distinct": Refusal("Weft does not run SELECT DISTINCT.", "Group by the columns: a group gives one row."),
    "laterals": Refusal("Weft runs no LATERAL VIEW.", ONE_SOURCE),
    "pivots": Refusal("Weft runs no PIVOT.", "Write one aggregate with FILTER (WHERE ...) for each column."),
    "order": Refusal("Weft does not run ORDER BY: results are sets of rows.", AFTERWARDS),
    "sort": Refusal("Weft does not run SORT BY: results are sets of rows.", AFTERWARDS),
    "cluster": Refusal("Weft does not run CLUSTER BY: results are sets of rows.", AFTERWARDS),
    "distribute": Refusal("Weft does not run DISTRIBUTE BY: results are sets of rows.", AFTERWARDS),
    "limit": Refusal("Weft does not run LIMIT.", AFTERWARDS),
    "offset": Refusal("Weft does not run OFFSET.", AFTERWARDS),
    "windows": Refusal("Weft runs no named WINDOW clause.", "Group by window(time, range, slide) instead."),
    "qualify": Refusal("Weft does not run QUALIFY.", "Filter groups with HAVING."),
    "sample": Refusal("Weft does not run TABLESAMPLE: its answers would differ from run to run.", "Leave it out."),
    "operation_modifiers": Refusal("Weft does not know this SELECT modifier.", "Leave it out."),
    "kind": Refusal("Weft runs plain SELECT only.", "Leave out AS STRUCT or AS VALUE."),
}
GROUPINGS = (exp.GroupingSets, exp.Rollup, exp.Cube)
READ = {"expressions", "from_", "joins", "where", "group", "having", "hint"}

# Parts of expressions that do not run, by node.
NODES: dict[type[exp.Expr], Refusal] = {
    exp.Subquery: Refusal("Weft runs no subqueries.", ONE_SOURCE),
    exp.Select: Refusal("Weft runs no subqueries.", ONE_SOURCE),
    exp.Window: Refusal("Weft runs no analytic functions (OVER).", SPLIT),
    exp.IgnoreNulls: Refusal("Weft does not run IGNORE NULLS.", "Use FILTER (WHERE x IS NOT NULL)."),
    exp.RespectNulls: Refusal("Weft does not run RESPECT NULLS.", "Leave it out."),
    exp.WithinGroup: Refusal("Weft does not run WITHIN GROUP yet.", SPLIT),
    exp.Array: Refusal("Weft cannot read array(...)[i].", "Write get(array(...), i)."),
    exp.Aliases: Refusal("Weft does not run several aliases of one expression.", "Give each column one alias."),
    exp.Parameter: Refusal("Weft takes no variables.", "Write the value itself."),
    exp.Placeholder: Refusal("Weft takes no parameters.", "Write the value itself."),
    exp.SessionParameter: Refusal("Weft takes no variables.", "Write the value itself."),
    exp.CurrentDate: Refusal("current_date changes from run to run.", "Write the date itself: DATE '2024-01-31'."),
    exp.CurrentTimestamp: Refusal("current_timestamp changes from run to run.", "Write a TIMESTAMP literal."),
    exp.CurrentUser: Refusal("current_user changes from session to session.", "Write the name itself."),
    exp.SessionUser: Refusal("session_user changes from session to session.", "Write the name itself."),
}

KNOWN = ("count, sum, avg, min, max, min_by, max_by, bool_and, bool_or, stddev, variance, corr, median, percentile, "
         "percentile_approx, mode, collect_list, collect_set and their kin")
CHANGES = Refusal(
    "{}() changes from run to run, so its answer cannot equal Spark's.",
    "Write the value itself, or add it as a column of the source.",
)
# Functions that do not run, by name; {} stands for the name.
FUNCTIONS: tuple[tuple[Collection[str], Refusal], ...] = (
    (NOT_YET, Refusal("Weft does not run the aggregate {}() yet.", f"It runs {KNOWN}.")),
    (CHANGING, CHANGES),
    (ANALYTIC, Refusal("Weft runs no analytic functions such as {}().", SPLIT)),
    (GENERATORS, Refusal("{}() makes several rows of one, which Weft does not run.", ONE_SOURCE)),
    (("session_window",), Refusal("Weft does not run session windows.", "Use window(time, range, slide).")),
    (("window_time",), Refusal("Weft does not run {}().", "Use window.end - INTERVAL '1' MICROSECOND.")),
    (("grouping", "grouping_id"), Refusal("Weft runs no {}(): it has no grouping sets.", PLAIN_GROUPS)),
    (("identifier", "arrays_zip"), Refusal("Weft does not run {}(): it depends on how names are written.",
                                           "Leave it out.")),
)  # fmt: skip
OWN_NAMES = re.compile("__(window|weft_|key_|call_)", re.IGNORECASE)
STARTS = (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN)
SETS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
MOMENTS = frozenset(("now", "today", "tomorrow", "yesterday"))


def refuse_start(text: Text, tokens: list[Token]) -> None:
    """The error for text that is no SELECT, or that Spark would change before reading it."""
    first = tokens[0]
    if first.token_type in (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING):
        raise text.unreadable(first, f"the SQL cannot be read: it starts with '{first.text}'.", "Start with SELECT.")
    if first.token_type not in STARTS:
        raise text.refused(first, f"Weft runs SELECT only, not {first.text.upper()}.", "Write a SELECT with a window.")
    own = OWN_NAMES.search(text.sql)
    if own:
        raise text.refused(own.start(), f"names that start with {own[0]} are Weft's own.", "Choose another name.")
    at = text.sql.find("${")
    if at >= 0:
        raise text.refused(at, "Weft takes no variables, and Spark would replace ${...}.", "Write the value itself.")


def refuse_statement(text: Text, tree: exp.Expr | None, tokens: list[Token]) -> exp.Select:
    """The tree if it is one plain SELECT, else the error that says what it is."""
    if isinstance(tree, exp.SetOperation):
        at = next((token for token in tokens if token.token_type in SETS), None)
        kind = type(tree).__name__.upper()
        raise text.refused(at, f"Weft runs no {kind}.", "Add each SELECT as a query of its own.")
    if isinstance(tree, exp.Subquery):
        raise text.refused(0, "the query stands in parentheses.", "Leave the parentheses out.")
    if not isinstance(tree, exp.Select):
        raise text.refused(0, "Weft runs SELECT only.", "Write a SELECT with a window.")
    pipe = symbol(tokens, TokenType.PIPE_GT)
    if pipe:
        raise text.refused(pipe, "Weft runs no pipe syntax (|>).", "Write SELECT ... FROM ... GROUP BY ...")
    return tree


def refuse_table(text: Text, select: exp.Select, tokens: list[Token]) -> exp.Table:
    """The one plain table in FROM, or the error that says what else stands there."""
    source = select.args.get("from_")
    table = source.this if source else None
    if table is None:
        raise text.refused(0, "the query has no FROM.", "Select FROM a registered source.")
    return require_plain(text, table, tokens)


def require_plain(text: Text, table: exp.Expr, tokens: list[Token]) -> exp.Table:
    """The table if it is nothing but a source's name and an alias, else the error that says what it is."""
    if not (isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)):
        raise text.refused(table, "FROM must name one registered source.", ONE_SOURCE)
    for name, value in table.args.items():
        if value and name not in ("this", "db", "catalog", "alias"):
            refusal = CLAUSES.get(name, Refusal(f"Weft does not run {name.upper()} in FROM.", "Leave it out."))
            raise text.refused(keyword(tokens, name) or table, refusal.reason, refusal.hint)
    if table.args.get("alias") and table.args["alias"].columns:
        raise text.refused(table, "Weft does not rename columns in FROM.", "Use the source's own column names.")
    return table


def refuse_clauses(text: Text, select: exp.Select, tokens: list[Token]) -> None:
    """The error for a clause that does not run."""
    for name, value in select.args.items():
        if value and name not in READ:
            refusal = CLAUSES.get(name, Refusal(f"Weft does not run this clause ({name}).", "Leave it out."))
            raise text.refused(keyword(tokens, name) or _node(value), refusal.reason, refusal.hint)
    group = select.args.get("group")
    for node in group.find_all(*GROUPINGS) if group else ():
        kind = type(node).__name__.upper().replace("GROUPINGSETS", "GROUPING SETS")
        raise text.refused(word(tokens, kind), f"Weft runs no {kind}.", PLAIN_GROUPS)


def refuse_nodes(text: Text, nodes: list[exp.Expr], tokens: list[Token]) -> None:
    """The error for the first part of an expression that does not run."""
    for node in nodes:
        refusal = NODES.get(type(node))
        if refusal:
            raise text.refused(spot(node, tokens), refusal.reason, refusal.hint)
        if isinstance(node, exp.Anonymous):
            refuse_function(text, node)
        elif isinstance(node, exp.Distinct):
            refuse_distinct(text, node, tokens)
        elif isinstance(node, exp.Cast):
            refuse_moment(text, node)
        elif isinstance(node, exp.Tuple):
            refuse_unnamed(text, node, node.expressions)
        elif unclear(node):
            raise text.refused(node, "Spark and Weft would group these operators differently.", "Add parentheses.")
        elif isinstance(node, exp.Star) and not _counted(node):
            at = symbol(tokens, TokenType.STAR)
            raise text.refused(at, "SELECT * has no meaning over windows.", "Name the keys and the aggregates.")


def refuse_distinct(text: Text, node: exp.Distinct, tokens: list[Token]) -> None:
    """The error for DISTINCT where it is not the columns of a count."""
    call = node.parent
    if not (isinstance(call, exp.Anonymous) and call.name.lower() == "count"):
        at = spot(node, tokens)
        raise text.refused(at, "Weft runs DISTINCT inside count() only.", "Leave DISTINCT out.")
    if any(isinstance(item, exp.Star) for item in node.expressions):
        raise text.refused(spot(node, tokens), "Weft does not run count(DISTINCT *).", "Name the columns.")


def refuse_function(text: Text, call: exp.Anonymous) -> None:
    """The error for a function that does not run, by its name, unless the user says how it does."""
    name = call.name.lower()
    if name in text.defined:
        return
    for names, refusal in FUNCTIONS:
        if name in names:
            raise text.refused(call, refusal.reason.format(name), refusal.hint)
    if name == "unix_timestamp" and not call.expressions:
        raise text.refused(call, CHANGES.reason.format(name), CHANGES.hint)
    if name == "struct":
        refuse_unnamed(text, call, call.expressions)


def refuse_unnamed(text: Text, node: exp.Expr, fields: list[exp.Expr]) -> None:
    """The error for a struct whose fields Spark would name after columns: the shared job has columns of its own."""
    if any(not isinstance(item, exp.Alias) and item.find(exp.Column) for item in fields):
        raise text.refused(
            node,
            "Weft cannot name the fields of this struct as Spark does.",
            "Name each field: named_struct('symbol', symbol).",
        )


def refuse_moment(text: Text, cast: exp.Cast) -> None:
    """The error for `TIMESTAMP 'now'` and its like, which change from run to run."""
    value = cast.this
    if isinstance(value, exp.Literal) and value.is_string and value.this.strip().lower() in MOMENTS:
        raise text.refused(value, f"'{value.this}' changes from run to run.", "Write the moment itself.")


def refuse_aggregates(text: Text, node: exp.Expr, clause: str, hint: str) -> None:
    """The error for an aggregate in a clause that sees rows, not groups."""
    for call in node.find_all(exp.Anonymous):
        if text.aggregate(call.name):
            raise text.refused(call, f"an aggregate ({call.name}) cannot stand in {clause}.", hint)


def no_window(text: Text, tokens: list[Token]) -> QueryError:
    """The error for a query without any window."""
    return text.refused(
        word(tokens, "GROUP BY") or 0,
        "the query has no window.",
        "Group by window(time, '10 minutes', '2 minutes').",
    )


def _counted(star: exp.Star) -> bool:
    call = star.parent
    return isinstance(call, exp.Anonymous) and call.name.lower() == "count"


def _node(value: object) -> exp.Expr | None:
    first = value[0] if isinstance(value, list) else value
    return first if isinstance(first, exp.Expr) else None
