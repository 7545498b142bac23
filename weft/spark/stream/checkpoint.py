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
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.query import Query
from weft.model.stages import PartialStage
from weft.model.workload import BoundQuery
from weft.spark.stream.partial import is_cut_in_workers
from weft.spark.stream.surroundings import StreamEnvironment
from weft.spark.write.owned import LITTER
from weft.stages.build import ScanStages

PAGE, VERSION = "weft.json", 3
# The canonical form of a text over a source.
Identity = Callable[[str, str], str]


@dataclass(frozen=True)
class Checkpoint:
    """What a stream was started with: `queries` are digests of what each asks, `scans` nest their names, `shapes` say
    what the state of each scan holds, and `around` is what else decides its answers."""

    identity: str
    partitions: int
    optimizer: str
    queries: Mapping[str, str]
    delays: Mapping[str, int]
    scans: Sequence[Mapping[str, Any]]
    shapes: Sequence[str]
    around: StreamEnvironment

    @staticmethod
    def new(plan: SharedPlan, stages: tuple[ScanStages, ...], partitions: int, delays: Mapping[str, int],
            around: StreamEnvironment, identity: Identity) -> Checkpoint:
        """The page of a stream that starts."""
        return Checkpoint(uuid4().hex, partitions, plan.optimizer,
                          {b.query.name: meaning_of(b.query, identity) for b in plan.queries}, delays,
                          [nest_scan(scan) for scan in plan.scans], [state_digest(scan, identity) for scan in stages],
                          around)

    def plan(self, workload: Sequence[BoundQuery]) -> SharedPlan:
        """The plan that the stream was started with, of the same queries."""
        found = {bound.query.name: bound for bound in workload}
        return SharedPlan(self.optimizer, tuple(unnest_scan(scan, found) for scan in self.scans))

    def require_same(self, path: str, workload: Sequence[BoundQuery], delays: Mapping[str, int],
                     identity: Identity) -> None:
        """Raises where the queries or watermarks are not those of the checkpoint, and says what to do."""
        asked = {bound.query.name: meaning_of(bound.query, identity) for bound in workload}
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
                   stages: tuple[ScanStages, ...],
                   identity: Identity) -> Checkpoint:
        """The page of a start from here; raises where what surrounds it would change answers, or its state differs."""
        self.around.require_same(path, around, [bound.time_type for bound in workload])
        self.require_shapes(path, stages, identity)
        return replace(self, around=replace(self.around, sink=self.around.sink or around.sink))

    def require_shapes(self, path: str, stages: tuple[ScanStages, ...], identity: Identity) -> None:
        """Raises where the same queries would keep another state than the checkpoint holds."""
        if list(self.shapes) != [state_digest(scan, identity) for scan in stages]:
            raise RunError(f"the checkpoint '{path}' was made by another version of Weft or over sources with other "
                           f"types, and its state cannot be read by this one: start with a new checkpoint.")


def meaning_of(query: Query, identity: Identity) -> str:
    """A digest of what a query asks for, however it is written."""
    form = partial(identity, query.source)
    calls = [(call.function, [form(arg) for arg in call.args], form(call.filter or "true")) for call in query.calls]
    outputs = [(form(output.sql), output.name) for output in query.outputs]
    return digest((query.source, query.window, form(query.time), form(query.where or "true"),
                   [form(key) for key in query.keys], calls, outputs, form(query.having or "true")))


def digest(value: object) -> str:
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


def state_digest(scan: ScanStages, identity: Identity) -> str:
    """A digest of all that decides what the state of a scan holds."""
    pages = [(partial_shape(s.partial, identity), [tree.final.windows for tree in s.trees]) for s in scan.nodes]
    cut = not scan.partial.counts_rows and is_cut_in_workers(scan.partial)
    return digest((cut, pages))


def partial_shape(stage: PartialStage, identity: Identity) -> tuple:
    """What decides the slices of a stage, with expressions by what they mean."""
    form = partial(identity, stage.source)
    components = [(c.monoid, c.type, c.fields, c.parameters, len(c.columns)) for c in stage.components]
    return (stage.source, [p and form(p) for p in stage.predicates], form(stage.time), stage.time_type,
            [form(key) for key in stage.keys], stage.key_types, stage.progressions, components,
            [column.predicate for column in stage.columns], stage.sharing, [form(text) for text in stage.order])


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
    if found.pop("version", None) != VERSION:
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
