"""The clauses of a query resolved in Spark's order: WHERE, SELECT, GROUP BY, and the time of a window in FROM."""

from __future__ import annotations

from sqlglot import exp

from weft.model.query import WINDOW
from weft.sql.qualify import FIELDS, KEYS, ROWS, SELECT, Scope
from weft.sql.refuse import refuse_aggregates
from weft.sql.render import identifier, sql
from weft.sql.spellings import FLINK, Spelled
from weft.sql.text import Text


def resolve_where(scope: Scope, node: exp.Expr | None) -> exp.Expr | None:
    """The predicate over the source's rows."""
    if node is None:
        return None
    refuse_aggregates(scope.text, node, "WHERE", "Use HAVING, or FILTER (WHERE ...) on the aggregate.")
    return scope.resolve(node, ROWS).unnest()


def resolve_items(scope: Scope, items: list[exp.Expr]) -> list[tuple[exp.Expr, str]]:
    """Each SELECT item with its alias or ''; an alias may be used by the items after it."""
    found = []
    for item in items:
        alias = item.alias if isinstance(item, exp.Alias) else ""
        if not alias and scope.names_field(item):
            alias = item.name
        node = scope.resolve(item.this if isinstance(item, exp.Alias) else item, SELECT).unnest()
        if alias:
            scope.aliases.setdefault(scope.schema.fold(alias), []).append(node)
        found.append((node, alias))
    return found


def resolve_groups(scope: Scope, group: exp.Group | None, items: list[tuple[exp.Expr, str]]) -> list[exp.Expr]:
    """The GROUP BY expressions with ordinals, aliases and ALL replaced by what they stand for."""
    if group is None:
        return []
    if group.args.get("all"):
        return [node.copy() for node, _ in items if not has_aggregate(scope.text, node)]
    return [_group(scope, node, items) for node in group.expressions]


def _group(scope: Scope, node: exp.Expr, items: list[tuple[exp.Expr, str]]) -> exp.Expr:
    plain = node.unnest()
    if plain.is_int:
        position = int(sql(plain))
        if not 1 <= position <= len(items):
            raise scope.text.wrong(
                node, f"GROUP BY position {position} is not in the SELECT list.", f"Use 1 to {len(items)}."
            )
        return items[position - 1][0].copy()
    return scope.resolve(node, KEYS).unnest()


def spelled_time(scope: Scope, spelled: Spelled, groups: list[exp.Expr]) -> str:
    """The time column of a window given in FROM."""
    if "window" in scope.schema.spelling:  # the rewritten query reads the window by this name
        raise scope.text.refused(
            spelled.at,
            f"source '{scope.schema.name}' has a column named window, which hides the window.",
            "Rename the column in the source, or group by window(time, '10 minutes') instead.",
        )
    if spelled.style == FLINK:
        return _flink_time(scope, spelled, groups)
    if scope.schema.time is None:
        raise scope.text.wrong(
            spelled.at,
            f"source '{scope.schema.name}' declares no event time.",
            "Declare one when registering the source, or group by window(column, '10 minutes').",
        )
    return sql(exp.Column(this=identifier(scope.schema.called(scope.schema.time)[0])))


def _flink_time(scope: Scope, spelled: Spelled, groups: list[exp.Expr]) -> str:
    grouped = {sql(node) for node in groups}
    if not {f"{WINDOW}.{part}" for part in FIELDS} <= grouped:
        raise scope.text.refused(
            spelled.at, "the window is not in GROUP BY.", "Group by window_start, window_end and the keys."
        )
    assert spelled.time is not None  # Flink's spelling always names the column
    named = exp.Identifier(this=spelled.time.text).update_positions(spelled.time)
    return sql(scope.resolve(exp.Column(this=named), ROWS))


def has_aggregate(text: Text, node: exp.Expr) -> bool:
    """Whether an aggregate occurs anywhere in the expression."""
    return any(text.aggregate(call.name) for call in node.find_all(exp.Anonymous))


def is_window(node: exp.Expr) -> bool:
    """Whether the expression is the window itself or its start or end."""
    node = node.unnest()
    return sql(node.this if isinstance(node, exp.Dot) else node) == WINDOW


def uses_window(node: exp.Expr) -> bool:
    """Whether the window occurs anywhere in the expression."""
    return any(column.name == WINDOW for column in node.find_all(exp.Column))
