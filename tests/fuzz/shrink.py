"""Making a failing case smaller while it fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.case import Case, Item, Query, Run, Window
from tests.fuzz.check import Verdict

FILTER = " FILTER (WHERE "
CALL = re.compile(r"\b[a-z_]+\(")
QUICK = ("spark.sql.codegen.factoryMode", "spark.sql.codegen.wholeStage")  # without which every trial takes longer
Fails = Callable[[Case], bool]


def shrink(case: Case, verdict: Verdict, fails: Fails, seconds: float) -> Case:
    """The smallest failing case that is found in so many seconds."""
    until = time.monotonic() + seconds
    alone = replace(case, queries=tuple(case.queries[i] for i in verdict.queries))
    found = alone if len(alone.queries) < len(case.queries) and fails(alone) else case
    while time.monotonic() < until:
        smaller = next((c for c in smaller_ones(found) if time.monotonic() < until and fails(c)), None)
        if smaller is None:
            return found
        found = smaller
    return found


def smaller_ones(case: Case) -> Iterator[Case]:
    """Cases a step smaller, the largest steps first."""
    for name in case.settings:
        if name not in QUICK:
            yield replace(case, settings={k: v for k, v in case.settings.items() if k != name})
    if len(case.queries) > 1:
        yield from (replace(case, queries=without(case.queries, i)) for i in range(len(case.queries)))
    yield from (replace(case, run=run) for run in simpler_runs(case.run))
    yield from fewer_rows(case)
    if case.names:
        yield replace(case, names={})
    for i, query in enumerate(case.queries):
        for simpler in simpler_queries(query):
            yield replace(case, queries=(*case.queries[:i], simpler, *case.queries[i + 1:]))
    if len(case.names) > 1:
        yield from (replace(case, names={k: v for k, v in case.names.items() if k != name}) for name in case.names)


def without(values: tuple, place: int) -> tuple:
    """All values but one."""
    return values[:place] + values[place + 1:]


def simpler_runs(run: Run) -> Iterator[Run]:
    """Plainer ways to run."""
    plain = (Run(), replace(run, algorithm=None), replace(run, optimizer=Run().optimizer),
             replace(run, restart=False), replace(run, sharing=""), replace(run, late=0), replace(run, files=1),
             replace(run, format="parquet"))
    yield from (one for one in dict.fromkeys(plain) if one != run)


def fewer_rows(case: Case) -> Iterator[Case]:
    """Half of the rows, a quarter less, or one less where few are left."""
    shape = case.shape
    chosen = shape.chosen if shape.chosen is not None else tuple(range(shape.rows))
    count = len(chosen)
    cuts = [chosen[:count // 2], chosen[count // 2:], chosen[count // 4:], chosen[:count - count // 4]]
    if count <= 6:
        cuts += [without(chosen, i) for i in range(count)]
    yield from (replace(case, shape=replace(shape, chosen=cut)) for cut in cuts if len(cut) < count)


def simpler_queries(query: Query) -> Iterator[Query]:
    """The query with a piece less, or a plainer one."""
    if query.having:
        yield replace(query, having=None)
    if query.where:
        yield replace(query, where=None)
    if len(query.items) > 1:
        yield from (replace(query, items=without(query.items, i)) for i in range(len(query.items)))
    yield from (replace(query, keys=without(query.keys, i)) for i in range(len(query.keys)))
    if query.grouping != "plain":
        yield replace(query, grouping="plain")
    yield from (replace(query, window=window) for window in simpler_windows(query.window))
    for i, item in enumerate(query.items):
        for simpler in simpler_items(item):
            yield replace(query, items=(*query.items[:i], simpler, *query.items[i + 1:]))
    if query.source != "t":
        yield replace(query, source="t")


def simpler_windows(window: Window) -> Iterator[Window]:
    """Spark's spelling, no offset, no overlap."""
    if window.spelling != "rows":
        plain = (replace(window, spelling="spark"), replace(window, time="‹ts›"), replace(window, start=0),
                 replace(window, slide=window.size, start=0))
        yield from (one for one in dict.fromkeys(plain) if one != window)


def simpler_items(item: Item) -> Iterator[Item]:
    """The output without a FILTER, or a call that stands within it."""
    for text in (*without_filters(item.sql), *calls_within(item.sql)):
        yield replace(item, sql=text)
    if item.alias and item.alias != "o":
        yield replace(item, alias="o")


def without_filters(sql: str) -> Iterator[str]:
    """The text with one of its FILTERs left out."""
    for found in re.finditer(re.escape(FILTER), sql):
        end = closing(sql, found.end() - 1 - len("WHERE "))
        yield sql[:found.start()] + sql[end + 1:]


def calls_within(sql: str) -> Iterator[str]:
    """The calls in a text, with their FILTERs."""
    for found in CALL.finditer(sql):
        end = closing(sql, found.end() - 1)
        if sql[end + 1:].startswith(FILTER):
            end = closing(sql, end + len(FILTER) - len("WHERE "))
        if len(sql[found.start():end + 1]) < len(sql):
            yield sql[found.start():end + 1]


def closing(sql: str, start: int) -> int:
    """Where the parenthesis that opens at `start`, or first after it, is closed."""
    depth = 0
    for place in range(start, len(sql)):
        depth += {"(": 1, ")": -1}.get(sql[place], 0)
        if depth == 0 and sql[place] == ")":
            return place
    return len(sql) - 1
