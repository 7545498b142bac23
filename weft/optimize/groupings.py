"""Groupings: the lattice of key sets. A coarser grouping reads a finer one's slices where the source would cost more.

ARGUS (002 §3.3) in our words: `derive` is its vertical expansion, `widen` its horizontal one (a parent has the columns
of all that read it), `place` adds a grouping and reroutes those that it can serve more cheaply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

import numpy as np

from weft.aggregates.component import columns_of, merging
from weft.cost.model import SparkModel
from weft.cost.techniques import Members
from weft.model.edges import Progression
from weft.model.plan import Scan
from weft.optimize.predicates import COLUMN
from weft.optimize.problem import union_density
from weft.slicing import find_slicer

# What Spark takes the scan for when it is grouped by some keys.
Sizes = Callable[[Scan, tuple[str, ...]], SparkModel]
# So many groupings are looked at in pairs; more read the source, or a finer one that somebody asks for.
MOST_PAIRED = 40


@dataclass(frozen=True)
class Grouping:
    """A node of the lattice: a scan without derived ones, its estimated size, and the number of its parent, if any."""

    scan: Scan
    model: SparkModel
    parent: int | None = None

    @cached_property
    def keys(self) -> frozenset[str]:
        """Its key set."""
        return frozenset(self.scan.keys)

    @cached_property
    def edges(self) -> frozenset[tuple[Progression, ...]]:
        """Where its windows cut time."""
        return frozenset(map(find_slicer(self.scan.slicer).each, self.scan.cut_for))

    @cached_property
    def columns(self) -> frozenset[tuple[str, str | None]]:
        """The columns of its slices, each with the predicate it is over."""
        return frozenset((c, b.query.where) for b in self.scan.served for c in columns_of(b.components))

    @cached_property
    def per_slice(self) -> float:
        """Nanoseconds that its own answers take for each slice."""
        windows = {b.query.window for b in self.scan.queries}
        slides = np.array([window.slide for window in windows], float)
        projections = frozenset(range(len({b.query.outputs for b in self.scan.queries})))
        return self.model.per_slice(Members(slides, slides, projections), 0.0)

    @property
    def rank(self) -> tuple:
        """The order among parents: the smaller one first, and of equal ones a subset before its superset."""
        return self.model.keys, len(self.keys), sorted(self.keys)


Lattice = tuple[Grouping, ...]


def edge_rate(*groupings: Grouping) -> float:
    """How often the groupings together cut time."""
    return density(frozenset().union(*(g.edges for g in groupings)), groupings[0].scan.slicer)


@lru_cache(maxsize=4096)
def density(edges: frozenset[tuple[Progression, ...]], slicer: str) -> float:
    """How often all these edges cut time."""
    return float(union_density(tuple(edges), find_slicer(slicer)).value)


def may_derive(fine: Grouping, coarse: Grouping) -> bool:
    """Whether the slices of one can be made of the other's: the same rows and time, and just some of its keys."""
    ours, theirs = fine.scan.head.query, coarse.scan.head.query
    if (ours.source, ours.time) != (theirs.source, theirs.time) or not coarse.keys < fine.keys:
        return False
    # A key must not fail on rows that only the other one lets pass.
    same = set(fine.scan.predicates) == set(coarse.scan.predicates)
    return same or all(COLUMN.fullmatch(key) for key in fine.keys)


def from_source(grouping: Grouping) -> float:
    """Seconds, per unit of event time, that its slices take when it reads the source."""
    return float(widened(grouping).scan(edge_rate(grouping)))


def widened(*groupings: Grouping) -> SparkModel:
    """The model of the first grouping with the columns of all of them."""
    columns = len(frozenset().union(*(g.columns for g in groupings)))
    rate = max(g.model.rate for g in groupings)
    return replace(groupings[0].model, components=columns, rate=rate)


def from_parent(fine: Grouping, coarse: Grouping) -> float:
    """Seconds that its slices take when they are derived, with what that costs the parent: its slices become finer and
    wider, and are kept."""
    costs, whole = fine.model.costs, widened(fine, coarse)
    before, after = float(whole.slices(edge_rate(fine))), float(whole.slices(edge_rate(fine, coarse)))
    made = float(coarse.model.slices(edge_rate(coarse)))
    unmerged = 0.0 if merging(coarse.scan.components) is not None else max(after - made, 0.0)
    read = after * (costs.row + len(coarse.columns) * costs.component) + (made + unmerged) * costs.emit
    handed = unmerged * coarse.per_slice
    refine = (after - before) * (costs.emit + fine.per_slice)
    widen = whole.rate * len(coarse.columns - fine.columns) * costs.component
    return (read + handed + refine + widen + after * costs.emit) * 1e-9 + costs.stage / whole.span


def pays(fine: Grouping, coarse: Grouping) -> bool:
    """Whether deriving one grouping from the other costs less than reading the source for it."""
    return may_derive(fine, coarse) and from_parent(fine, coarse) < from_source(coarse)


def place_grouping(lattice: Lattice, new: Grouping) -> Lattice:
    """The lattice with one more grouping: it reads the smallest parent that pays, and serves those that it is the
    smallest parent for. What hangs below one that is rerouted has a smaller parent already (002 §3.3)."""
    parents = [i for i, node in enumerate(lattice) if pays(node, new)]
    nodes = [*lattice, replace(new, parent=min(parents, key=lambda i: lattice[i].rank, default=None))]
    moved: set[int] = set()
    for i in sorted(range(len(lattice)), key=lambda i: lattice[i].rank, reverse=True):
        if any(above in moved for above in ancestors(nodes, i)):
            continue
        if reroutes(lattice, i, new):
            nodes[i] = replace(nodes[i], parent=len(lattice))
            moved.add(i)
    return tuple(nodes)


def reroutes(lattice: Lattice, number: int, new: Grouping) -> bool:
    """Whether a grouping is better served by a new one than by its parent."""
    old = lattice[number].parent
    return (old is None or new.rank < lattice[old].rank) and pays(new, lattice[number])


def ancestors(nodes: list[Grouping], number: int) -> Iterator[int]:
    """The groupings that one is derived from, the nearest first."""
    above = nodes[number].parent
    while above is not None:
        yield above
        above = nodes[above].parent


def costs_now(lattice: Lattice) -> list[float]:
    """What the slices of each grouping take as it stands."""
    return [from_source(node) if node.parent is None else from_parent(lattice[node.parent], node) for node in lattice]


def add_unions(lattice: Lattice, sizes: Sizes) -> Lattice:
    """The lattice with groupings that nobody asks for, each of the keys of two others, while one of them pays."""
    while len(lattice) > 1:
        gains = [(union_gain(lattice, union), union) for union in candidate_unions(lattice, sizes)]
        best, union = max(gains, key=lambda pair: pair[0], default=(0.0, None))
        if union is None or best <= 0:
            break
        lattice = place_grouping(lattice, union)
    return lattice


def candidate_unions(lattice: Lattice, sizes: Sizes) -> Iterator[Grouping]:
    """Groupings by the keys of two that read the source, if there is none yet."""
    roots = [node for node in lattice if node.parent is None and node.scan.trees][:MOST_PAIRED]
    seen = {(node.scan.head.query.source, node.keys) for node in lattice}
    for a, b in combinations(roots, 2):
        keys = tuple(dict.fromkeys((*a.scan.keys, *b.scan.keys)))
        place_of = (a.scan.head.query.source, frozenset(keys))
        if a.scan.head.query.source == b.scan.head.query.source and place_of not in seen:
            seen.add(place_of)
            yield Grouping(Scan((), (a.scan, b.scan), keys, a.scan.slicer), sizes(a.scan, keys))


def union_gain(lattice: Lattice, union: Grouping) -> float:
    """What a grouping that nobody asks for saves all that would read it, less what it takes itself."""
    now = costs_now(lattice)
    saved = (now[i] - from_parent(union, node) for i, node in enumerate(lattice) if reroutes(lattice, i, union))
    return sum(saved) - from_source(union)


def derive_groupings(scans: Iterable[Scan], sizes: Sizes) -> list[Scan]:
    """The scans that read a source, each with those that are derived from it."""
    lattice: Lattice = ()
    for scan in scans:
        lattice = place_grouping(lattice, Grouping(scan, sizes(scan, scan.keys)))
    lattice = add_unions(lattice, sizes)
    return [nest_grouping(lattice, i) for i, node in enumerate(lattice) if node.parent is None]


def nest_grouping(lattice: Lattice, number: int) -> Scan:
    """A grouping as a scan with all that are derived from it."""
    children = (i for i, node in enumerate(lattice) if node.parent == number)
    return replace(lattice[number].scan, derived=tuple(nest_grouping(lattice, i) for i in children))
