"""Weave Share, polished: after weaving, single kinds move to other trees, or to one of their own, while that gains.

Weaving only ever merges, so a kind stays where it came to early even if a tree that grew later suits it better. What
taking a kind out saves is known exactly for all kinds of a tree at once. What a tree would pay for it is bounded from
below first, without its edges, and counted only where the bound leaves a gain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from weft.cost.techniques import Members
from weft.optimize.base import Optimizer
from weft.optimize.edges import BitSets
from weft.optimize.problem import Groups, Problem, Tree
from weft.optimize.weaving import weave

ROUNDING = 1e-12


class Polish:
    """Trees whose kinds may move: what each kind's leaving saves, and what each tree costs."""

    def __init__(self, problem: Problem, trees: Sequence[Tree], sets: BitSets):
        self.problem, self.sets, self.trees = problem, sets, list(trees)
        self.leaves = [problem.leaf(i) for i in range(len(problem.kinds))]
        technique = problem.pricing.technique
        self.lasting = [technique.lasting(leaf.members, leaf.rate) for leaf in self.leaves]
        self.savings: dict[tuple[int, ...], dict[int, float]] = {}
        self.survey()

    def survey(self) -> None:
        """Notes where every kind is, and what the trees cost."""
        technique = self.problem.pricing.technique
        self.home = {kind: place for place, tree in enumerate(self.trees) for kind in tree.kinds}
        self.rate = np.array([tree.rate for tree in self.trees])
        self.cost = np.array([tree.cost for tree in self.trees])
        self.omega = np.array([technique.lasting(tree.members, tree.rate) for tree in self.trees])
        self.size = np.array([len(tree.members) for tree in self.trees], float)

    def polish(self) -> list[Tree]:
        """Looks at the kinds in turn until all stay where they are."""
        kinds, still, kind = len(self.leaves), 0, 0
        while still < kinds:
            still = 0 if self.move(kind) else still + 1
            kind = (kind + 1) % kinds
        return self.trees

    def move(self, kind: int) -> bool:
        """Moves a kind to where it gains most; says whether it gains anywhere."""
        saved, least = self.saved(kind), ROUNDING * self.cost[self.home[kind]]
        best, target = saved - least, None
        for place, bound in self.targets(kind, best):
            if bound >= best:
                break
            paid = self.paid(place, kind)
            if paid < best:
                best, target = paid, place
        alone = len(self.trees[self.home[kind]].kinds) > 1 and self.leaves[kind].cost < best
        if target is None and not alone:
            return False
        self.apply(kind, None if alone else target)
        return True

    def targets(self, kind: int, most: float) -> Iterator[tuple[int, float]]:
        """The trees that may take in a kind for less than `most`, the cheapest first, each with a bound."""
        bounds = self.bounds(kind, np.maximum(self.rate, self.leaves[kind].rate))
        near = np.flatnonzero(bounds < most)
        near = near[near != self.home[kind]]
        rates = np.array([self.sets.rate(self.trees[i].edges | self.leaves[kind].edges) for i in near])
        full = self.rate.copy()
        full[near] = rates
        counted = self.bounds(kind, full)
        return ((int(i), float(counted[i])) for i in near[counted[near].argsort(kind="stable")])

    def bounds(self, kind: int, rate: np.ndarray) -> np.ndarray:
        """At least what each tree pays for a kind, if its edge rate becomes this."""
        pricing, size = self.problem.pricing, len(self.leaves[kind].members)
        omega = pricing.technique.least(self.omega, self.lasting[kind], self.size, size)
        return pricing.base(rate) + pricing.weight(rate) * omega - self.cost

    def paid(self, place: int, kind: int) -> float:
        """What a tree pays for one more kind."""
        return self.problem.merge(self.trees[place], self.leaves[kind]).cost - self.trees[place].cost

    def saved(self, kind: int) -> float:
        """What its tree saves without a kind; reckoned for all kinds of the tree when first asked for."""
        tree = self.trees[self.home[kind]]
        if tree.kinds not in self.savings:
            self.savings[tree.kinds] = self.savings_of(tree)
        return self.savings[tree.kinds][kind]

    def savings_of(self, tree: Tree) -> dict[int, float]:
        """What a tree saves without each of its kinds."""
        if len(tree.kinds) == 1:
            return {tree.kinds[0]: tree.cost}
        leaves = [self.leaves[kind] for kind in tree.kinds]
        rates = self.sets.rates_without([leaf.edges for leaf in leaves])
        rests = members_without([leaf.members for leaf in leaves])
        return {kind: tree.cost - self.problem.pricing.tree(rest, rate)
                for kind, rest, rate in zip(tree.kinds, rests, rates, strict=True)}

    def apply(self, kind: int, target: int | None) -> None:
        """Takes a kind out of its tree and puts it into another, or makes it one."""
        source, leaf = self.home[kind], self.leaves[kind]
        if target is None:
            self.trees.append(leaf)
        else:
            self.trees[target] = self.problem.merge(self.trees[target], leaf)
        left = [k for k in self.trees[source].kinds if k != kind]
        if left:
            self.trees[source] = self.joined(left)
        else:
            del self.trees[source]
        self.survey()

    def joined(self, kinds: Sequence[int]) -> Tree:
        """The tree of several kinds."""
        leaves = [self.leaves[kind] for kind in kinds]
        edges = np.bitwise_or.reduce([leaf.edges for leaf in leaves])
        return self.problem.tree(tuple(kinds), joined_members([leaf.members for leaf in leaves]), edges)


def joined_members(parts: Sequence[Members]) -> Members:
    """The windows and projections of several kinds."""
    ranges, slides = (np.concatenate(arrays) for arrays in zip(*((p.ranges, p.slides) for p in parts), strict=True))
    return Members(ranges, slides, frozenset().union(*(p.projections for p in parts)))


def members_without(parts: Sequence[Members]) -> Iterator[Members]:
    """The windows and projections of all kinds but each in turn."""
    whole, begin = joined_members(parts), 0
    held = Counter(number for part in parts for number in part.projections)
    for part in parts:
        gone = slice(begin, begin + len(part))
        begin += len(part)
        kept = whole.projections - {number for number in part.projections if held[number] == 1}
        yield replace(whole, ranges=np.delete(whole.ranges, gone), slides=np.delete(whole.slides, gone),
                      projections=kept)


def group(problem: Problem) -> Groups:
    """Weaves, then polishes; not where edges are too many to mark: sampled ones cannot tell such small gains."""
    trees, sets = weave(problem), problem.sets
    return problem.groups(Polish(problem, trees, sets).polish() if isinstance(sets, BitSets) else trees)


weave_polish = Optimizer(
    "weave_polish", "Weave Share, polished", "As Weave Share; then queries of equal edges move to other trees while "
    "that gains.", "000 §5.1, §6", group,
)
