"""Changing the queries of a stream that runs: at which boundary, whether a scan can take the change, and its page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from weft.errors import RunError
from weft.final.state.changes import Boundary, GroupingContent, GroupingHistory, change_history, list_window
from weft.io.files import list_entries, open_filesystem
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage
from weft.model.window import Window
from weft.spark.stream.buckets import KeptBuckets, plan_buckets, plan_contents, spread_buckets
from weft.spark.stream.checkpoint import BACKFILL, Checkpoint, joined_state, load_history, state_of
from weft.spark.stream.join import join_of, joins_streams
from weft.spark.stream.partial import is_cut_in_workers
from weft.spark.stream.start import SCAN

# Up to when windows, as texts, of each grouping, by its id, were answered by queries that others replace.
Answered = Mapping[str, Mapping[str, int]]


def last_number(checkpoint: str, scan: str, log: str) -> int | None:
    """The number of the last trigger in one of Spark's logs of a scan, `offsets` or `commits`."""
    files, root = open_filesystem(checkpoint)
    names = (info.base_name for info in list_entries(files, f"{root}/{SCAN}{scan}/{log}"))
    return max((int(name) for name in names if name.isdigit()), default=None)


def read_log(checkpoint: str, scan: str, log: str, number: int) -> dict[str, Any]:
    """What Spark's log of a scan says of a trigger: its second line is JSON."""
    files, root = open_filesystem(checkpoint)
    with files.open_input_stream(f"{root}/{SCAN}{scan}/{log}/{number}") as source:
        return json.loads(source.read().decode().splitlines()[1])


def is_settled(checkpoint: str, scan: str, begun: int) -> bool:
    """Whether a scan that delivers nothing at the moment stands between two triggers: all that it has begun are done,
    or all but one of which nothing is delivered. That one follows the last that this process has begun to deliver: one
    that an earlier process has begun may be half delivered, and is repeated as it was."""
    done = last_number(checkpoint, scan, "commits")
    return done == begun or last_number(checkpoint, scan, "offsets") == done


def last_done(checkpoint: str, scan: str, begun: int) -> int | None:
    """When the last trigger of a stopped scan that is done began, in milliseconds since 1970; None where something of a
    later one may be delivered. `begun` is the last that this process has begun to deliver."""
    try:
        done = last_number(checkpoint, scan, "commits")
        return None if done != begun else int(read_log(checkpoint, scan, "offsets", begun)["batchTimestampMs"])
    except (OSError, KeyError, ValueError, IndexError):
        return None


def read_boundary(checkpoint: str, scan: str, delay: int) -> Boundary | None:
    """The boundary after the last trigger of a scan that is done; None where there was none yet. Rows may be so many
    milliseconds late, so none that was seen is later than the next watermark by more."""
    done = last_number(checkpoint, scan, "commits")
    if done is None:
        return None
    try:
        until = int(read_log(checkpoint, scan, "offsets", done)["batchWatermarkMs"])
        following = int(read_log(checkpoint, scan, "commits", done)["nextBatchWatermarkMs"])
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise RunError(f"what Spark wrote of trigger {done} of {SCAN}{scan} in the checkpoint '{checkpoint}' cannot be "
                       f"read ({error}), so the stream cannot be changed: stop it and start it again.") from error
    return Boundary(done + 1, until * 1000, (following + delay + 1) * 1000)


def takes_change(old: StageGraph, new: StageGraph, ansi: bool) -> bool:
    """Whether the state of a scan can serve other queries: its slices mean the same, what its queries read is still
    there, what Spark itself keeps is the same to the last column, and Spark's logs tell what it has answered."""
    if joins_streams(join_of(new)):
        return False
    if new.root.id != old.root.id or new.root.stage.counts_rows or not same_cut(old, new):
        return False
    before, now = plan_contents(old, ansi), plan_contents(new, ansi)
    if not set(now) <= set(before):
        return False
    if is_cut_in_workers(old.root.stage):
        stay = set(old.queries()) & set(new.queries())
        return plan_columns(old.narrow(stay), ansi) <= set(new.root.holds) if stay else True
    return all(now[id].columns <= before[id].columns for id in now)


def same_cut(old: StageGraph, new: StageGraph) -> bool:
    """Whether slices are made by whom they were, and whether Spark keeps the same where that is Spark or a join."""
    in_workers = is_cut_in_workers(old.root.stage)
    if in_workers != is_cut_in_workers(new.root.stage) or joined_state(old) != joined_state(new):
        return False
    return old.root.stage.marking == new.root.stage.marking and (in_workers or old.root.holds == new.root.holds)


def plan_columns(scan: StageGraph, ansi: bool) -> set[str]:
    """The columns that the queries of a scan read."""
    return {name for content in plan_contents(scan, ansi).values() for name in content.columns}


def query_place(scan: StageGraph, name: str) -> tuple[str, str]:
    """The grouping that a query of a scan reads, by its id, and its window as a text."""
    return next((scan.slices_of(answer).id, list_window(asked.window))
                for answer in scan.of(AnswerStage) for asked in answer.stage.queries if asked.name == name)


def answered_until(page: Checkpoint, scan: StageGraph, name: str, at: Boundary | None) -> int:
    """Up to when windows were answered by a query of a scan that stands at a boundary, or by one that it has replaced,
    whose answers it does not give again though it may still have to read what they were made of."""
    grouping, window = query_place(scan, name)
    found = page.state[scan.root.id]["groupings"][grouping].get("history")
    return max(at.until if at else 0, load_history(found).windows.get(window, 0) if found else 0)


def would_repeat(page: Checkpoint, scan: StageGraph, name: str, until: int, at: Boundary | None) -> bool:
    """Whether a query that joins a scan would answer windows that end up to a time again: the scan has not come so far,
    and answers the same window for others, so that it answers it from one time on for all."""
    grouping, window = query_place(scan, name)
    kept = page.state[scan.root.id]["groupings"][grouping]
    known = load_history(kept["history"]).windows.get(window, 0) if "history" in kept else 0
    return window in kept["windows"] and max(known, at.until if at else 0) < until


def change_state(page: Checkpoint, old: StageGraph, new: StageGraph, at: Boundary | None, after: Answered,
                 ansi: bool) -> dict[str, Any]:
    """What a page says of a scan whose queries change at a boundary."""
    before, now, kept = plan_contents(old, ansi), plan_contents(new, ansi), page.state[old.root.id]
    groupings = kept["groupings"]
    buckets = {id: groupings[id]["buckets"] for id in now}
    state = state_of(new, buckets)
    histories = {id: next_history(page, old, new, id, before.get(id), now[id], at, after.get(id, {}), ansi)
                 for id in now}
    gone = [bucket for id, found in groupings.items() if id not in now for bucket in found["buckets"]]
    read_first = {BACKFILL: kept[BACKFILL]} if BACKFILL in kept else {}
    return {**state, **read_first, "version": page.plan_version + 1,
            "since": at.trigger if at else 0, "retired": sorted({*kept.get("retired", ()), *gone}),
            "groupings": {id: {**found, "history": histories[id]} for id, found in state["groupings"].items()}}


def next_history(page: Checkpoint, old: StageGraph, new: StageGraph, id: str, before: GroupingContent | None,
                 now: GroupingContent, at: Boundary | None, after: Mapping[str, int], ansi: bool) -> dict[str, Any]:
    """The history of a grouping after a change, as plain values."""
    found = page.state[old.root.id]["groupings"][id].get("history")
    history = load_history(found) if found else GroupingHistory()
    if not history.sizes:
        history = replace(history, sizes=level_sizes(old, id, ansi, GroupingHistory()))
    made = change_history(history, before, now, at, history.sizes if at else (), after)
    return asdict(replace(made, sizes=level_sizes(new, id, ansi, made)))


def level_sizes(scan: StageGraph, id: str, ansi: bool, history: GroupingHistory) -> tuple[int, ...]:
    """The spans of the blobs of a grouping."""
    every = {node.id: (0,) for node in scan.slices}
    plans = plan_buckets(scan, KeptBuckets(every, {id: history}), ansi)
    found = zip((node.id for node in scan.slices if scan.trees(node.id)), plans, strict=True)
    return next(plan.node.levels.sizes for node, plan in found if node == id)


def new_state(page: Checkpoint, scan: StageGraph, version: int, after: Answered, ansi: bool) -> dict[str, Any]:
    """What a page says of a scan that is new; windows in `after` are answered where they end after a time, because a
    query of the same name has answered those before."""
    state = state_of(scan, spread_buckets(scan, page.partitions))
    if not after:
        return {**state, "version": version}
    sizes = {id: level_sizes(scan, id, ansi, GroupingHistory()) for id in state["groupings"]}
    groupings = {id: {**found, "history": asdict(GroupingHistory(sizes[id], None, {}, after.get(id, {})))}
                 for id, found in state["groupings"].items()}
    return {**state, "groupings": groupings, "version": version}


def first_starts(page_state: Mapping[str, Any], scan: StageGraph, names: Sequence[str], ansi: bool,
                 until: int | None) -> dict[str, int | None]:
    """The start of the first window of queries that is whole, None where all are; those that ended `until` a time were
    answered, or not, before the queries came."""
    histories = {id: load_history(found["history"]) for id, found in page_state["groupings"].items()
                 if "history" in found}
    every = {node.id: (0,) for node in scan.slices}
    found: dict[str, int | None] = {}
    for plan in plan_buckets(scan, KeptBuckets(every, histories), ansi):
        for part in plan.node.parts:
            begins = {(number, place): start for number, place, start in part.final.first}
            for asked in scan[part.id].stage.queries:  # type: ignore[union-attr]
                number = asked.predicate if part.final.predicates else 0
                start = begins.get((number, part.final.windows.index(asked.window)))
                if asked.name in names:
                    found[asked.name] = window_from(asked.window, start, until)
    return found


def window_from(window: Window, start: int | None, until: int | None) -> int | None:
    """The start of the first window that does not start before a time and ends after another, if either is given."""
    bounds = [] if start is None else [start]
    bounds += [] if until is None else [until - window.range + 1]
    return -((window.phase - max(bounds)) // window.slide) * window.slide + window.phase if bounds else None
