"""A shared plan: which queries read which scan, and which windows are folded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.aggregates.component import Component
from weft.errors import PlanError
from weft.final.base import Forced
from weft.model.window import Window
from weft.model.workload import Bound


@dataclass(frozen=True)
class Tree:
    """Queries whose windows are folded from the same slices."""

    queries: tuple[Bound, ...]

    @property
    def windows(self) -> tuple[Window, ...]:
        """The distinct windows of the tree, shortest first."""
        return tuple(sorted({b.query.window for b in self.queries}))


@dataclass(frozen=True)
class Scan:
    """One pass over a source: queries with the same time and grouping."""

    trees: tuple[Tree, ...]

    @property
    def queries(self) -> tuple[Bound, ...]:
        """Every query that reads the scan."""
        return tuple(b for tree in self.trees for b in tree.queries)

    @property
    def head(self) -> Bound:
        """A query that stands for all: they agree on source, time and keys."""
        return self.trees[0].queries[0]

    @property
    def predicates(self) -> tuple[str | None, ...]:
        """The distinct predicates of its queries, in order; None for that of all rows."""
        return tuple(dict.fromkeys(b.query.where for b in self.queries))

    @property
    def windows(self) -> tuple[Window, ...]:
        """The distinct windows of all trees."""
        return tuple(sorted({w for tree in self.trees for w in tree.windows}))

    @property
    def components(self) -> tuple[Component, ...]:
        """The distinct components of all queries, in order."""
        return tuple(dict.fromkeys(c for b in self.queries for c in b.components))


@dataclass(frozen=True)
class SharedPlan:
    """The scans of a workload, made by one optimizer; `forced` names algorithms that the user insists on."""

    optimizer: str
    scans: tuple[Scan, ...]
    forced: Forced = ()

    @property
    def queries(self) -> tuple[Bound, ...]:
        """Every query of the plan."""
        return tuple(b for scan in self.scans for b in scan.queries)


def check_plan(plan: SharedPlan, workload: Sequence[Bound], by: str) -> SharedPlan:
    """The plan, if every query stands in exactly one tree; otherwise an error that names the pass at fault."""
    planned = sorted(b.query.name for b in plan.queries)
    if planned != sorted(b.query.name for b in workload):
        raise PlanError(f"pass '{by}' lost or doubled queries: this is a bug in Weft, please report it")
    return plan
