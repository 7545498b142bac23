"""From the text of one query to what Weft understands of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from weft.aggregates import Aggregate
from weft.model.query import WINDOW, Output, Query
from weft.model.window import Window
from weft.sql import render
from weft.sql.clauses import resolve_groups, resolve_items, resolve_where, spelled_time
from weft.sql.error_bounds import agree_on_error
from weft.sql.error_calls import lift_errors
from weft.sql.extract import Groups
from weft.sql.freshness import agree_on_bound
from weft.sql.hints import lift_hints
from weft.sql.items import Item, groups_plainly, make_items, own_words, stands_apart
from weft.sql.join_names import JoinedTable
from weft.sql.join_windows import JoinWindow, lift_join_windows
from weft.sql.joins import attach_windows, lift_join
from weft.sql.qualify import HAVING, Scope
from weft.sql.refuse import (
    no_window,
    refuse_clauses,
    refuse_nodes,
    refuse_start,
    refuse_statement,
    refuse_table,
    require_plain,
)
from weft.sql.render import sql
from weft.sql.rows import tie_breakers
from weft.sql.schema import SourceSchema
from weft.sql.shape import Shape, loose_output, loose_predicate, names_of
from weft.sql.spellings import Spelled, lift
from weft.sql.text import Text, start_of
from weft.sql.trust import precise, trusted

Items = list[tuple[exp.Expr, str]]
NONE: Mapping[str, Aggregate] = MappingProxyType({})


@dataclass(frozen=True)
class Parsed:
    """A query, a cheap probe of its schema, its canonical text, whether that text is surely the same query, and what
    decides its names and types: of the whole, and expression by expression.

    `items` are its outputs, then HAVING, or None where Spark must see the whole query; `loose_where` is its WHERE with
    numbers as types: predicates of one such text are all boolean, or none is. `schema` is that of its join, if any.
    """

    query: Query
    probe: str
    rendered: str
    trusted: bool
    shape: Shape
    items: tuple[Item, ...] | None = None
    loose_where: str | None = None
    schema: SourceSchema | None = None


@dataclass(frozen=True)
class Bounds:
    """What a query accepts: microseconds between two answers, and an error where rows are dropped."""

    every: int | None
    error: float | None


def parse_query(name: str, text: str, sources: Mapping[str, SourceSchema],
                defined: Mapping[str, Aggregate] = NONE, every: str | None = None,
                shed: str | float | None = None) -> Parsed:
    """Read one query's SQL against the registered sources; `defined` are the user's aggregates by lower-case name.

    `every` is the longest time between two of its answers, and `shed` the error that is accepted where rows are
    dropped, where these do not stand in the SQL.
    """
    words = Text(name, text, defined)
    tokens = _tokens(words)
    refuse_start(words, tokens)
    words, tokens, hints = lift_hints(words, tokens)
    tokens, windows = lift_join_windows(words, tokens)
    tokens, spelled = lift(words, tokens)
    slide = (spelled.slide_bound, spelled.at) if spelled else (None, None)
    bounds = Bounds(agree_on_bound(words, hints.get("EVERY"), every, *slide),
                    agree_on_error(words, hints.get("SHED"), shed))
    select = _select(words, tokens)
    words = lift_errors(words, select, tokens)
    nodes = list(select.walk(bfs=False))
    refuse_nodes(words, nodes[1:], tokens)
    table = refuse_table(words, select, tokens)
    if select.args.get("joins"):
        return _read_joined(words, select, tokens, sources, windows, spelled, bounds)
    schema = _source(words, table, sources)
    scope = Scope(words, schema, schema.fold(table.alias_or_name), spelled)
    sure = trusted(nodes) and precise(nodes, tokens, schema.types.values())
    if spelled and not sure:
        raise words.refused(table, "Weft may read this SQL otherwise than Spark, which has no such window to ask.",
                            "Write the window as window(time, '10 minutes', '2 minutes') in GROUP BY.")
    return _read(scope, select, tokens, table, nodes, sure, bounds)


def _read_joined(text: Text, select: exp.Select, tokens: list[Token], sources: Mapping[str, SourceSchema],
                 windows: Sequence[JoinWindow], spelled: Spelled | None, bounds: Bounds) -> Parsed:
    """The query over the join of its tables, as over one source."""
    if spelled:
        raise text.refused(spelled.at, "the window of the answers stands in FROM of a join.",
                           "Group by window(a.ts, '10 minutes', '2 minutes'): it names the stream whose time counts.")
    first = select.args["from_"].this
    plain = [require_plain(text, table, tokens) for table in (first, *(join.this for join in select.args["joins"]))]
    tables = [JoinedTable(table, table.alias_or_name, _source(text, table, sources)) for table in plain]
    names = names_of(select.expressions, text.splice((), start_of(first) or 0))
    lifted = lift_join(text, select, tokens, attach_windows(tables, windows))
    nodes = list(select.walk(bfs=False))
    if not (trusted(nodes) and precise(nodes, tokens, lifted.schema.types.values())):
        raise text.refused(first, "Weft may read this SQL otherwise than Spark.", "Write its expressions in a plainer "
                           "way, or compute them in the source.")
    parsed = _read(Scope(text, lifted.schema, "", None), select, tokens, first, nodes, True, bounds)
    query = replace(parsed.query, native=lifted.native, join=lifted.join)
    shape = Shape(*((*part, names) for part in (parsed.shape.exact, parsed.shape.loose)))
    return replace(parsed, query=query, probe=lifted.probe, shape=shape, items=None, schema=lifted.schema)


def _tokens(text: Text) -> list[Token]:
    """The tokens of one statement, without closing semicolons."""
    tokens = text.tokens()
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise text.unreadable(None, "the text is empty.", "Write a SELECT with a window.")
    again = next((i for i, token in enumerate(tokens) if token.token_type == TokenType.SEMICOLON), None)
    if again is not None:
        raise text.refused(tokens[again], "the text holds several statements.", "Add each SELECT as its own query.")
    return tokens


def _select(text: Text, tokens: list[Token]) -> exp.Select:
    """The one SELECT of the text, free of everything that is refused by its shape."""
    trees = text.trees(tokens)
    select = refuse_statement(text, trees[0] if trees else None, tokens)
    refuse_clauses(text, select, tokens)
    return select


def _source(text: Text, table: exp.Table, sources: Mapping[str, SourceSchema]) -> SourceSchema:
    """The registered source that FROM names, in any case unless that matters in the session."""
    name = ".".join(part.name for part in table.parts)
    alike = (source for key, source in sources.items() if source.fold(key) == source.fold(name))
    found = sources.get(name) or next(alike, None)
    if found is None:
        near = get_close_matches(name.lower(), [key.lower() for key in sources], 1, 0.5)
        names = next((key for key in sources if key.lower() in near), None)
        hint = f"Did you mean '{names}'?" if names else f"Registered: {', '.join(sources) or 'none yet'}."
        raise text.wrong(table, f"there is no source '{name}'.", hint)
    return found


@dataclass(frozen=True)
class Resolved:
    """The clauses of a query with plain names, before keys and calls are taken out."""

    where: exp.Expr | None
    items: Items
    groups: list[exp.Expr]
    having: exp.Expr | None


def _resolve(scope: Scope, select: exp.Select) -> Resolved:
    """Resolve each clause in Spark's order: aliases of SELECT are seen by GROUP BY and HAVING."""
    where, having = select.args.get("where"), select.args.get("having")
    plain = resolve_where(scope, where.this if where else None)
    items = resolve_items(scope, list(select.expressions))
    groups = resolve_groups(scope, select.args.get("group"), items)
    return Resolved(plain, items, groups, scope.resolve(having.this, HAVING).unnest() if having else None)


@dataclass(frozen=True)
class Written:
    """The clauses in canonical words; GROUP BY has every expression, constants too."""

    where: str | None
    items: list[tuple[str, str]]
    groups: list[str]
    having: str | None


def _written(clauses: Resolved) -> Written:
    """Each clause written once, before keys and calls are taken out of its trees."""
    return Written(
        sql(clauses.where) if clauses.where else None,
        [(sql(node), alias) for node, alias in clauses.items],
        [sql(node) for node in clauses.groups],
        sql(clauses.having) if clauses.having else None,
    )


def _read(scope: Scope, select: exp.Select, tokens: list[Token], table: exp.Table, nodes: list[exp.Expr],
          sure: bool, bounds: Bounds) -> Parsed:
    names = names_of(select.expressions, scope.text.splice((), start_of(table) or 0))
    apart = sure and stands_apart(scope, select, nodes)
    words = own_words(scope, select.expressions, tokens) if apart and scope.spelled is None else None
    clauses = _resolve(scope, select)
    groups = Groups(scope.text, windowed=scope.spelled is not None)
    groups.add_keys(clauses.groups)
    time, window = _window(scope, clauses, groups, tokens)
    written = _written(clauses)
    if scope.spelled is not None:  # Spark sees the canonical text, and names what has no alias by it
        words = ["" if alias else text.replace(WINDOW, "window") for text, alias in written.items]
    apart = apart and words is not None and not scope.lateral and groups_plainly(clauses.groups, groups.keys)
    native, probe, canonical = _texts(scope, tokens, table, written, clauses, groups, time, window)
    lifted = [groups.lift(node) for node, _ in clauses.items]
    having = groups.lift(clauses.having) if clauses.having else None
    query = Query(
        name=scope.text.name,
        text=scope.text.sql,
        source=scope.schema.name,
        time=time,
        window=window,
        where=written.where,
        keys=tuple(sql(key) for key in groups.keys),
        outputs=tuple(Output(sql(node), alias) for node, (_, alias) in zip(lifted, clauses.items, strict=True)),
        having=sql(having) if having else None,
        calls=tuple(groups.calls),
        native=native,
        order=tie_breakers(scope.schema) if window.counts_rows else (),
        every=bounds.every,
        shed=bounds.error,
        slide_bound=scope.spelled.slide_bound if scope.spelled else None,
    )
    if not sure:
        return Parsed(query, probe, canonical, sure, Shape(*((query.source, probe),) * 2))
    loose = [loose_output(node, output.sql) for node, output in zip(lifted, query.outputs, strict=True)]
    test = loose_predicate(having, query.having) if having and query.having else ""
    where = loose_predicate(clauses.where, written.where) if clauses.where and written.where else None
    shape = _shape(query, loose, where, test, (tuple(written.groups), names))
    return Parsed(query, probe, canonical, sure, shape, _items(query, written, [*loose, test], words, apart), where)


def _texts(scope: Scope, tokens: list[Token], table: exp.Table, written: Written, clauses: Resolved, groups: Groups,
           time: str, window: Window) -> tuple[str, str, str]:
    """What Spark runs, a cheap text that has the same names and types, and the canonical text."""
    # Spark has no windows of rows: their native text is written once it is known what Spark names the outputs.
    canonical = _whole(scope, written, clauses, groups, time, None if window.counts_rows else window)
    if scope.spelled is not None:
        return canonical, _whole(scope, written, clauses, groups, time, None), canonical
    end = tokens[-1].end + 1
    return render.native(scope.text, table, end), render.probe(scope.text, tokens, table, end), canonical


def _shape(query: Query, loose: list[str], where: str | None, test: str, spelled: tuple) -> Shape:
    """The shape of a query that is trusted, from its outputs, WHERE and HAVING with numbers as types."""
    rest = (query.source, where, query.time, query.keys, query.calls, test, spelled)
    return Shape((*rest, tuple(output.sql for output in query.outputs)), (*rest, tuple(loose)))


def _items(query: Query, written: Written, loose: list[str], words: list[str] | None,
           apart: bool) -> tuple[Item, ...] | None:
    """The outputs and HAVING by themselves, where they mean there what they mean in the query."""
    if not apart or words is None:
        return None
    texts = [*(text for text, _ in written.items), *([written.having] if written.having else [])]
    return make_items(query, texts, loose[: len(texts)], words)


def _window(scope: Scope, clauses: Resolved, groups: Groups, tokens: list[Token]) -> tuple[str, Window]:
    """The time and the window of the query, which must be grouped by."""
    if scope.spelled:
        return spelled_time(scope, scope.spelled, clauses.groups), scope.spelled.window
    if scope.window is None:
        raise no_window(scope.text, tokens)
    if not groups.windowed:
        raise scope.text.refused(
            scope.window_at, "the window is not in GROUP BY.", "Group by window(time, '10 minutes', '2 minutes')."
        )
    return scope.window


def _whole(scope: Scope, written: Written, clauses: Resolved, groups: Groups, time: str, window: Window | None) -> str:
    """The canonical text of the whole query, with its own window or with the cheap one."""
    texts = _group_texts(scope, written, clauses.groups, groups, render.window_call(time, window))
    return render.whole(written.items, written.where, texts, written.having)


def _group_texts(scope: Scope, written: Written, nodes: list[exp.Expr], groups: Groups, call: str) -> list[str]:
    """The GROUP BY list: the user's own order with the window call where the window stands first."""
    if scope.spelled:
        return [*(sql(key) for key in groups.keys), call]
    texts = [text for text, node in zip(written.groups, nodes, strict=True) if node.find(exp.Column)]
    first = next(i for i, text in enumerate(texts) if text.split(".")[0] == WINDOW)
    texts[first] = texts[first].replace(WINDOW, call)
    return texts
