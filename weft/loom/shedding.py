"""Which queries of a run read their source behind a drop box, how much of it they read, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from time import time

from weft.errors import PlanError, RunError
from weft.io.drop_boxes import DropBox, Step, drop_box
from weft.loom.context import Context
from weft.loom.join_shedding import behind_boxes, shed_join, shed_stream_join
from weft.loom.source_shedding import MOST, SourceShedding, put_once
from weft.loom.sources import stream_box
from weft.model.join import Join
from weft.model.workload import BoundQuery, Workload
from weft.optimize.plan import scan_key
from weft.optimize.shed.load import SheddableQuery
from weft.optimize.shed.reasons import percent
from weft.spark.statistics.pilot import Pilot, last_rows, look, look_at_answers
from weft.spark.stream.checkpoint import Checkpoint

SHOWN = 3
KEEPS_ALL = "an incremental run keeps slices of all of them"


def thin_batch(context: Context, workload: Workload) -> tuple[Workload, tuple[SourceShedding, ...]]:
    """The queries of a batch, those that accept an error behind drop boxes, and what is dropped of each source."""
    opted = opted_in(workload)
    joins = {name: shed_join(context, queries, opted_names(queries), why_pinned(queries, name))
             for name, queries in opted.items() if context.sources[name].join}
    made = {name: joins[name][1] if name in joins else choose_share(context, name, queries)
            for name, queries in opted.items()}
    boxes: dict[str, str | Join] = {name: thinned for name, (thinned, _) in joins.items() if thinned is not None}
    for name in (name for name, found in made.items() if found.share < 1 and name not in joins):
        boxes[name] = f"{name} (keeps {made[name].share:.6g})"
        put_once(context, f"{name} (keeps {made[name].share:.6g})", drop_box(made[name].share), name)
    return tuple(behind_box(context, bound, boxes, made) for bound in workload), tuple(made.values())


def why_pinned(queries: Sequence[BoundQuery], source: str) -> str | None:
    """Why all rows of a source are read, where some of its queries accept no error."""
    exact = exact_among(queries, source)
    return pinned(exact) if exact else None


def thin_stream(context: Context, workload: Workload,
                before: Checkpoint | None) -> tuple[Workload, tuple[SourceShedding, ...]]:
    """The same of a stream, which keeps to the shares of its checkpoint: a repeated trigger keeps the same rows."""
    opted = opted_in(workload)
    joins = {name: shed_stream_join(context, queries, opted_names(queries)) for name, queries in opted.items()
             if context.sources[name].join}
    made = {name: joins[name][1] if name in joins else first_share(context, name, queries)
            for name, queries in opted.items()}
    boxes: dict[str, str | Join] = {name: thinned for name, (thinned, _) in joins.items() if thinned is not None}
    for name in (name for name in made if name not in joins and not exact_among(workload, name)):
        steps = before.steps(name) if before else ()
        boxes[name] = box = stream_box(name)
        context.sources.put_box(box, DropBox(go_on(steps, made[name].share, context.sources[name].drop > 0)), name)
    return tuple(behind_box(context, bound, boxes, made) for bound in workload), tuple(made.values())


def go_on(steps: tuple[Step, ...], share: float, fixed: bool) -> tuple[Step, ...]:
    """The shares of a stream that starts: those of its checkpoint, and from now on the user's where it is another."""
    if not steps:
        return (Step(0, share),)
    return steps if not fixed or steps[-1].share == share else (*steps, Step(int(time() * 1000), share))


def opted_in(workload: Workload) -> dict[str, list[BoundQuery]]:
    """All queries of the sources of which some accept an error."""
    names = dict.fromkeys(bound.query.source for bound in workload if bound.weighted is not None)
    return {name: [bound for bound in workload if bound.query.source == name] for name in names}


def exact_among(workload: Sequence[BoundQuery], source: str) -> list[str]:
    """The queries of a source that must read all of its rows."""
    return [b.query.name for b in workload if b.query.source == source and b.weighted is None]


def choose_share(context: Context, name: str, queries: Sequence[BoundQuery]) -> SourceShedding:
    """How much of a source a batch reads: what the most demanding of its queries needs."""
    names, least = opted_names(queries), 1 - context.sources[name].drop
    exact = exact_among(queries, name)
    if exact:
        return SourceShedding(name, 1.0, names, pinned(exact))
    bounded = [bound for bound in queries if bound.query.shed != inf]
    if not bounded:
        return SourceShedding(name, least, names, f"drop={context.sources[name].drop:g} of the source.")
    if context.sources.frames[name].isStreaming:
        return SourceShedding(name, 1.0, names, "how many rows its answers are made of shows when rows come.")
    pilots = {bound.query.name: look_once(context, name, bound) for bound in bounded}
    return weigh_needs(name, names, bounded, pilots, least if context.sources[name].drop else 0.0)


def look_once(context: Context, name: str, bound: BoundQuery) -> Pilot:
    """The pilot of a query, which holds as long as its source reads the same files."""
    rows, query = context.sources.frames[name], bound.query
    key = (name, query.time, query.where, query.keys, query.calls, query.window)
    known = context.pilots.get(key)
    if known is None or known[0] is not rows:
        context.pilots[key] = known = (rows, look_at_answers(rows, bound))
    return known[1]


def weigh_needs(name: str, names: tuple[str, ...], bounded: Sequence[BoundQuery], pilots: dict[str, Pilot],
                least: float) -> SourceShedding:
    """The share that all bounds allow, and who asks for most."""
    needs = {b.query.name: pilots[b.query.name].needed(b.query.shed or 0.0) for b in bounded}
    most = max(bounded, key=lambda bound: needs[bound.query.name])
    pilot, bound = pilots[most.query.name], most.query.shed or 0.0
    share = max(least, needs[most.query.name])
    if share <= MOST:
        return SourceShedding(name, share, names, f"query '{most.query.name}' stays within {percent(bound)} with that.")
    return SourceShedding(name, 1.0, names, cannot_meet(most.query.name, bound, pilot, needs[most.query.name]))


def cannot_meet(query: str, bound: float, pilot: Pilot, needed: float) -> str:
    """Why no row is dropped."""
    if not pilot.answers:
        return f"query '{query}' has no answer that would tell how many rows it needs."
    if pilot.variance == inf:
        return (f"no share keeps query '{query}' within {percent(bound)}: some of its sums are about zero, infinite or "
                "NaN, so that any error is a great part of them.")
    if needed < 0.995:
        return f"query '{query}' needs {percent(needed)} of them to stay within {percent(bound)}, which saves nothing."
    return (f"no share keeps query '{query}' within {percent(bound)}: one answer in twenty is made of "
            f"{pilot.rows:,.0f} rows or fewer.")


def first_share(context: Context, name: str, queries: Sequence[BoundQuery]) -> SourceShedding:
    """How much of a source a stream reads when it begins: nobody knows yet what a bound needs."""
    names, drop, exact = opted_names(queries), context.sources[name].drop, exact_among(queries, name)
    bounded = [bound.query.name for bound in queries if bound.query.shed not in (None, inf)]
    if exact:
        return SourceShedding(name, 1.0, names, pinned(exact))
    if drop and bounded:
        raise PlanError(f"source '{name}' drops {percent(drop)} of its rows, and query '{bounded[0]}' has an error "
                        "bound: before rows come nobody can tell whether it is kept. Leave out drop=, or the bound.")
    if drop:
        return SourceShedding(name, 1 - drop, names, f"drop={drop:g} of the source.")
    return SourceShedding(name, 1.0, names, "rows are dropped when the stream does not keep up.")


def pinned(exact: Sequence[str]) -> str:
    """Who needs all rows."""
    more = f" and {len(exact) - SHOWN} more" if len(exact) > SHOWN else ""
    verbs = ("accept", "read") if len(exact) > 1 else ("accepts", "reads")
    return f"{', '.join(exact[:SHOWN])}{more} {verbs[0]} no error, and {verbs[1]} all rows anyway."


def opted_names(queries: Sequence[BoundQuery]) -> tuple[str, ...]:
    """The names of those that accept an error."""
    return tuple(bound.query.name for bound in queries if bound.weighted is not None)


def behind_box(context: Context, bound: BoundQuery, boxes: Mapping[str, str | Join],
               made: dict[str, SourceShedding]) -> BoundQuery:
    """A query over the drop box of its source, if there is one: its calls are those of weighed rows."""
    box = boxes.get(bound.query.source)
    if box is None:
        return bound
    if isinstance(box, Join):
        return behind_boxes(bound, box)
    assert bound.weighted is not None
    found = replace(bound, query=replace(bound.query, source=box), calls=bound.weighted)
    known = context.sizes.of(bound)
    if known is not None:
        share = made[bound.query.source].share
        context.sizes.measured[scan_key(found)] = replace(known, rows=max(1, round(known.rows * share)))
    return found


def look_at_queries(context: Context, workload: Workload, newest: float) -> list[SheddableQuery]:
    """What the controller of a stream must know of its queries: of how many rows their answers are made, by the last
    windows before the newest event time, which error they accept, and how long they may wait."""
    found, pilots = [], {key: look_at_last(context, one, newest) for key, one in together(context, workload).items()}
    for bound in workload:
        query = bound.query
        source, pilot = context.sources.base_of(query.source), pilots.get(answer_key(bound))
        bounds = (query.shed if pilot and pilot.answers and pilot.variance < inf else None,
                  None if query.every is None else query.every / 1_000_000)
        rows, variance = (pilot.rows, pilot.variance) if pilot and bounds[0] else (1.0, 1.0)
        found.append(SheddableQuery(query.name, source, max(rows, 1.0), *bounds, skew=max(variance * rows, 1e-9)))
    return found


def answer_key(bound: BoundQuery) -> tuple:
    """What answers are made of the same rows have in common."""
    query = bound.query
    return query.source, query.time, query.where, query.keys, query.window


def together(context: Context, workload: Workload) -> dict[tuple, BoundQuery]:
    """Queries with bounds behind drop boxes, those of the same rows as one with all of their calls: one look serves all
    of them, and what one of them needs is at most what all need."""
    found: dict[tuple, BoundQuery] = {}
    for bound in workload:
        if context.sources[bound.query.source].behind is not None and bound.query.shed not in (None, inf):
            before = found.setdefault(answer_key(bound), bound)
            calls = tuple(dict.fromkeys((*before.query.calls, *bound.query.calls)))
            found[answer_key(bound)] = replace(before, query=replace(before.query, calls=calls))
    return found


def look_at_last(context: Context, bound: BoundQuery, newest: float) -> Pilot | None:
    """The pilot of a query over the last rows of a source; None where these cannot be read as a table."""
    source = context.sources.base_of(bound.query.source)
    if context.sources.frames[source].isStreaming:
        return None
    context.sources.refresh([source])
    return look(last_rows(context.sources.frames[source], bound, newest), bound, 1)


def refuse_dropping(context: Context, workload: Workload, what: str) -> None:
    """Raise where a source drops rows that something needs; an error bound alone allows all rows to be read."""
    for name in dict.fromkeys(name for bound in workload for name in bound.query.inputs):
        if context.sources[name].drop:
            dropped = percent(context.sources[name].drop)
            raise RunError(f"source '{name}' drops {dropped} of its rows, and {what}: add the source without drop= for "
                           "that.")
