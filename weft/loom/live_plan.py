"""A change of a running stream's queries as a plan: which scans take it, which come and go, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any

from weft.errors import QueriesError, QueryError, RunError
from weft.io.sinks import FolderSink
from weft.loom.checks import check_queries
from weft.loom.context import Context
from weft.loom.history import keeps_past
from weft.loom.registry import fresh_as
from weft.loom.sizes import model_of
from weft.loom.sources import NAME
from weft.model.graph import StageGraph
from weft.model.live_change import FREE, RESTART, SWAP
from weft.model.plan import Scan, ScanPins, SharedPlan, Tree
from weft.model.window import Window
from weft.model.workload import BoundQuery, Workload
from weft.optimize.live import is_asked, join_candidates, remove_empty, remove_query, without_ghosts
from weft.slicing import find_slicer
from weft.spark.stream.checkpoint import VERSION, Checkpoint
from weft.spark.stream.join import joins_streams
from weft.spark.stream.live import answered_until, read_boundary, takes_change, would_repeat
from weft.spark.stream.sinks import FileSink
from weft.spark.stream.start import SCAN, StreamOptions
from weft.stages.build import projection
from weft.stages.pins import pin_plan

if TYPE_CHECKING:
    from weft.loom.plan import Plan
    from weft.loom.stream import Launch


@dataclass(frozen=True)
class Proposal:
    """A change as a plan: which scans restart, come and go, or are swapped, by their keys, and why it is done so.
    `dropped` has, for each query that goes, the key of the scan that it was in, and `replaced` those of them whose
    names others take. `past` has what scans that come read first, as pages say it."""

    plan: Plan
    restarted: tuple[str, ...]
    fresh: tuple[str, ...]
    gone: tuple[str, ...]
    adding: tuple[str, ...]
    dropped: Mapping[str, str]
    replaced: Mapping[str, str]
    reasons: tuple[str, ...]
    swapped: tuple[str, ...] = ()
    past: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def changed(self) -> tuple[str, ...]:
        """The scans that stay and get another plan."""
        return (*self.restarted, *self.swapped)

    @property
    def kind(self) -> str:
        """What it does to queries of Spark's."""
        return RESTART if self.restarted else SWAP if self.swapped else FREE


class LivePlanner:
    """Says what changes of one stream's queries would be."""

    def __init__(self, plan: Plan, page: Checkpoint, launch: Launch, wanted: StreamOptions):
        self.page, self.launch, self.wanted = page, launch, wanted
        self.plan = replace(plan, shared=pin_plan(plan.shared, plan.stages))

    @property
    def context(self) -> Context:
        """The session and sources that the stream was started with."""
        return self.plan.context

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries that run now."""
        return tuple(bound.query.name for bound in self.plan.workload)

    def propose(self, add: Mapping[str, str], drop: Sequence[str], every: Mapping[str, str],
                apart: bool = False) -> Proposal:
        """The change as a plan; raises where it cannot be made, and changes nothing. Queries that stand `apart` read
        no slices of queries that run."""
        self.require_changeable(add, drop)
        adding, version = self.bind(add, every), self.page.plan_version + 1
        before = {key_of(scan): scan for scan in self.plan.shared.scans}
        dropped = {name: self.key_with(name) for name in drop}
        replaced = {name: key for name, key in dropped.items() if name in add}
        self.require_outputs(adding, replaced)
        shared = self.without(drop, version)
        stay = tuple(b for b in self.plan.workload if b.query.name not in drop)
        reasons = [f"'{name}' goes." for name in drop if name not in add]
        for bound in adding:
            if apart:
                shared, reason = self.with_query_apart(shared, before, bound, (*stay, *adding), version, replaced)
            else:
                shared, reason = self.with_query(shared, before, bound, (*stay, *adding), version,
                                                 replaced.get(bound.query.name))
            reasons.append(reason)
        scans = remove_empty(shared).scans
        shared = replace(shared, scans=tuple(self.without_ghosts(scan, before) for scan in scans))
        now = {key_of(scan): scan for scan in shared.scans}
        plan = type(self.plan).of(self.context, (*stay, *adding), shared, self.plan.shedding)
        return Proposal(plan, tuple(key for key in now if key in before and now[key] != before[key]),
                        tuple(key for key in now if key not in before), tuple(key for key in before if key not in now),
                        tuple(add), dropped, replaced, tuple(reasons))

    def require_changeable(self, add: Mapping[str, str], drop: Sequence[str]) -> None:
        """Raise where the names are wrong, or nothing of this stream can be changed."""
        if self.page.begun < VERSION:
            raise RunError(f"the checkpoint '{self.launch.checkpoint}' was begun by an earlier version of Weft, whose "
                           "state does not say how it is laid out: to change queries, start with a new checkpoint.")
        self.require_sources()
        if self.page.shedding or any(b.query.shed is not None for b in self.plan.workload):
            raise RunError("rows of this stream may be dropped (SHED, drop=), and what was kept of them serves no "
                           "other queries: start those with a checkpoint of their own.")
        for name in drop:
            if name not in self.queries:
                near = get_close_matches(name, self.queries, 1)
                raise QueryError(name, "no query of this name runs.",
                                 hint=f"Did you mean '{near[0]}'?" if near else "stream.queries has the names.")
        for name in add:
            if not NAME.fullmatch(name):
                raise QueryError(name, "this cannot name a query.", hint="Use letters, digits, '_', '-' and '.'.")
            if name in self.queries and name not in drop:
                raise QueryError(name, "a query of this name runs already.",
                                 hint="Choose another name, or use stream.replace.")
        if not add and set(drop) >= set(self.queries):
            raise RunError("this would leave the stream without queries: add another one first, or stop the stream.")

    def require_sources(self) -> None:
        """Raise where a source that the stream reads was replaced: what is started anew would read the other one."""
        named = [source for source in self.plan.sources if source.join is None]
        if name := self.context.sources.find_replaced(named):
            raise RunError(f"source '{name}' was replaced since the stream was started, which reads the one before: a "
                           "change would go on with rows of the other. To change queries, stop the stream and start it "
                           "over the new source, with a checkpoint of its own where that has other rows.")

    def bind(self, add: Mapping[str, str], every: Mapping[str, str]) -> list[BoundQuery]:
        """The new queries, checked. One that does not say how often its answers must come has the bound of the one that
        it replaces, or else the loom's."""
        try:
            found = check_queries(self.context, add, every=every)
        except QueriesError as error:
            raise (error.errors[0] if len(error.errors) == 1 else error) from error
        for bound in found:
            if bound.query.shed is not None:
                raise QueryError(bound.query.name, "it accepts an error (SHED), or its source drops rows, and a stream "
                                 "that runs begins to drop none.", hint="Leave out SHED, or start another stream.")
        before = {bound.query.name: bound.query.every for bound in self.plan.workload}
        return [bound if bound.query.every else fresh_as(bound, before.get(bound.query.name) or self.context.every)
                for bound in found]

    def require_outputs(self, adding: Iterable[BoundQuery], replaced: Mapping[str, str]) -> None:
        """Raise where answers of a query would lie beside others of its name that are not like them."""
        known = {bound.query.name: bound.query for bound in self.plan.workload}
        for query in (bound.query for bound in adding):
            if query.name in replaced and query.window.counts_rows:
                raise QueryError(query.name, "its windows count rows, from the first row of its source on, so that it "
                                 "would answer once more what the query that it replaces has answered.",
                                 hint="Add it under another name, and drop the old one.")
            if query.name in replaced and joins_streams(known[query.name].join):
                raise QueryError(query.name, "the query that it replaces joins streams, and Spark does not tell up to "
                                 "when that one has answered, so windows in between would be lost.",
                                 hint="Add it under another name, and drop the old one.")
            if query.name in replaced:
                columns = [[(out.name, out.type) for out in each.outputs] for each in (known[query.name], query)]
                if columns[0] != columns[1]:
                    raise QueryError(query.name, "it gives other columns than the query that it replaces, whose "
                                     "answers lie where its own would.",
                                     hint="Add it under another name, and drop the old one.")
            elif isinstance(self.wanted.sink, FolderSink) and self.has_answers(query.name):
                raise QueryError(query.name, f"'{self.wanted.sink.path}' holds answers of an earlier query of this "
                                 "name.", hint="Choose another name, or move that folder away.")

    def has_answers(self, name: str) -> bool:
        """Whether a sink of files holds answers of a query."""
        assert isinstance(self.wanted.sink, FolderSink)
        sink = FileSink(self.wanted.sink, self.page.identity, "")
        return sink.has_files(name)

    def key_with(self, name: str) -> str:
        """The key of the scan that answers a query."""
        return next(key_of(scan) for scan in self.plan.shared.scans
                    if any(b.query.name == name for node in scan.nodes for b in node.queries))

    def without(self, drop: Sequence[str], version: int) -> SharedPlan:
        """The plan without some queries; raises where the rest of a scan cannot go on without one. A scan of which none
        is left stays for one that is added at the same time."""
        shared = self.plan.shared
        before = {key_of(scan): scan for scan in shared.scans}
        for name in drop:
            shared = remove_query(shared, name, f"{name}~{version}")
        for scan in shared.scans:
            old = before[key_of(scan)]
            if scan != old and is_asked(scan) and not self.takes(old, scan):
                rest = ", ".join(f"'{b.query.name}'" for node in scan.nodes for b in node.queries)
                held = "a join of streams" if joins_streams(old.head.query.join) else "a count of rows"
                raise RunError(f"{' and '.join(map(repr, drop))} cannot go alone: its state is that of {rest} as well, "
                               f"and {held} keeps it together. Drop them all, or start with a new checkpoint.")
        return shared

    def without_ghosts(self, scan: Scan, before: Mapping[str, Scan]) -> Scan:
        """A scan that changes without those of its ghosts that it does not miss any more."""
        old = before.get(key_of(scan))
        return scan if old is None or scan == old else without_ghosts(scan, partial(self.takes, old))

    def with_query(self, shared: SharedPlan, before: Mapping[str, Scan], bound: BoundQuery, workload: Workload,
                   version: int, within: str | None) -> tuple[SharedPlan, str]:
        """The plan with one more query, in a scan that takes it or in one of its own, and why. A query that replaces
        another joins no scan but that one's, whose watermark says what was answered."""
        model, name, why = model_of(workload, self.context.sizes.samples), bound.query.name, ""
        for place, joined in join_candidates(shared, bound, model, projection):
            key, scan = key_of(shared.scans[place]), joined.scans[place]
            if key not in before or within not in (None, key) or not self.takes(before[key], scan):
                continue
            if within is None or not self.repeats(before[key], scan, name):
                return joined, f"'{name}' reads slices that {SCAN}{key} has."
            why = f"{SCAN}{key} answers this window for others, and has not come as far as '{name}' was answered."
        why = why or self.why_alone(shared, bound)
        if within:
            self.require_past(bound, why)
        reason = f"'{name}' reads its source in a scan of its own, as a new stream would: {why}"
        return self.with_scan(shared, bound, version), reason

    def require_past(self, bound: BoundQuery, why: str) -> None:
        """Raise where a query that goes on where another one ended would miss rows of the windows that have begun."""
        sources = [self.context.sources[name] for name in bound.query.streams]
        for source in (source for source in sources if not keeps_past(source)):
            raise QueryError(bound.query.name, f"it needs a scan of its own, since {why.rstrip('.')}; and source "
                             f"'{source.name}' begins with the rows that come next, so that windows which have begun "
                             "would be answered from part of their rows.",
                             hint="Add it under another name, or replace the old one by a query over what is kept: the "
                                  "same keys and WHERE, and a window that cuts no finer.")

    def with_query_apart(self, shared: SharedPlan, before: Mapping[str, Scan], bound: BoundQuery, workload: Workload,
                         version: int, replaced: Mapping[str, str]) -> tuple[SharedPlan, str]:
        """The plan with one more query in a scan that comes with it, or with another one of the same change, unless one
        of these goes on where another query ended; and why."""
        reason = f"'{bound.query.name}' reads its source, and its history first, in a scan that comes with it."
        model = model_of(workload, self.context.sizes.samples)
        for place, joined in () if replaced else join_candidates(shared, bound, model, projection):
            if key_of(shared.scans[place]) not in before:
                others = (*shared.scans[:place], *shared.scans[place + 1:])
                return replace(shared, scans=(*others, self.name_scan(others, joined.scans[place], version))), reason
        return self.with_scan(shared, bound, version), reason

    def with_scan(self, shared: SharedPlan, bound: BoundQuery, version: int) -> SharedPlan:
        """The plan with one more query in a scan of its own."""
        own = Scan((Tree((bound,)),), slicer=self.plan.slicers[0])
        return replace(shared, scans=(*shared.scans, self.name_scan(shared.scans, own, version)))

    def name_scan(self, others: Sequence[Scan], scan: Scan, version: int) -> Scan:
        """A scan that comes with a version of the plan, with a key that none of the others has."""
        key = f"{self.graph(replace(scan, pins=None)).root.meaning}.{version}"
        number = sum(key_of(other).startswith(key) for other in others)
        return replace(scan, pins=ScanPins(f"{key}.{number}" if number else key))

    def why_alone(self, shared: SharedPlan, bound: BoundQuery) -> str:
        """Why no scan takes a query."""
        query = bound.query
        near = [scan for scan in shared.scans
                if (scan.head.query.source, scan.head.query.time) == (query.source, query.time)]
        if query.join or query.window.counts_rows:
            return "what a join or a count of rows keeps serves the queries that it was begun for."
        if not any(query.keys in [node.keys for node in scan.nodes] for scan in near):
            return "no scan groups this source by its keys."
        if not any(query.where in scan.predicates for scan in near):
            return "no scan of this source has its WHERE."
        if all(cuts(scan, *scan.cut_for, query.window) != cuts(scan, *scan.cut_for) for scan in near):
            return "its window would cut slices where those that are kept are whole."
        return "the scans that it could read keep other columns, or Spark keeps them and takes no further ones."

    def takes(self, old: Scan, new: Scan) -> bool:
        """Whether the state of a scan can serve it as it would be."""
        return takes_change(self.graph(old), self.graph(new), self.context.ansi)

    def repeats(self, old: Scan, new: Scan, name: str) -> bool:
        """Whether a query that replaces another within its scan would answer windows again: where the other one has
        come from a scan that was ahead of this one."""
        at = read_boundary(self.launch.checkpoint, key_of(old), self.delay_of(key_of(old)))
        until = answered_until(self.page, self.graph(old), name, at)
        return would_repeat(self.page, self.graph(new), name, until, at)

    def delay_of(self, key: str) -> int:
        """How late rows of a scan may come, in milliseconds."""
        query = next(scan for scan in self.plan.shared.scans if key_of(scan) == key).head.query
        return max(self.page.delays[name] for name in query.inputs if name in self.page.delays)

    def graph(self, scan: Scan) -> StageGraph:
        """The stages of one scan."""
        return self.context.build(SharedPlan(self.plan.optimizer, (scan,), self.plan.forced)).scans[0]


def key_of(scan: Scan) -> str:
    """The id of a scan's slices in a stream."""
    assert scan.pins is not None
    return scan.pins.key


def cuts(scan: Scan, *windows: Window) -> set[tuple[int, int]]:
    """Where slices for some windows are cut by a scan's slicer."""
    return set(find_slicer(scan.slicer).edges(windows))
