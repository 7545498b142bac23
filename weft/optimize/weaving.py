"""Weaving: merge the two trees that gain most, until no merge gains (000 Fig. 2), without looking at every pair twice.

Gains stand in a table (000 §8.1). After a merge only an upper bound of the new tree's gains is estimated, for all other
trees at once: it shares no more edges with a third tree than its two parts did together. A bound that comes out on top
is made exact before it counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.optimize.edges import common_rates
from weft.optimize.problem import Problem, TreeUnderWork

NEVER = -np.inf


class GreedyMerge:
    """Trees on the way to a plan: their gains in a table, exact or bounded from above."""

    def __init__(self, problem: Problem, trees: Sequence[TreeUnderWork], common: np.ndarray, exact: bool):
        self.problem, technique = problem, problem.pricing.technique
        self.trees: list[TreeUnderWork | None] = list(trees)
        self.common = common
        self.rate = np.array([t.rate for t in trees])
        self.cost = np.array([t.cost for t in trees])
        self.omega = np.array([technique.lasting(t.members, t.rate) for t in trees])
        self.alike = technique.alike([t.members for t in trees], self.rate)
        self.size = np.array([len(t.members) for t in trees], float)
        self.gain = np.stack([self.bounds(i) for i in range(len(trees))])
        self.exact = np.full(self.gain.shape, exact and technique.additive and technique.fixed)
        np.fill_diagonal(self.gain, NEVER)
        self.best = self.gain.argmax(1)
        self.top = self.gain.max(1)

    def bounds(self, i: int) -> np.ndarray:
        """At most what merging tree i with each other tree gains."""
        pricing = self.problem.pricing
        least = np.maximum(np.maximum(self.rate, self.rate[i]), self.rate + self.rate[i] - self.common[i])
        omega = pricing.technique.least(self.omega, self.omega[i], self.size, self.size[i])
        omega = np.maximum(omega, self.omega + self.omega[i] - self.alike[i])
        return self.cost + self.cost[i] - (pricing.base(least) + pricing.weight(least) * omega)

    def weave(self) -> list[TreeUnderWork]:
        """Merges until nothing gains."""
        while len(self.trees) > 1:
            i = int(self.top.argmax())
            j = int(self.best[i])
            if self.top[i] <= 1e-12 * (self.cost[i] + self.cost[j]):  # what rounding may pretend to gain
                break
            if self.exact[i, j]:
                self.merge(i, j)
            else:
                self.settle(i, j)
        return [t for t in self.trees if t is not None]

    def settle(self, i: int, j: int) -> None:
        """Replaces a bound by the gain itself."""
        a, b = self.trees[i], self.trees[j]
        assert a is not None and b is not None
        self.gain[i, j] = self.gain[j, i] = self.cost[i] + self.cost[j] - self.merged_cost(i, j, a, b)
        self.exact[i, j] = self.exact[j, i] = True
        for k in (i, j):
            self.best[k] = self.gain[k].argmax()
            self.top[k] = self.gain[k, self.best[k]]

    def merged_cost(self, i: int, j: int, a: TreeUnderWork, b: TreeUnderWork) -> float:
        """What two trees cost as one."""
        pricing, sets = self.problem.pricing, self.problem.sets
        technique = pricing.technique
        if not (technique.fixed and technique.additive) or self.problem.by_query:
            return self.problem.merge(a, b).cost
        rate = sets.rate(sets.union(a.edges, b.edges))
        return float(pricing.base(rate) + pricing.weight(rate) * (self.omega[i] + self.omega[j]))

    def merge(self, i: int, j: int) -> None:
        """Tree i becomes i and j; tree j is gone."""
        a, b = self.trees[i], self.trees[j]
        assert a is not None and b is not None
        tree = self.problem.merge(a, b)
        self.trees[i], self.trees[j] = tree, None
        self.common[i] += self.common[j]
        self.common[:, i] = self.common[i]
        self.alike[i] += self.alike[j]
        self.alike[:, i] = self.alike[i]
        self.rate[i], self.cost[i], self.size[i] = tree.rate, tree.cost, len(tree.members)
        self.omega[i] = self.problem.pricing.technique.lasting(tree.members, tree.rate)
        self.forget(j)
        gains = np.where(np.isneginf(self.gain[i]), NEVER, self.bounds(i))
        gains[i] = NEVER
        self.gain[i], self.gain[:, i] = gains, gains
        self.exact[i], self.exact[:, i] = False, False
        self.renew(i, j)

    def forget(self, j: int) -> None:
        """Takes a tree out of the table."""
        self.gain[j], self.gain[:, j], self.top[j] = NEVER, NEVER, NEVER

    def renew(self, i: int, j: int) -> None:
        """Finds each tree's best partner again where it may have changed."""
        stale = np.flatnonzero((self.best == i) | (self.best == j))
        self.best[stale] = self.gain[stale].argmax(1)
        self.top[stale] = self.gain[stale, self.best[stale]]
        better = self.gain[:, i] > self.top
        self.best[better], self.top[better] = i, self.gain[better, i]
        self.best[i], self.top[i] = self.gain[i].argmax(), self.gain[i].max()


def weave(problem: Problem) -> list[TreeUnderWork]:
    """The trees that greedy merging of kinds ends with."""
    leaves = [problem.leaf(i) for i in range(len(problem.kinds))]
    if problem.slicer.join is not None:
        return weave_trees(problem, leaves)
    return GreedyMerge(problem, leaves, common_rates([k.edges for k in problem.kinds]), exact=True).weave()


def weave_trees(problem: Problem, trees: Sequence[TreeUnderWork]) -> list[TreeUnderWork]:
    """Merges trees greedily; nothing is known of what they share, so every bound is made exact when it counts."""
    shared = np.minimum.outer([t.rate for t in trees], [t.rate for t in trees])
    return GreedyMerge(problem, trees, shared, exact=False).weave()
