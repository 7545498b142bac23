"""The problem an optimizer solves: which windows fold together, and what a grouping of them costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from weft.cost.model import Model, Pricing
from weft.cost.techniques import Members
from weft.errors import PlanError
from weft.model.edges import Density, Progression, edge_density
from weft.model.window import Window
from weft.optimize.edges import BitSets, EdgeSets, edge_sets
from weft.slicing import PAIRS, Slicer

PARTS = attrgetter("range", "slide", "start")

# Which queries stand together: each tuple is a tree, by the queries' numbers.
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Kind:
    """Queries whose windows have the same edges."""

    edges: tuple[Progression, ...]
    members: Members
    queries: tuple[int, ...]


@dataclass(frozen=True)
class TreeUnderWork:
    """Kinds that fold together: their edges, how dense these are, and what the tree costs."""

    kinds: tuple[int, ...]
    members: Members
    edges: Any
    rate: float
    cost: float


@dataclass(frozen=True)
class Problem:
    """Windows, one a query, and a cost model; `shared` says that all trees take slices from one partial stage.

    Queries with the same edges are one kind and stay together, unless `by_query` keeps every query a kind of its own.
    `projections` numbers what each query makes of its answers: queries of one number share a pass. The `slicer` says
    where windows cut time.
    """

    windows: tuple[Window, ...]
    model: Model
    shared: bool = False
    seed: int = 0
    by_query: bool = False
    projections: tuple[int, ...] | None = None
    slicer: Slicer = PAIRS

    def __post_init__(self) -> None:
        if not self.windows:
            raise PlanError("there are no windows to plan: add a query.")

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """The queries by their windows' edges, in order of first appearance."""
        if self.by_query:
            return tuple(self.kind((i,)) for i in range(len(self.windows)))
        queries: dict[tuple, list[int]] = {}
        for i, w in enumerate(self.windows):
            queries.setdefault((w.slide, w.phase, w.range % w.slide), []).append(i)
        return tuple(self.kind(tuple(found)) for found in queries.values())

    def kind(self, queries: tuple[int, ...]) -> Kind:
        """Queries of equal edges as one kind; equal windows are one member."""
        return Kind(self.slicer.each(self.windows[queries[0]]), self.members(queries), queries)

    def members(self, queries: Iterable[int]) -> Members:
        """The distinct windows and projections of queries."""
        listed = list(queries)
        # Plain tuples are sorted several times as fast as windows.
        found = sorted(set(map(PARTS, map(self.windows.__getitem__, listed))))
        sizes = np.array([pair[:2] for pair in found], float).reshape(-1, 2)
        kept = self.projections
        numbers = frozenset((0,)) if kept is None else frozenset(map(kept.__getitem__, listed))
        return Members(sizes[:, 0].copy(), sizes[:, 1].copy(), numbers)

    @cached_property
    def sets(self) -> EdgeSets:
        """The edge sets of all kinds."""
        return edge_sets([kind.edges for kind in self.kinds], self.slicer)

    @cached_property
    def pricing(self) -> Pricing:
        """What plans of this problem cost."""
        return self.model.together(self.whole) if self.shared else self.model.apart()

    @cached_property
    def whole(self) -> float:
        """The edge rate of all windows together."""
        return self.sets.rate(self.sets.of({edge for kind in self.kinds for edge in kind.edges}))

    def leaf(self, kind: int) -> TreeUnderWork:
        """The tree of one kind."""
        return self.tree((kind,), self.kinds[kind].members, self.sets.of(self.kinds[kind].edges))

    def tree(self, kinds: tuple[int, ...], members: Members, edges: Any) -> TreeUnderWork:
        """A tree with its rate and cost."""
        rate = self.sets.rate(edges)
        return TreeUnderWork(kinds, members, edges, rate, self.pricing.tree(members, rate))

    def merge(self, a: TreeUnderWork, b: TreeUnderWork) -> TreeUnderWork:
        """Two trees as one."""
        kinds = (*a.kinds, *b.kinds)
        members = self.distinct(kinds) if self.by_query else a.members.join(b.members)
        return self.tree(kinds, members, self.sets.union(a.edges, b.edges))

    def distinct(self, kinds: tuple[int, ...]) -> Members:
        """The windows of kinds that may hold equal ones."""
        return self.members(q for k in kinds for q in self.kinds[k].queries)

    def grown(self, kinds: Iterable[int]) -> TreeUnderWork:
        """The tree of several kinds."""
        first, *rest = kinds
        tree = self.leaf(first)
        for kind in rest:
            tree = self.merge(tree, self.leaf(kind))
        return tree

    def groups(self, trees: Sequence[TreeUnderWork]) -> Groups:
        """The queries of each tree, in a fixed order."""
        grouped = (tuple(sorted(q for k in tree.kinds for q in self.kinds[k].queries)) for tree in trees)
        return tuple(sorted(grouped))


@dataclass(frozen=True)
class TreeCost:
    """One tree of a plan, priced."""

    queries: tuple[int, ...]
    edge_rate: Density
    omega: float
    cost: float


@dataclass(frozen=True)
class PlanCost:
    """A plan priced: in all, for partial stages, and for folding."""

    total: float
    partial: float
    final: float
    trees: tuple[TreeCost, ...]


def union_density(kinds: tuple[tuple[Progression, ...], ...], slicer: Slicer = PAIRS) -> Density:
    """The edge rate of a tree: marked and counted if its composite slide is short, else by F1, else sampled."""
    if slicer.join is not None:
        grids = slicer.join(edge for edges in kinds for edge in edges)
        return Density(sum((Fraction(1, period) for _, period in grids), Fraction(0)))
    sets = edge_sets(kinds)
    if isinstance(sets, BitSets):
        marks = sets.of({edge for edges in kinds for edge in edges})
        return Density(Fraction(int(np.bitwise_count(marks).sum()), sets.period * sets.unit))
    return edge_density(sorted({e for edges in kinds for e in edges}, key=lambda e: (e[1], e[0])))


def price_groups(problem: Problem, groups: Groups) -> PlanCost:
    """What a grouping costs, estimated afresh from its windows; equal windows of a tree count once."""
    pricing, trees, partial, final = problem.pricing, [], problem.pricing.once, 0.0
    for queries in groups:
        cuts = {problem.slicer.each(problem.windows[i]) for i in queries}
        rate = union_density(tuple(cuts), problem.slicer)
        omega = pricing.technique.omega(problem.members(queries), float(rate.value))
        base, folding = float(pricing.base(float(rate.value))), float(pricing.weight(float(rate.value))) * omega
        folding += problem.model.delivering([problem.windows[i] for i in queries])
        trees.append(TreeCost(queries, rate, omega, base + folding))
        partial, final = partial + base, final + folding
    return PlanCost(partial + final, partial, final, tuple(trees))
