"""A shared plan: which queries read which scan, and which windows are folded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.aggregates.component import Component, add_row_count, columns_of
from weft.errors import PlanError
from weft.model.stages import Forced
from weft.model.window import Window
from weft.model.workload import BoundQuery


@dataclass(frozen=True)
class Tree:
    """Queries whose windows are folded from the same slices."""

    queries: tuple[BoundQuery, ...]

    @property
    def windows(self) -> tuple[Window, ...]:
        """The distinct windows of the tree, shortest first."""
        return tuple(sorted({b.query.window for b in self.queries}))


@dataclass(frozen=True)
class ScanPins:
    """What a scan of a stream must keep while its queries change, because state is addressed by it: the id of its
    slices, and for a scan of a source its predicates and the names of its columns, in order."""

    key: str
    predicates: tuple[str | None, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scan:
    """One grouping of a source's rows: queries with the same time and keys, and scans derived from its slices.

    A derived scan has fewer keys and reads this one's slices instead of the source. A scan without trees is there for
    those derived from it only: `union` names its keys. `slicer` names what decides where its slices are cut. In a
    stream whose queries have changed, `ghosts` are queries that are not answered any more and still shape its slices,
    and `pins` say by what its state is addressed. `sharing` is how several predicates share slices, "filters" or
    "shards", and `cut_by` who makes slices of a stream's rows, "spark" or "workers", once that is chosen.
    """

    trees: tuple[Tree, ...]
    derived: tuple[Scan, ...] = ()
    union: tuple[str, ...] = ()
    slicer: str = "pairs"
    ghosts: tuple[BoundQuery, ...] = ()
    pins: ScanPins | None = None
    sharing: str = ""
    cut_by: str = ""

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """Every query that reads its slices."""
        return tuple(b for tree in self.trees for b in tree.queries)

    @property
    def nodes(self) -> tuple[Scan, ...]:
        """This scan and all that are derived from it, each before its own."""
        return (self, *(node for scan in self.derived for node in scan.nodes))

    @property
    def served(self) -> tuple[BoundQuery, ...]:
        """Every query that its slices serve, directly or through derived ones, or did when they got their shape."""
        return tuple(b for node in self.nodes for b in (*node.queries, *node.ghosts))

    @property
    def head(self) -> BoundQuery:
        """A query that stands for all: they agree on source and time."""
        return self.served[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """What its slices are grouped by."""
        return self.union or self.head.query.keys

    @property
    def key_types(self) -> tuple[str, ...]:
        """The types of its keys."""
        types = {key: kind for b in self.served for key, kind in zip(b.query.keys, b.key_types, strict=True)}
        return tuple(types[key] for key in self.keys)

    @property
    def predicates(self) -> tuple[str | None, ...]:
        """The distinct predicates of the queries it serves, in order; None for that of all rows."""
        pinned = self.pins.predicates if self.pins else ()
        return tuple(dict.fromkeys((*pinned, *(b.query.where for b in self.served))))

    @property
    def windows(self) -> tuple[Window, ...]:
        """The distinct windows of all trees."""
        return tuple(sorted({w for tree in self.trees for w in tree.windows}))

    @property
    def risky(self) -> frozenset[str | None]:
        """The predicates of which a part might fail on rows that another part keeps from it."""
        return frozenset(b.query.where for b in self.served if b.risky)

    @property
    def counts_rows(self) -> bool:
        """Whether its slices are so many rows of a group, not so much time."""
        return self.head.query.window.counts_rows

    @property
    def cut_for(self) -> tuple[Window, ...]:
        """The distinct windows that its slices are cut for: its own and those of the scans derived from it."""
        return tuple(sorted({b.query.window for b in self.served}))

    @property
    def wanted(self) -> dict[str, dict[str | None, None]]:
        """The columns that the queries it serves ask for, each with the predicates of those that do."""
        found: dict[str, dict[str | None, None]] = {}
        for bound in self.served:
            for column in columns_of(add_row_count(bound.components)):
                found.setdefault(column, {})[bound.query.where] = None
        return found

    @property
    def components(self) -> tuple[Component, ...]:
        """The distinct components of all queries that it serves, in order."""
        return tuple(dict.fromkeys(c for b in self.served for c in b.components))


@dataclass(frozen=True)
class SharedPlan:
    """The scans of a workload that read a source, made by one optimizer; `forced` names algorithms the user wants."""

    optimizer: str
    scans: tuple[Scan, ...]
    forced: Forced = ()

    @property
    def slicers(self) -> tuple[str, ...]:
        """The names of the slicers that its scans are cut by."""
        return tuple(dict.fromkeys(node.slicer for node in self.nodes))

    @property
    def nodes(self) -> tuple[Scan, ...]:
        """All scans, derived ones after the scan whose slices they read."""
        return tuple(node for scan in self.scans for node in scan.nodes)

    @property
    def queries(self) -> tuple[BoundQuery, ...]:
        """Every query of the plan."""
        return tuple(b for node in self.nodes for b in node.queries)


def check_plan(plan: SharedPlan, workload: Sequence[BoundQuery], by: str) -> SharedPlan:
    """The plan, if every query stands in exactly one tree; otherwise an error that names the pass at fault."""
    planned = sorted(b.query.name for b in plan.queries)
    if planned != sorted(b.query.name for b in workload):
        raise PlanError(f"pass '{by}' lost or doubled queries: this is a bug in Weft, please report it")
    if any(len({window.unit for window in scan.cut_for}) > 1 for scan in plan.scans):
        raise PlanError(f"pass '{by}' cut slices both of time and of rows: this is a bug in Weft, please report it")
    return plan
