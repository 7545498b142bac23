"""A checkpoint's own page: which queries, which plan, how many buckets; a restart must find them as they were."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import uuid4

from weft.errors import RunError
from weft.io.files import list_entries, open_filesystem, read_json, write_json
from weft.model.graph import StageGraph
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.query import Query
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.spark.stream.buckets import groupings_asked, spread_buckets
from weft.spark.stream.partial import is_cut_in_workers
from weft.spark.stream.surroundings import StreamEnvironment
from weft.spark.write.owned import LITTER

PAGE, VERSION = "weft.json", 5
READABLE = (4, VERSION)  # state of version 4 has no marks of blobs
# The canonical form of a text over a source.
Identity = Callable[[str, str], str]
ScanState = Mapping[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """What a stream was started with: `queries` are digests of what each asks, `scans` nest their names, `around` is
    what else decides its answers, and `state` says by the id of each scan's slices what Spark keeps of them."""

    identity: str
    partitions: int
    optimizer: str
    queries: Mapping[str, str]
    delays: Mapping[str, int]
    scans: Sequence[Mapping[str, Any]]
    state: Mapping[str, ScanState]
    around: StreamEnvironment

    @staticmethod
    def new(plan: SharedPlan, stages: StageGraph, partitions: int, delays: Mapping[str, int],
            around: StreamEnvironment, identity: Identity) -> Checkpoint:
        """The page of a stream that starts."""
        return Checkpoint(uuid4().hex, partitions, plan.optimizer,
                          {b.query.name: query_meaning(b.query, identity) for b in plan.queries}, delays,
                          [nest_scan(scan) for scan in plan.scans],
                          {scan.root.id: state_of(scan, spread_buckets(scan, partitions)) for scan in stages.scans},
                          around)

    def plan(self, workload: Sequence[BoundQuery]) -> SharedPlan:
        """The plan that the stream was started with, of the same queries."""
        found = {bound.query.name: bound for bound in workload}
        return SharedPlan(self.optimizer, tuple(unnest_scan(scan, found) for scan in self.scans))

    def require_same(self, path: str, workload: Sequence[BoundQuery], delays: Mapping[str, int],
                     identity: Identity) -> None:
        """Raises where the queries or watermarks are not those of the checkpoint, and says what to do."""
        asked = {bound.query.name: query_meaning(bound.query, identity) for bound in workload}
        new, gone = [n for n in asked if n not in self.queries], [n for n in self.queries if n not in asked]
        changed = [name for name, text in asked.items() if self.queries.get(name, text) != text]
        waits = [name for name, delay in delays.items() if self.delays.get(name, delay) != delay]
        words = [f"{verb} {list_names(names)}" for verb, names in
                 (("adds", new), ("leaves out", gone), ("changes", changed), ("changes the watermark of", waits))
                 if names]
        if words:
            raise RunError(f"the checkpoint '{path}' was made for other queries: this start {', '.join(words)}. Its "
                           "state answers its own queries only. Start again with the queries as they were, or give "
                           "these ones a checkpoint and a sink of their own.")

    def carried_on(self, path: str, around: StreamEnvironment, workload: Sequence[BoundQuery],
                   stages: StageGraph) -> Checkpoint:
        """The page of a start from here; raises where what surrounds it would change answers, or its state differs."""
        self.around.require_same(path, around, [bound.time_type for bound in workload])
        self.require_state(path, stages)
        return replace(self, around=replace(self.around, sink=self.around.sink or around.sink))

    def buckets(self, scan: StageGraph) -> dict[str, tuple[int, ...]]:
        """The buckets of each grouping of a scan, by its id."""
        return {id: tuple(grouping["buckets"]) for id, grouping in self.state[scan.root.id]["groupings"].items()}

    def require_state(self, path: str, stages: StageGraph) -> None:
        """Raises where the same queries would keep another state than the checkpoint holds."""
        known = {root: {id: grouping["buckets"] for id, grouping in scan["groupings"].items()}
                 for root, scan in self.state.items()}
        if self.state != {s.root.id: state_of(s, known.get(s.root.id, {})) for s in stages.scans}:
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
    return {"trees": [[b.query.name for b in tree.queries] for tree in scan.trees], "union": list(scan.union),
            "derived": [nest_scan(child) for child in scan.derived], "slicer": scan.slicer}


def unnest_scan(page: Mapping[str, Any], found: Mapping[str, BoundQuery]) -> Scan:
    """The scan that `nested` wrote."""
    return Scan(tuple(Tree(tuple(found[name] for name in names)) for names in page["trees"]),
                tuple(unnest_scan(child, found) for child in page["derived"]), tuple(page["union"]),
                page.get("slicer", "pairs"))


def state_of(scan: StageGraph, buckets: Mapping[str, Sequence[int]]) -> ScanState:
    """What Spark keeps of a scan: who cuts its slices, and by the id of each grouping its buckets, the names of its
    columns, its windows, and a digest of the types that they have."""
    root = scan.root.stage
    cut = "workers" if not root.counts_rows and is_cut_in_workers(root) else "Spark"
    return {"cut": cut, "groupings": {node.id: {
        "buckets": list(buckets.get(node.id, ())),
        "columns": list(node.holds),
        "windows": sorted({list_window(w) for tree in scan.trees(node.id) for w in tree.stage.windows}),
        "types": digest_value([(c.monoid.name, c.type, c.fields, c.parameters) for c in node.stage.components]),
    } for node in groupings_asked(scan)}}


def list_window(window: Window) -> str:
    """A window as a text for machines."""
    return f"{window.range}/{window.slide}+{window.start} {window.unit}"


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
