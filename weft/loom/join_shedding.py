"""Drop boxes below a join: which of its inputs stand behind one in a batch, by keys or by rows, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import inf
from operator import or_

from weft.aggregates.joined import SIGNS
from weft.aggregates.weighted import WEIGHT
from weft.io.drop_boxes import DropBox, Step
from weft.loom.context import Context
from weft.loom.source_shedding import MOST, SourceShedding, put_once
from weft.model.join import Join, backquoted
from weft.model.workload import BoundQuery
from weft.optimize.shed.join_boxes import (
    JoinBoxes,
    UnitNeeds,
    equal_to,
    fixed_boxes,
    one_key,
    read_by,
    refuse_errors,
    refuse_weights,
    row_shares,
)
from weft.optimize.shed.reasons import percent
from weft.spark.statistics.join_pilot import UnitPilot, look_at_units

# Types of keys that are equal only where their hashes are.
HASHED = ("tinyint", "smallint", "int", "bigint", "string", "date", "timestamp", "timestamp_ntz", "boolean", "binary")
Pilots = dict[str, UnitPilot]


def choose_boxes(context: Context, queries: Sequence[BoundQuery]) -> tuple[JoinBoxes | None, str]:
    """The drop boxes of the join of queries that all accept errors, none where nothing is to be dropped, and why."""
    join = queries[0].query.join
    assert join is not None
    if any(context.sources.frames[name].isStreaming for name in join.sources):
        return None, "how many rows its answers are made of shows when rows come."
    return dropped_boxes(context, join, queries) or bounded_boxes(context, join, queries)


def dropped_boxes(context: Context, join: Join, queries: Sequence[BoundQuery]) -> tuple[JoinBoxes, str] | None:
    """The boxes of sources of a join that drop a share of their rows; None where none does."""
    dropped = {name: context.sources[name].drop for name in join.sources if context.sources[name].drop}
    if not dropped:
        return None
    asked = [bound.query for bound in queries]
    found = safely(context, join, fixed_boxes(join, dropped, asked))
    refuse_errors(asked, found)
    return found, f"{found.words(join)}, by drop= of {' and '.join(dropped)}."


def safely(context: Context, join: Join, boxes: JoinBoxes) -> JoinBoxes:
    """The boxes, by rows where equal keys may have hashes that differ: two texts that equal one number of a table."""
    kinds = {context.sources.frames[join.inputs[number].source].selectExpr(sql).schema[0].dataType.simpleString()
             for number, sql in equal_to(join, boxes.by)} if boxes.by else set()
    return boxes if len(kinds) == 1 and kinds <= {*HASHED} else replace(boxes, by=())


def bounded_boxes(context: Context, join: Join, queries: Sequence[BoundQuery]) -> tuple[JoinBoxes | None, str]:
    """The boxes that keep every error bound: by keys where that is legal and enough, else by rows."""
    by = one_key(join, read_by(bound.query for bound in queries))
    keys = safely(context, join, JoinBoxes(tuple((number, 1.0) for number in join.streams), by))
    if keys.by:
        pilots = look_at_all(context, join, keys, keys.weighed[0], queries)
        share = together(queries, pilots).share()
        if share <= MOST:
            found = replace(keys, shares=tuple((number, share) for number, _ in keys.shares))
            return found, within(found, join, queries, pilots)
    return boxes_by_rows(context, join, queries)


def boxes_by_rows(context: Context, join: Join, queries: Sequence[BoundQuery]) -> tuple[JoinBoxes | None, str]:
    """Boxes that keep each row for itself: of both streams of a join of two; of others errors are known only where one
    input is behind a box, so the one with most rows is."""
    rows = {number: float(context.sources.frames[join.inputs[number].source].count()) for number in join.streams}
    both = len(join.inputs) == len(join.streams) == 2
    numbers = join.streams if both else (max(join.streams, key=lambda number: rows[number]),)
    whole = JoinBoxes(tuple((number, 1.0) for number in numbers))
    pilots = [look_at_all(context, join, whole, number, queries) for number in numbers]
    needs = [together(queries, each) for each in pilots]
    shares: tuple[float, ...] = (needs[0].share(),)
    if both:
        joined = max(each.rows for each in pilots[0].values())
        shares = row_shares(needs[0], needs[1], (rows[numbers[0]], rows[numbers[1]], joined))
    found = JoinBoxes(tuple((n, share) for n, share in zip(numbers, shares, strict=True) if share <= MOST))
    if found.shares:
        return found, within(found, join, queries, pilots[0])
    name, bound = most_demanding(queries, pilots[0])
    few = min(each.units for part in pilots for each in part.values())
    return None, (f"no share keeps query '{name}' within {percent(bound)}: one answer in twenty is made of {few:,.0f} "
                  "rows of a source or fewer, or of some that outweigh all others.")


def within(boxes: JoinBoxes, join: Join, queries: Sequence[BoundQuery], pilots: Pilots) -> str:
    """Why so much is kept."""
    name, bound = most_demanding(queries, pilots)
    return f"{boxes.words(join)}; query '{name}' stays within {percent(bound)} with that."


def most_demanding(queries: Sequence[BoundQuery], pilots: Pilots) -> tuple[str, float]:
    """The query that needs most, and its bound."""
    most = max(queries, key=lambda bound: pilots[bound.query.name].variance / (bound.query.shed or inf) ** 2)
    return most.query.name, most.query.shed or 0.0


def together(queries: Sequence[BoundQuery], pilots: Pilots) -> UnitNeeds:
    """What all bounds need."""
    return reduce(or_, (pilots[bound.query.name].needs(bound.query.shed or 0.0) for bound in queries))


def look_at_all(context: Context, join: Join, boxes: JoinBoxes, number: int,
                queries: Sequence[BoundQuery]) -> Pilots:
    """The pilots of queries over a join, by units of an input; each holds as long as the join reads the same rows."""
    rows, found = context.sources.frames[join.name], {}
    whole = thin_join(context, join, boxes)
    unit = backquoted(f"{join.inputs[number].alias}.{SIGNS}")
    for bound in queries:
        query = bound.query
        key = (whole.name, unit, query.time, query.where, query.keys, query.calls, query.window)
        known = context.join_pilots.get(key)
        if known is None or known[0] is not rows:
            context.join_pilots[key] = known = (rows, look_at_units(context.sources.frames[whole.name], unit, bound))
        found[query.name] = known[1]
    return found


def thin_join(context: Context, join: Join, boxes: JoinBoxes) -> Join:
    """The join with inputs behind drop boxes, which is made known as a source."""
    by, inputs = dict(boxes.by), list(join.inputs)
    for number, share in boxes.shares:
        each = join.inputs[number]
        place = f"by {by[number]}" if boxes.by else f"of input {number}"
        name = f"{each.source} (keeps {share:.6g} {place})"
        put_once(context, name, DropBox((Step(0, share),), 0 if boxes.by else number, by.get(number)), each.source)
        told = (WEIGHT, SIGNS) if number in boxes.weighed else ()
        inputs[number] = replace(each, source=name,
                                 columns=(*each.columns, *((own, f"{each.alias}.{own}") for own in told)))
    thinned = replace(join, inputs=tuple(inputs))
    context.sources.thin(join, thinned)
    return thinned


def behind_boxes(bound: BoundQuery, thinned: Join) -> BoundQuery:
    """A query over the thinned join: its calls are those of weighed rows."""
    assert bound.weighted is not None
    return replace(bound, query=replace(bound.query, source=thinned.name, join=thinned), calls=bound.weighted)


def shed_join(context: Context, queries: Sequence[BoundQuery], names: tuple[str, ...],
              pinned: str | None) -> tuple[Join | None, SourceShedding]:
    """The join of queries behind drop boxes, none where all rows are read, and what is dropped."""
    join = queries[0].query.join
    assert join is not None
    boxes, reason = (None, pinned) if pinned else choose_boxes(context, queries)
    return put_boxes(context, join, boxes, names, reason)


def shed_stream_join(context: Context, queries: Sequence[BoundQuery],
                     names: tuple[str, ...]) -> tuple[Join | None, SourceShedding]:
    """The same of a stream, which drops what its sources drop, and nothing for an error bound: the state of a join has
    the rows that were kept, so what a bound needs is not known before they are gone."""
    join = queries[0].query.join
    assert join is not None
    none = (None, "a stream drops no rows of a join for an error bound: if it does not keep up, the lag grows.")
    boxes, reason = dropped_boxes(context, join, queries) or none
    return put_boxes(context, join, boxes, names, reason)


def put_boxes(context: Context, join: Join, boxes: JoinBoxes | None, names: tuple[str, ...],
              reason: str) -> tuple[Join | None, SourceShedding]:
    """The join behind boxes, if there are any, and what is dropped."""
    if boxes is None or not boxes.shares:
        return None, SourceShedding(join.name, 1.0, names, reason)
    refuse_weights(join.sources, boxes)
    kept = tuple((join.inputs[number].alias, share) for number, share in boxes.shares)
    return thin_join(context, join, boxes), SourceShedding(join.name, boxes.share, names, reason, kept)
