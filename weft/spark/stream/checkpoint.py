"""A checkpoint's own page: which queries, which plan, how many buckets; a restart must find them as they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import uuid4

from weft.errors import RunError
from weft.final.state.changes import GroupingHistory, list_window
from weft.io.drop_boxes import Step
from weft.io.files import list_entries, open_filesystem, read_json, write_json
from weft.model.graph import StageGraph
from weft.model.join import plain_method
from weft.model.plan import Scan, ScanPins, SharedPlan, Tree
from weft.model.query import Query
from weft.model.workload import BoundQuery
from weft.optimize.shed.controller import Decision
from weft.spark.stream.buckets import KeptBuckets, groupings_asked, spread_buckets
from weft.spark.stream.join import carried_columns, join_of
from weft.spark.stream.partial import is_cut_in_workers
from weft.spark.stream.surroundings import StreamEnvironment
from weft.spark.write.owned import LITTER

PAGE, VERSION = "weft.json", 6
READABLE = (4, 5, VERSION)  # state of version 4 has no marks of blobs, that of 5 no layouts
# The canonical form of a text over a source.
Identity = Callable[[str, str], str]
ScanState = Mapping[str, Any]
MOST_DECISIONS = MOST_CHANGES = 100
# The history of its source that a scan reads first: a folder of the checkpoint, and the event time where it ends.
BACKFILL = "backfill"
# What a page says of a scan whose queries have changed: since which trigger it is as it is, its buckets that nobody
# reads, the version of the plan that made it so, and what it has read first.
LIVE = ("since", "retired", "version", BACKFILL)


@dataclass(frozen=True)
class Checkpoint:
    """What a stream was started with: `queries` are digests of what each asks, `scans` nest their names, `around` is
    what else decides its answers, and `state` says by the id of each scan's slices what Spark keeps of them. `shedding`
    has the shares of each source's rows that were kept, each with the millisecond from which on,
    and `decisions` why.

    Where queries have changed while it ran, `plan_version` counts the changes, `changes` has the last of them, each
    with the first trigger of every scan under it, `texts` and `every` have the SQL and bounds of the queries, `started`
    the digests of those that it was first started with, and `curve` the numbers of queries and costs of plans that were
    made from scratch. `begun` is the version of the page that it was begun with.
    """

    identity: str
    partitions: int
    optimizer: str
    queries: Mapping[str, str]
    delays: Mapping[str, int]
    scans: Sequence[Mapping[str, Any]]
    state: Mapping[str, ScanState]
    around: StreamEnvironment
    shedding: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    decisions: Sequence[Mapping[str, Any]] = ()
    plan_version: int = 1
    changes: Sequence[Mapping[str, Any]] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, int] = field(default_factory=dict)
    started: Mapping[str, str] = field(default_factory=dict)
    curve: Sequence[Sequence[float]] = ()
    begun: int = 5

    @staticmethod
    def new(plan: SharedPlan, stages: StageGraph, partitions: int, delays: Mapping[str, int],
            around: StreamEnvironment, identity: Identity) -> Checkpoint:
        """The page of a stream that starts."""
        return Checkpoint(uuid4().hex, partitions, plan.optimizer,
                          {b.query.name: query_meaning(b.query, identity) for b in plan.queries}, delays,
                          [nest_scan(scan) for scan in plan.scans],
                          {scan.root.id: state_of(scan, spread_buckets(scan, partitions)) for scan in stages.scans},
                          around, begun=VERSION)

    def plan(self, workload: Sequence[BoundQuery]) -> SharedPlan:
        """The plan that the stream was started with, of the same queries."""
        found = {bound.query.name: bound for bound in workload}
        return SharedPlan(self.optimizer, tuple(unnest_scan(scan, found) for scan in self.scans))

    def require_same(self, path: str, workload: Sequence[BoundQuery], delays: Mapping[str, int],
                     identity: Identity) -> None:
        """Raises where the queries or watermarks are not those of the checkpoint, and says what to do."""
        asked = {bound.query.name: query_meaning(bound.query, identity) for bound in workload}
        first = self.started or self.queries  # a query that came or went since then is not missed
        new = [name for name in asked if name not in self.queries and name not in first]
        gone = [name for name in self.queries if name not in asked and name in first]
        changed = [name for name, text in asked.items()
                   if text not in (self.queries.get(name), first.get(name)) and name not in new]
        waits = [name for name, delay in delays.items() if self.delays.get(name, delay) != delay]
        words = [f"{verb} {list_names(names)}" for verb, names in
                 (("adds", new), ("leaves out", gone), ("changes", changed), ("changes the watermark of", waits))
                 if names]
        if words:
            raise RunError(f"the checkpoint '{path}' was made for other queries: this start {', '.join(words)}. Its "
                           "state answers its own queries only. Start again with the queries as they were, and change "
                           "them while it runs (stream.add, drop, replace); or give these ones a checkpoint and a sink "
                           "of their own.")

    def carried_on(self, path: str, around: StreamEnvironment, workload: Sequence[BoundQuery],
                   stages: StageGraph) -> Checkpoint:
        """The page of a start from here; raises where what surrounds it would change answers, or its state differs."""
        self.around.require_same(path, around, [bound.time_type for bound in workload])
        self.require_state(path, stages)
        return replace(self, around=replace(self.around, sink=self.around.sink or around.sink))

    def steps(self, source: str) -> tuple[Step, ...]:
        """The shares of a source's rows that have been kept so far; none where nothing is known of it."""
        return tuple(Step(int(since), share) for since, share in self.shedding.get(source, ()))

    def decided(self, decision: Decision) -> Checkpoint:
        """The page with one decision more; the oldest are left out."""
        made = {"at": decision.at, "kind": decision.kind, "trigger": decision.settings.trigger,
                "shares": dict(decision.settings.shares), "reason": decision.reason}
        return replace(self, decisions=[*self.decisions, made][-MOST_DECISIONS:])

    def kept(self, steps: Mapping[str, Sequence[Step]]) -> Checkpoint:
        """The page with the shares of sources."""
        return replace(self, shedding={name: [[s.since, s.share] for s in mine] for name, mine in steps.items()})

    def kept_buckets(self, scan: StageGraph) -> KeptBuckets:
        """What Spark's state holds of a scan."""
        state = self.state[scan.root.id]
        groupings = state["groupings"]
        histories = {id: load_history(found["history"]) for id, found in groupings.items() if "history" in found}
        return KeptBuckets({id: tuple(found["buckets"]) for id, found in groupings.items()}, histories,
                           state.get("since"), tuple(state.get("retired", ())))

    def completed(self, whole: Mapping[str, str | None]) -> Checkpoint:
        """The page whose last change says from when on windows of queries that came with it are whole."""
        return replace(self, changes=[*self.changes[:-1], {**self.changes[-1], "complete_from": dict(whole)}])

    def version_of(self, scan: str, trigger: int) -> int:
        """The version of the plan that a trigger of a scan, by the id of its slices, ran under or will."""
        found = [change["version"] for change in self.changes if change["triggers"].get(scan, trigger + 1) <= trigger]
        return max(found, default=1)

    def require_state(self, path: str, stages: StageGraph) -> None:
        """Raises where the same queries would keep another state than the checkpoint holds."""
        known = {root: {id: grouping["buckets"] for id, grouping in scan["groupings"].items()}
                 for root, scan in self.state.items()}
        plain = {root: plain_state(scan) for root, scan in self.state.items()}
        if plain != {s.root.id: state_of(s, known.get(s.root.id, {})) for s in stages.scans}:
            raise RunError(f"the checkpoint '{path}' was made by another version of Weft or over sources with other "
                           f"types, and its state cannot be read by this one: start with a new checkpoint.")


def query_meaning(query: Query, identity: Identity) -> str:
    """A digest of what a query asks for, however it is written."""
    form = partial(identity, query.source)
    calls = [(call.function, [form(arg) for arg in call.args], form(call.filter or "true")) for call in query.calls]
    outputs = [(form(output.sql), output.name) for output in query.outputs]
    return digest_value((query.source, query.window, form(query.time), form(query.where or "true"),
                   [form(key) for key in query.keys], calls, outputs, form(query.having or "true")))


def digest_value(value: object) -> str:
    """A short text for a value that is printed the same each time."""
    return sha256(repr(value).encode()).hexdigest()[:32]


def list_names(names: Sequence[str]) -> str:
    """Some names for people."""
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(f"'{name}'" for name in names[:5]) + more


def nest_scan(scan: Scan) -> dict[str, Any]:
    """A scan by the names of its queries."""
    pins = {"pins": vars(scan.pins), "ghosts": [bound.query.name for bound in scan.ghosts]} if scan.pins else {}
    return {"trees": [[b.query.name for b in tree.queries] for tree in scan.trees], "union": list(scan.union),
            "derived": [nest_scan(child) for child in scan.derived], "slicer": scan.slicer, "sharing": scan.sharing,
            "cut_by": scan.cut_by, **pins}


def unnest_scan(page: Mapping[str, Any], found: Mapping[str, BoundQuery]) -> Scan:
    """The scan that `nested` wrote."""
    pins = page.get("pins")
    return Scan(tuple(Tree(tuple(found[name] for name in names)) for names in page["trees"]),
                tuple(unnest_scan(child, found) for child in page["derived"]), tuple(page["union"]),
                page.get("slicer", "pairs"), tuple(found[name] for name in page.get("ghosts", ())),
                pins and ScanPins(pins["key"], tuple(pins["predicates"]), tuple(pins["columns"])),
                page.get("sharing", ""), page.get("cut_by", ""))


def load_history(found: Mapping[str, Any]) -> GroupingHistory:
    """The history of a grouping, out of a page."""
    return GroupingHistory(tuple(found["sizes"]), found["whole"], found["columns"], found["windows"])


def plain_state(scan: ScanState) -> ScanState:
    """What a page says of a scan's state, without what changes of its queries have left."""
    groupings = {id: {name: value for name, value in found.items() if name != "history"}
                 for id, found in scan["groupings"].items()}
    return {**{name: value for name, value in scan.items() if name not in LIVE}, "groupings": groupings}


def state_of(scan: StageGraph, buckets: Mapping[str, Sequence[int]]) -> ScanState:
    """What Spark keeps of a scan: who cuts its slices, and by the id of each grouping its buckets, the names of its
    columns, its windows, and a digest of the types that they have."""
    root = scan.root.stage
    cut = "workers" if not root.counts_rows and is_cut_in_workers(root) else "Spark"
    return {"cut": cut, **joined_state(scan), "groupings": {node.id: {
        "buckets": list(buckets.get(node.id, ())),
        "columns": list(node.holds),
        "windows": sorted({list_window(w) for tree in scan.trees(node.id) for w in tree.stage.windows}),
        "types": digest_value([(c.monoid.name, c.type, c.fields, c.parameters) for c in node.stage.components]),
    } for node in groupings_asked(scan)}}


def joined_state(scan: StageGraph) -> dict[str, Any]:
    """What Spark keeps of a scan's join: the columns of its rows, in the order of the joins; nothing where it has none.
    """
    join = join_of(scan)
    if join is None:
        return {}
    return {"join": {"id": join.digest, "order": list(plain_method(join).order),
                     "columns": list(carried_columns(join, scan.root.stage))}}


def open_checkpoint(path: str) -> Checkpoint | None:
    """The page of a checkpoint, or None where nothing was started there yet."""
    try:
        files, root = open_filesystem(path)
        found = read_json(files, f"{root}/{PAGE}")
        strange = None if found else next((info.base_name for info in list_entries(files, root)
                                           if info.base_name not in (f"{PAGE}.partial", *LITTER)), None)
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read the checkpoint '{path}': {error}.") from error
    if strange:
        raise RunError(f"'{path}' cannot be a checkpoint: it holds '{strange}', and nothing of a stream that Weft "
                       "started. Choose a new or empty folder.")
    if found is None:
        return None
    if found.pop("version", None) not in READABLE:
        raise RunError(f"the checkpoint '{path}' was made by another version of Weft: start with a new one.")
    return Checkpoint(**{**found, "around": StreamEnvironment(**found["around"])})


def write_checkpoint(path: str, page: Checkpoint) -> None:
    """Write the page of a stream that starts."""
    try:
        files, root = open_filesystem(path)
        files.create_dir(root, recursive=True)
        write_json(files, f"{root}/{PAGE}", {"version": VERSION, **vars(page), "around": vars(page.around)})
    except OSError as error:
        raise RunError(f"cannot write the checkpoint '{path}': {error}. Choose a folder that is writable.") from error
