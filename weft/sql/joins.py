"""Joins in FROM: lifted out of the query, which then reads one source, the join, like any other query.

Conditions of ON and of WHERE mean the same for inner joins. Equalities between two inputs and bounds on their event
times make the join; every other condition stays the query's own predicate, so that queries share as much as they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.model.join import (
    Join,
    JoinInput,
    JoinKey,
    TimeBound,
    bound_sql,
    column_names,
    number_aliases,
    rename,
    tightest,
)
from weft.sql.join_bounds import read_bounds
from weft.sql.join_names import JoinedTable, JoinNames
from weft.sql.join_refusals import (
    refuse_kind,
    refuse_size,
    refuse_table_windows,
    require_aliases,
    require_bounds,
    require_linked,
    require_times,
)
from weft.sql.join_windows import JoinWindow
from weft.sql.kinds import operands
from weft.sql.render import quoted, sql, window_sizes
from weft.sql.schema import SourceSchema
from weft.sql.text import Cut, Text, start_of
from weft.sql.trust import trusted

INPUT = "__weft_input__ {}"  # stands in SQL for the view of a source


@dataclass(frozen=True)
class KeyNodes:
    """An equality between two tables: the number of each and its side of it."""

    left: int
    right: int
    left_side: exp.Expr
    right_side: exp.Expr


@dataclass(frozen=True)
class Lifted:
    """The join of a query's FROM as a value and as a source, and the query as Spark runs it and as a cheap probe."""

    join: Join
    schema: SourceSchema
    native: str
    probe: str


def lift_join(text: Text, select: exp.Select, tokens: Sequence[Token], tables: Sequence[JoinedTable]) -> Lifted:
    """Take the join out of a SELECT, whose columns then have their names in the join, and other conditions WHERE."""
    joins = select.args.pop("joins")
    refuse_size(text, tables)
    for join in joins:
        refuse_kind(text, join, tokens)
    require_aliases(text, tables)
    require_times(text, tables)
    refuse_table_windows(text, tables)
    names = JoinNames(text, tables, _shared(tables, joins))
    keys, bounds, others = _conditions(text, select, joins, names)
    bounds += _window_bounds(tables)
    _resolve_clauses(select, names, others)
    require_linked(text, tables, [{key.left, key.right} for key in keys])
    bounds = list(tightest(bounds))
    require_bounds(text, tables, bounds)
    join, schema = _canonical(text, names, keys, bounds)
    cuts = [*(_table_cut(text, table) for table in tables), *_window_cuts(tables, tokens)]
    end = tokens[-1].end + 1
    return Lifted(join, schema, text.splice(cuts, end), text.splice([*cuts, *window_sizes(tokens)], end))


def _shared(tables: Sequence[JoinedTable], joins: Sequence[exp.Join]) -> dict[str, int]:
    """The columns of USING by their folded names, each with the first table that has it."""
    fold = tables[0].schema.fold
    named = {fold(column.name) for join in joins for column in join.args.get("using") or ()}
    return {name: next(n for n, table in enumerate(tables) if name in table.schema.spelling)
            for name in named if any(name in table.schema.spelling for table in tables)}


def _conditions(text: Text, select: exp.Select, joins: Sequence[exp.Join],
                names: JoinNames) -> tuple[list[KeyNodes], list[TimeBound], list[exp.Expr]]:
    """The keys and bounds among all conditions of ON, USING and WHERE, and the conditions that are neither."""
    keys = [key for number, join in enumerate(joins, 1) for key in _using(text, join, number, names)]
    bounds: list[TimeBound] = []
    others: list[exp.Expr] = []
    for node in _conjuncts(select, joins):
        node = names.resolve(node)
        key, found = _key(node, names), read_bounds(text, node, names.time_of)
        keys += [key] if key else []
        bounds += found or ()
        others += [] if key or found else [node]
    for key in keys:
        for side in (key.left_side, key.right_side):
            if not trusted(side.walk()):
                raise text.refused(side, "Weft may read this condition otherwise than Spark.",
                                   "Write the key in a plainer way, or add it as a column of the source.")
    return keys, bounds, others


def _conjuncts(select: exp.Select, joins: Sequence[exp.Join]) -> Iterator[exp.Expr]:
    """The conditions of every ON, then those of WHERE."""
    where = select.args.get("where")
    for whole in (*(join.args.get("on") for join in joins), where.this if where else None):
        if whole is not None:
            yield from operands(whole.unnest()) if isinstance(whole.unnest(), exp.And) else (whole,)


def _using(text: Text, join: exp.Join, number: int, names: JoinNames) -> Iterator[KeyNodes]:
    """The equalities of USING: with the first table before it that has the column."""
    for column in join.args.get("using") or ():
        left = names.shared.get(names.tables[0].schema.fold(column.name), number)
        if left >= number:
            raise text.wrong(column, f"no table before it has a column '{column.name}'.", "Write ON with both columns.")
        sides = [names.resolve(exp.Column(this=column.copy(), table=exp.Identifier(this=names.tables[n].alias)))
                 for n in (left, number)]
        yield KeyNodes(left, number, *sides)


def _key(node: exp.Expr, names: JoinNames) -> KeyNodes | None:
    """The equality that a condition is, if each of its sides is over one table and these are two."""
    node = node.unnest()
    if not isinstance(node, exp.EQ):
        return None
    left, right = names.used_in(node.this), names.used_in(node.expression)
    if len(left) != 1 or len(right) != 1 or left == right:
        return None
    return KeyNodes(left.pop(), right.pop(), node.this.unnest(), node.expression.unnest())


def _window_bounds(tables: Sequence[JoinedTable]) -> list[TimeBound]:
    """What join windows say: no row comes later than another one stays in its window (004 Def. 2)."""
    return [TimeBound(later, earlier, table.window.micros) for earlier, table in enumerate(tables) if table.window
            for later, other in enumerate(tables) if later != earlier and other.schema.time]


def _resolve_clauses(select: exp.Select, names: JoinNames, others: Sequence[exp.Expr]) -> None:
    """Give every column of the other clauses a node of its own, and WHERE the conditions that are left."""
    fold = names.tables[0].schema.fold
    aliases = {fold(item.alias): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    where = None
    for condition in others:
        part = exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition
        where = part if where is None else exp.And(this=where, expression=part)
    select.set("where", exp.Where(this=where) if where is not None else None)
    select.set("expressions", [names.resolve(item) for item in select.expressions])
    group, having = select.args.get("group"), select.args.get("having")
    if group is not None:
        group.set("expressions", [names.resolve(node) for node in group.expressions])
    if having is not None:
        having.set("this", names.resolve(having.this, aliases))


def _canonical(text: Text, names: JoinNames, keys: Sequence[KeyNodes],
               bounds: Sequence[TimeBound]) -> tuple[Join, SourceSchema]:
    """The join with its inputs in the order of their names; a source that is joined with itself stands in the order
    that gives the least conditions."""
    orders = list(_orders([table.schema.name for table in names.tables]))
    made = [_joined(names, order, keys, bounds) for order in orders]
    best = min(range(len(made)), key=lambda i: made[i].conditions)
    _joined(names, orders[best], keys, bounds)  # every column is named by it from here on
    join = made[best]
    tables = [names.tables[number] for number in orders[best]]
    columns = tuple((name, table.schema.types[own]) for table, each in zip(tables, join.inputs, strict=True)
                    for own, name in each.columns)
    return join, SourceSchema(join.name, columns, None, names.tables[0].schema.case_sensitive)


def _orders(sources: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """The orders of the tables that are sorted by their sources."""
    groups = [[n for n, other in enumerate(sources) if other == name] for name in sorted(set(sources))]
    for parts in product(*(permutations(group) for group in groups)):
        yield tuple(number for part in parts for number in part)


def _joined(names: JoinNames, order: Sequence[int], keys: Sequence[KeyNodes], bounds: Sequence[TimeBound]) -> Join:
    """The join with its inputs in an order, all columns named by it."""
    tables = [names.tables[number] for number in order]
    aliases = number_aliases(table.schema.name for table in tables)
    columns = column_names([(alias, [name for name, _ in table.schema.columns])
                            for alias, table in zip(aliases, tables, strict=True)])
    place = {number: i for i, number in enumerate(order)}
    names.name_all([dict(columns[place[number]]) for number in range(len(order))])
    inputs = tuple(JoinInput(table.schema.name, alias, table.time, named)
                   for table, alias, named in zip(tables, aliases, columns, strict=True))
    written = [JoinKey(key.left, key.right, sql(key.left_side), sql(key.right_side)) for key in keys]
    numbered, moved = rename(place, written, bounds)
    ordered = {_directed(key) for key in numbered}
    local = any(table.time and table.schema.types[table.time] == "timestamp_ntz" for table in tables)
    return Join(inputs, tuple(sorted(ordered, key=lambda k: (k.left_sql, k.right_sql))), tightest(moved), local)


def _directed(key: JoinKey) -> JoinKey:
    """The key with the lesser side first."""
    if key.left_sql <= key.right_sql:
        return key
    return replace(key, left=key.right, right=key.left, left_sql=key.right_sql, right_sql=key.left_sql)


def _table_cut(text: Text, table: JoinedTable) -> Cut:
    """A table's name in the text, and the view that stands there for Spark."""
    spans = [part._meta for part in table.table.parts if part._meta]
    start, stop = spans[0]["start"], spans[-1]["end"] + 1
    view = f"`{INPUT.format(table.schema.name)}`"
    return start, stop, view if table.table.alias else f"{view} AS {text.sql[spans[-1]['start'] : stop]}"


def _window_cuts(tables: Sequence[JoinedTable], tokens: Sequence[Token]) -> Iterator[Cut]:
    """Join windows for Spark: conditions of WHERE in place of brackets."""
    bounds = _window_bounds(tables)
    yield from (table.window.cut for table in tables if table.window)
    if not bounds:  # of one stream with tables: it meets no other one
        return
    times = [f"{quoted(table.alias)}.{quoted(table.time)}" if table.time else None for table in tables]
    condition = " AND ".join(bound_sql(bound, times) for bound in bounds)
    where, group = (_clause(tokens, kind) for kind in (TokenType.WHERE, TokenType.GROUP_BY))
    end = group.start if group else tokens[-1].end + 1
    if where:
        yield where.end + 1, where.end + 1, f" {condition} AND ("
        yield end, end, ") "
    else:
        yield end, end, f" WHERE {condition} "


def _clause(tokens: Sequence[Token], kind: TokenType) -> Token | None:
    """The token that begins a clause, outside all parentheses."""
    depth = 0
    for token in tokens:
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if not depth and token.token_type == kind:
            return token
    return None


def attach_windows(tables: Sequence[JoinedTable], windows: Sequence[JoinWindow]) -> tuple[JoinedTable, ...]:
    """The tables, each with the join window that stands behind its name."""
    starts = [start_of(table.table) or 0 for table in tables]
    owner: Mapping[int, JoinWindow] = {
        max(n for n, start in enumerate(starts) if start < window.at.start): window for window in windows}
    return tuple(replace(table, window=owner.get(n)) for n, table in enumerate(tables))
