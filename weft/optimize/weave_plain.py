"""Weave Share to the letter: all pairs of trees in every round, and the three ways of 000 §8 to count less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd, lcm

from weft.errors import PlanError
from weft.model.edges import Progression
from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem
from weft.slicing import PAIRS

MOST = 1 << 20


@dataclass(frozen=True)
class Savings:
    """What spares work: gains kept in a table (§8.1), edges as a bitmap (§8.2), the sparser tree probing (§8.3)."""

    lookup: bool = True
    bitmap: bool = True
    reorder: bool = True


@dataclass
class Work:
    """How often a pair of trees was compared, and an edge probed against a query or a bitmap."""

    pairs: int = 0
    probes: int = 0


@dataclass(frozen=True)
class PlainTree:
    """A tree on the way: its queries, their edges, the composite slide, how many edges fall into it, its bitmap."""

    queries: tuple[int, ...]
    edges: tuple[tuple[Progression, ...], ...]
    period: int
    count: int
    bitmap: frozenset[int] | None


def count_common(probed: PlainTree, probing: PlainTree, period: int, work: Work) -> int:
    """The edges of one tree that the other has too, each probed by division or in the bitmap (000 Example 4)."""
    if probed.bitmap is not None and probing.bitmap is not None:
        edges = [point + i for i in range(0, period, probing.period) for point in probing.bitmap]
        work.probes += len(edges)
        return sum(point % probed.period in probed.bitmap for point in edges)
    points = {p for edges in probing.edges for phase, every in edges for p in range(phase, period, every)}
    return sum(divides(probed.edges, point, work) for point in points)


def divides(queries: Sequence[tuple[Progression, ...]], point: int, work: Work) -> bool:
    """Whether a point is an edge of some query: at most two divisions each."""
    for edges in queries:
        for phase, every in edges:
            work.probes += 1
            if (point - phase) % every == 0:
                return True
    return False


class PlainWeave:
    """Trees, their gains, and the work done so far."""

    def __init__(self, problem: Problem, savings: Savings):
        self.problem = replace(problem, by_query=True)
        self.savings, self.work = savings, Work()
        self.trees = [self.leaf(i) for i in range(len(problem.windows))]
        self.gains: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}

    def leaf(self, query: int) -> PlainTree:
        """A tree of one query."""
        edges = self.problem.kinds[query].edges
        bitmap = frozenset(phase for phase, _ in edges) if self.savings.bitmap else None
        return PlainTree((query,), (edges,), edges[0][1], len(edges), bitmap)

    def cost(self, queries: tuple[int, ...], rate: float) -> float:
        """What a tree of these queries and this edge rate costs."""
        return self.problem.pricing.tree(self.problem.members(queries), rate)

    def cost_of(self, tree: PlainTree) -> float:
        """What a tree costs."""
        return self.cost(tree.queries, tree.count / tree.period)

    def merged_count(self, a: PlainTree, b: PlainTree) -> int:
        """The edges of two trees' composite slide: both stretched, less what they have in common."""
        period = lcm(a.period, b.period)
        sparse = a if a.count / a.period <= b.count / b.period else b
        probing = sparse if self.savings.reorder else b
        common = count_common(b if probing is a else a, probing, period, self.work)
        return a.count * (period // a.period) + b.count * (period // b.period) - common

    def gain(self, a: PlainTree, b: PlainTree) -> float:
        """What merging two trees saves (000 Eq. 5)."""
        key = (a.queries, b.queries)
        if not (self.savings.lookup and key in self.gains):
            self.work.pairs += 1
            rate = self.merged_count(a, b) / lcm(a.period, b.period)
            self.gains[key] = self.cost_of(a) + self.cost_of(b) - self.cost((*a.queries, *b.queries), rate)
        return self.gains[key]

    def merge(self, a: PlainTree, b: PlainTree) -> PlainTree:
        """Two trees as one."""
        period = lcm(a.period, b.period)
        bitmap = None
        if a.bitmap is not None and b.bitmap is not None:
            bitmap = frozenset(p + i for t in (a, b) for i in range(0, period, t.period) for p in t.bitmap or ())
        count = self.merged_count(a, b)
        return PlainTree((*a.queries, *b.queries), (*a.edges, *b.edges), period, count, bitmap)

    def weave(self) -> Groups:
        """Merges the best pair until none gains."""
        while len(self.trees) > 1:
            pairs = [(a, b) for i, a in enumerate(self.trees) for b in self.trees[i + 1 :]]
            best = max(pairs, key=lambda pair: self.gain(*pair))
            if self.gain(*best) <= 1e-12 * (self.cost_of(best[0]) + self.cost_of(best[1])):
                break
            self.trees = [*(t for t in self.trees if t not in best), self.merge(*best)]
        return tuple(sorted(tuple(sorted(tree.queries)) for tree in self.trees))


def group(problem: Problem) -> Groups:
    """With all that spares work, if the composite slide is short enough to list its edges."""
    if problem.slicer is not PAIRS:
        raise PlanError(f"Weave Share to the letter counts the edges of Pairs, not of {problem.slicer.title}: use "
                        "weave_share.")
    period = lcm(*(window.slide for window in problem.windows)) // gcd(*(w.slide for w in problem.windows))
    if period > MOST:
        raise PlanError(f"Weave Share to the letter lists every edge, and these slides repeat only after {period} "
                        f"steps, more than {MOST}: use weave_share.")
    return PlainWeave(problem, Savings()).weave()


weave_plain = Optimizer(
    "weave_share:plain", "Weave Share to the letter", "Looks at every pair of trees in every round and counts edges by "
    "probing; for the paper's figure and as a check of Weave Share.", "000 §5.1, §8", group, most=250,
)
