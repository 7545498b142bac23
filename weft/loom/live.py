"""Queries that come and go while a stream runs: a change is made at a trigger boundary.

A change is proposed as a plan, checked against what the stream's state can serve, and made. A scan whose Spark query
serves the new plan as it is, is held between two triggers, and its workers find the new plan at the next one. Others
are stopped, a trigger that they had begun is finished under the old plan, and they start again. In between, the
checkpoint's page gets the new plan. The page is what counts: before it is written nothing has changed, afterwards all
has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

from weft.final.state.changes import Boundary
from weft.io.row_source import History
from weft.loom.history import find_history, never_null
from weft.loom.live_plan import LivePlanner, Proposal, key_of
from weft.loom.sizes import model_of
from weft.loom.triggers import choose_triggers
from weft.loom.weaver import TOLERANCE, Weaver
from weft.model.graph import StageGraph
from weft.model.live_change import LiveChange
from weft.optimize.live import drift_of, reweave_trees
from weft.spark.stream.backfill import copy_history, find_cut, remove_histories
from weft.spark.stream.checkpoint import BACKFILL, MOST_CHANGES, Checkpoint, nest_scan, open_checkpoint, query_meaning
from weft.spark.stream.flow import Flow
from weft.spark.stream.handle import RunningScan, Stream, Unchanged
from weft.spark.stream.live import (
    answered_until,
    change_state,
    first_starts,
    is_settled,
    new_state,
    query_place,
    read_boundary,
)
from weft.spark.stream.outputs import outputs_for
from weft.spark.stream.scan_plans import UNKNOWN, NextPlan
from weft.spark.stream.sinks import require_free
from weft.spark.stream.start import SCAN, StreamOptions, build_early, start_stream
from weft.stages.build import projection
from weft.stages.diff import diff
from weft.stages.explain import Explanation
from weft.stages.pins import pin_plan

if TYPE_CHECKING:
    from weft.loom.plan import Plan
    from weft.loom.stream import Launch

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LiveControl(LivePlanner):
    """Changes the queries of one running stream."""

    def __init__(self, stream: Stream, plan: Plan, page: Checkpoint, launch: Launch, wanted: StreamOptions,
                 trigger: str | None, tolerance: float = TOLERANCE):
        super().__init__(plan, page, launch, wanted)
        self.stream, self.trigger = stream, trigger
        self.weaver = Weaver(self, tolerance)
        self._one = RLock()  # a change is proposed to the plan that the one before has left

    @property
    def drift(self) -> float | None:
        """By how much the plan costs more than one of as many queries was expected to (000 Eq. 6)."""
        return drift_of(self.plan.breakdown.cost, curve_of(self.page), len(self.queries))

    def explain(self) -> Explanation:
        """The plan that runs now, with its drift."""
        return replace(self.plan.explain(), drift=self.drift, tolerance=self.weaver.tolerance)

    @property
    def has_ended(self) -> bool:
        """Whether the stream cannot be changed any more."""
        return self.stream.ending or not self.stream.isActive

    def preview(self, add: Mapping[str, str], drop: Sequence[str]) -> LiveChange:
        """What dropping and adding queries would do if it were done now."""
        with self.alone():
            found = self.choose_swaps(self.propose(add, drop, {}))
            return self.describe(found, self.next_page(found, self.boundaries(found)))

    def change(self, add: Mapping[str, str], drop: Sequence[str], every: Mapping[str, str],
               history: History | None = None) -> LiveChange:
        """Drop and add queries at the next trigger boundary; those that come may get the history of their sources."""
        with self.alone(), self.without_leavings():
            found = self.choose_swaps(self.propose(add, drop, every, history is not None))
            made = self.make(found if history is None else self.with_history(found, history))
        self.weaver.look()
        return made

    @contextmanager
    def without_leavings(self) -> Iterator[None]:
        """Within, an error before the page of a change is written leaves no copy of a history."""
        before = self.page.plan_version
        try:
            yield
        except BaseException:
            if not self.may_be_written(before):
                with suppress(OSError):
                    remove_histories(self.launch.checkpoint, self.page)
            raise

    def with_history(self, found: Proposal, history: History) -> Proposal:
        """The change with a copy of its history for every scan that comes with it."""
        self.guard(found)
        past: dict[str, dict[str, Any]] = {}
        reasons: list[str] = []
        for scan in (scan for scan in found.plan.stages.scans if scan.root.id in found.fresh):
            stage = scan.root.stage
            head = next(b.query for b in found.plan.workload if b.query.name in scan.queries())
            rows = find_history(self.context, head, history)
            cut = find_cut(stage.source, rows, stage, self.wanted.max_clock_skew, self.settled(stage.source),
                           never_null(self.context, stage.source))
            folder = copy_history(stage.source, rows, stage, cut, self.launch.checkpoint)
            past[scan.root.id] = {BACKFILL: {"folder": folder, "cut": cut}}
            reasons.append(f"Rows of '{stage.source}' before {(EPOCH + timedelta(microseconds=cut)).isoformat()} are "
                           "those of the history.")
        return replace(found, past=past, reasons=(*found.reasons, *dict.fromkeys(reasons)))

    def settled(self, source: str) -> int | None:
        """Up to when windows over a source have been closed, by the scan that is furthest; None where none has been."""
        keys = [key_of(scan) for scan in self.plan.shared.scans if scan.head.query.source == source]
        found = [read_boundary(self.launch.checkpoint, key, self.delay_of(key)) for key in keys]
        return max((boundary.until for boundary in found if boundary and boundary.until > 0), default=None)

    def reweave(self) -> LiveChange:
        """Weave the trees of every grouping anew."""
        with self.alone():
            self.require_changeable({}, ())
            return self.weave()

    def alone(self) -> AbstractContextManager[Any]:
        """What one change holds at a time. Raises in a thread that delivers: who holds it may wait for that."""
        for scan in self.stream.scans:
            if scan.deliverer:
                scan.deliverer.require_outside()
        return self._one

    def weave(self) -> LiveChange:
        """Weave the trees anew, where a scan's state takes it and it costs less."""
        plan = self.plan
        woven = reweave_trees(plan.shared, model_of(plan.workload, self.context.sizes.samples), projection)
        pairs = zip(plan.shared.scans, woven.scans, strict=True)
        shared = replace(woven, scans=tuple(new if new == old or self.takes(old, new) else old for old, new in pairs))
        moved = tuple(key_of(new) for old, new in zip(plan.shared.scans, shared.scans, strict=True) if old != new)
        made = type(plan).of(self.context, plan.workload, shared, plan.shedding)
        saved = plan.breakdown.cost - made.breakdown.cost
        if not moved or saved <= 0:
            reason = "the queries are woven as they would be now, as far as their slices allow."
            return self.describe(Proposal(plan, (), (), (), (), {}, {}, (reason,)), self.page)
        reason = f"woven anew, {saved:.3g} s less by Weft's model for the time that it plans for."
        return self.make(self.choose_swaps(Proposal(made, moved, (), (), (), {}, {}, (reason,))), woven=True)

    def choose_swaps(self, found: Proposal) -> Proposal:
        """The change with those scans swapped whose Spark queries serve it as they are."""
        graphs = {scan.root.id: scan for scan in found.plan.stages.scans}
        triggers = self.wanted_for(found.plan)
        refused = {key: self.why_restart(graphs[key], triggers.trigger_of(f"{SCAN}{key}")) for key in found.restarted}
        told = [f"The Spark query of {SCAN}{key} {f'restarts: {why}' if why else 'goes on'}."
                for key, why in refused.items()]
        return replace(found, restarted=tuple(key for key, why in refused.items() if why),
                       swapped=tuple(key for key, why in refused.items() if not why), reasons=(*found.reasons, *told))

    def why_restart(self, scan: StageGraph, trigger: str | None) -> str:
        """Why a scan must be started again to serve other queries; nothing where it need not."""
        plans = self.running(scan.root.id).plans
        if plans is None:
            return "it does not cut its rows in workers of this machine"
        return plans.why_not(scan, trigger)

    def running(self, key: str) -> RunningScan:
        """A scan that runs."""
        return next(scan for scan in self.stream.scans if scan.name == f"{SCAN}{key}")

    def wanted_for(self, plan: Plan) -> StreamOptions:
        """How a plan shall run."""
        return replace(self.wanted, triggers=choose_triggers(plan, self.trigger))

    def boundaries(self, found: Proposal) -> dict[str, Boundary | None]:
        """Where the scans that restart or go stand now."""
        return {key: read_boundary(self.launch.checkpoint, key, self.delay_of(key))
                for key in (*found.changed, *found.gone)}

    def next_page(self, found: Proposal, at: Mapping[str, Boundary | None], woven: bool = False) -> Checkpoint:
        """The page with a change that is made at these boundaries."""
        page, plan, ansi, version = self.page, found.plan, self.context.ansi, self.page.plan_version + 1
        old, new = ({scan.root.id: scan for scan in each.stages.scans} for each in (self.plan, plan))
        state = {**{key: page.state[key] for key in new if key in page.state},
                 **{key: change_state(page, old[key], new[key], at[key], self.answered(found, new[key], at), ansi)
                    for key in found.changed},
                 **{key: {**new_state(page, new[key], version, self.answered(found, new[key], at), ansi),
                          **found.past.get(key, {})} for key in found.fresh}}
        ghosts = [bound for scan in plan.shared.scans for node in scan.nodes for bound in node.ghosts]
        kept = (*plan.workload, *ghosts)
        arrivals = [source.stream for source in plan.sources]
        around = replace(page.around, sources={**page.around.sources, **{a.name: a.place for a in arrivals}})
        cost = [(len(plan.workload), plan.breakdown.cost)] if woven or not page.curve else []
        if not page.curve:
            cost = [(len(self.plan.workload), self.plan.breakdown.cost), *(cost if woven else [])]
        change = {"version": version, "kind": found.kind, "at": datetime.now(UTC).isoformat(),
                  "reason": " ".join(found.reasons),
                  "triggers": {key: at[key].trigger if at.get(key) else 0  # type: ignore[union-attr]
                               for key in (*found.changed, *found.fresh)},
                  "until": {key: boundary.until for key, boundary in at.items() if boundary},
                  "added": {b.query.name: b.query.text for b in plan.workload if b.query.name in found.adding},
                  "dropped": dict(found.dropped)}
        return replace(
            page, plan_version=version, state={key: state[key] for key in new}, around=around,
            queries={b.query.name: query_meaning(b.query, self.context.checker.identity) for b in plan.workload},
            scans=[nest_scan(scan) for scan in pin_plan(plan.shared, plan.stages).scans],
            delays={**page.delays, **self.delays(plan)}, started=page.started or page.queries,
            texts={b.query.name: b.query.text for b in kept},
            every={b.query.name: b.query.every for b in kept if b.query.every},
            changes=[*page.changes, change][-MOST_CHANGES:], curve=[*page.curve, *cost])

    def delays(self, plan: Plan) -> dict[str, int]:
        """How late rows of a plan's sources may come."""
        names = dict.fromkeys(name for bound in plan.workload for name in bound.query.streams)
        return {name: self.context.sources[name].stream.delay(self.context.spark) for name in names}

    def answered(self, found: Proposal, scan: StageGraph,
                 at: Mapping[str, Boundary | None]) -> dict[str, dict[str, int]]:
        """Up to when windows of a scan were answered by queries that its own replace, by groupings."""
        old = {each.root.id: each for each in self.plan.stages.scans}
        made: dict[str, dict[str, int]] = {}
        for name in (name for name in scan.queries() if name in found.replaced):
            key, (grouping, window) = found.replaced[name], query_place(scan, name)
            if until := answered_until(self.page, old[key], name, at[key]):
                made.setdefault(grouping, {})[window] = max(until, made.get(grouping, {}).get(window, 0))
        return made

    def describe(self, found: Proposal, page: Checkpoint) -> LiveChange:
        """What a change does."""
        told = diff(self.plan.stages, found.plan.stages)
        starts: dict[str, int | None] = {}
        for scan in found.plan.stages.scans:
            if scan.root.id in (*found.changed, *found.fresh) and not scan.root.stage.counts_rows:
                until = page.changes[-1]["until"].get(scan.root.id) if page.changes else None
                starts |= first_starts(page.state[scan.root.id], scan, found.adding, self.context.ansi, until)
        whole = {name: None if starts.get(name) is None else EPOCH + timedelta(microseconds=starts[name] or 0)
                 for name in found.adding}
        drift = drift_of(found.plan.breakdown.cost, curve_of(page), len(found.plan.workload))
        return LiveChange(found.kind, tuple(b.query.name for b in found.plan.workload), whole,
                          (*told.nodes.kept, *told.columns.kept), (*told.nodes.added, *told.columns.added),
                          (*told.nodes.dropped, *told.columns.dropped), " ".join(found.reasons), drift)

    def make(self, found: Proposal, woven: bool = False) -> LiveChange:
        """Make a change, or raise an error: before the page is written all is left as it was, afterwards the stream has
        failed, and a start from its checkpoint makes the change."""
        self.guard(found)
        built, before = self.build_early(found), self.page.plan_version
        made: list[LiveChange] = []

        def act(stopped: tuple[RunningScan, ...]) -> Sequence[RunningScan]:
            try:
                for scan in stopped:
                    begun = scan.plans.begun if scan.plans else UNKNOWN
                    if not is_settled(self.launch.checkpoint, scan.name.removeprefix(SCAN), begun) and scan.finish:
                        scan.finish()
                page = self.next_page(found, self.boundaries(found), woven)
                made.append(self.describe(found, page))
                return self.start(found, page.completed(made[0].to_dict()["complete_from"]), built)
            except BaseException as error:  # interrupts, too
                if not self.may_be_written(before):
                    raise Unchanged(error) from error
                self.break_swapped(found)
                raise

        held = {f"{SCAN}{key}": partial(is_settled, self.launch.checkpoint, key) for key in found.swapped}
        self.stream.swap({f"{SCAN}{key}" for key in (*found.restarted, *found.gone)}, held, act)
        self.stream.tell_change()
        return made[0]

    def may_be_written(self, before: int) -> bool:
        """Whether the checkpoint's page is of a later version, or cannot be read."""
        try:
            written = open_checkpoint(self.launch.checkpoint)
        except BaseException:  # whatever it is, the error that was there before is told
            return True
        return written is not None and written.plan_version > before

    def break_swapped(self, found: Proposal) -> None:
        """Let no scan of those that are held go on, under the old plan or ahead of the others."""
        for key in found.swapped:
            if plans := self.running(key).plans:
                plans.broken = True

    def guard(self, found: Proposal) -> None:
        """Raise where the plan of a change must not be started."""
        from weft.loom.stream import require_start

        require_start(self.context, found.plan.workload, self.launch.checkpoint, self.wanted.sink, self.launch.letters)
        require_free(self.wanted.sink, self.page.identity, found.adding)
        self.context.checker.settings.check()

    def build_early(self, found: Proposal) -> dict[str, Flow]:
        """What Spark will run of scans that restart, built while they still run; their plans are made when it is known
        at which boundary."""
        plan, context = found.plan, self.context
        scans = [scan for scan in plan.stages.scans
                 if scan.root.id in found.restarted and self.running(scan.root.id).plans is not None]
        if not scans:
            return {}
        page = self.next_page(found, self.boundaries(found))
        arriving = {source.name: source.stream for source in plan.sources}
        return build_early(context.spark, scans, arriving, self.wanted_for(plan), page, context.ansi,
                           context.sources.frames)

    def start(self, found: Proposal, page: Checkpoint, built: Mapping[str, Flow]) -> Sequence[RunningScan]:
        """Write the page of a change and start what it touches."""
        plan, context = found.plan, self.context
        arriving = {source.name: source.stream for source in plan.sources}
        names = [f"{SCAN}{key}" for key in (*found.restarted, *found.fresh)]
        swaps = [self.prepare_swap(scan, page) for scan in plan.stages.scans if scan.root.id in found.swapped]
        started = start_stream(context.spark, plan.shared, plan.stages, arriving, self.wanted_for(plan), page,
                               context.ansi, context.sources.frames, names, lambda: put_in_place(swaps), built)
        self.plan, self.page = replace(plan, shared=pin_plan(plan.shared, plan.stages)), page
        self.stream.plan = self.plan.shared
        return (*(replace(scan, queries=next_plan.queries, labels=next_plan.labels)
                  for scan, next_plan in swaps), *started.scans)

    def prepare_swap(self, scan: StageGraph, page: Checkpoint) -> tuple[RunningScan, NextPlan]:
        """A scan that runs, and its next plan, written where no worker sees it yet."""
        running = self.running(scan.root.id)
        assert running.plans is not None
        choose = outputs_for(self.context.spark, self.wanted.sink, running.name)
        return running, running.plans.prepare(scan, page.kept_buckets(scan), self.context.ansi, choose,
                                              page.plan_version)


def put_in_place(swaps: Sequence[tuple[RunningScan, NextPlan]]) -> None:
    """Let scans that are held run under their next plans."""
    for scan, plan in swaps:
        assert scan.plans is not None
        scan.plans.put_in_place(plan)


def curve_of(page: Checkpoint) -> tuple[tuple[int, float], ...]:
    """The costs of plans made from scratch, by their numbers of queries."""
    return tuple((int(queries), float(cost)) for queries, cost in page.curve)
