"""Weave Share, polished: after weaving, single kinds move to other trees, or to one of their own, while that gains.

Weaving only ever merges, so a kind stays where it came to early even if a tree that grew later suits it better. What
taking a kind out saves is known from the marks that no other kind of the tree has. What a tree would pay for it is
bounded from below first, without its edges, and counted only where the bound leaves a gain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.cost.techniques import Members
from weft.optimize.base import Optimizer
from weft.optimize.edges import BitSets
from weft.optimize.problem import Groups, Problem, Tree
from weft.optimize.weaving import weave

LOOKS = 4  # what comes after gains next to nothing
ROUNDING = 1e-12


class Polish:
    """Trees whose kinds may move: what each kind's leaving saves, and what each tree costs."""

    def __init__(self, problem: Problem, trees: Sequence[Tree], sets: BitSets):
        self.problem, self.sets, self.trees = problem, sets, list(trees)
        self.leaves = [problem.leaf(i) for i in range(len(problem.kinds))]
        self.known: dict[tuple[int, ...], float] = {}
        self.parts: dict[tuple[int, ...], Parts] = {}
        self.survey()

    def survey(self) -> None:
        """Notes where every kind is, and what the trees cost."""
        self.home = {kind: place for place, tree in enumerate(self.trees) for kind in tree.kinds}
        self.rate = np.array([tree.rate for tree in self.trees])
        self.cost = np.array([tree.cost for tree in self.trees])
        self.omega = np.array([self.lasting(tree) for tree in self.trees])
        self.size = np.array([len(tree.members) for tree in self.trees], float)

    def lasting(self, tree: Tree) -> float:
        """At least a tree's Ω, reckoned once."""
        if tree.kinds not in self.known:
            self.known[tree.kinds] = self.problem.pricing.technique.lasting(tree.members, tree.rate)
        return self.known[tree.kinds]

    def polish(self) -> list[Tree]:
        """Looks at the kinds in turn until all stay where they are, or each was looked at a few times."""
        kinds, still = len(self.leaves), 0
        for look in range(LOOKS * kinds):
            still = 0 if self.move(look % kinds) else still + 1
            if still == kinds:
                break
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
        pricing, leaf = self.problem.pricing, self.leaves[kind]
        omega = pricing.technique.least(self.omega, self.lasting(leaf), self.size, len(leaf.members))
        return pricing.base(rate) + pricing.weight(rate) * omega - self.cost

    def paid(self, place: int, kind: int) -> float:
        """What a tree pays for one more kind."""
        return self.problem.merge(self.trees[place], self.leaves[kind]).cost - self.trees[place].cost

    def saved(self, kind: int) -> float:
        """What its tree saves without a kind."""
        tree, leaf = self.trees[self.home[kind]], self.leaves[kind]
        if len(tree.kinds) == 1:
            return tree.cost
        if tree.kinds not in self.parts:
            self.parts[tree.kinds] = parts_of(tree, self.leaves)
        parts = self.parts[tree.kinds]
        rate = self.sets.rate(tree.edges & ~(leaf.edges & parts.own))
        return tree.cost - self.problem.pricing.tree(parts.members_without(kind, tree, leaf), rate)

    def apply(self, kind: int, target: int | None) -> None:
        """Takes a kind out of its tree and puts it into another, or makes it one."""
        source, leaf = self.home[kind], self.leaves[kind]
        self.parts.pop(self.trees[source].kinds, None)
        if target is None:
            self.trees.append(leaf)
        else:
            self.parts.pop(self.trees[target].kinds, None)
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


@dataclass(frozen=True)
class Parts:
    """What the kinds of a tree have to themselves: marks of one kind only, where its members begin, projections."""

    own: np.ndarray
    begins: dict[int, int]
    projections: Counter[int]

    def members_without(self, kind: int, tree: Tree, leaf: Tree) -> Members:
        """A tree's windows and projections without those of a kind."""
        begin = self.begins[kind]
        ranges, slides = (np.concatenate((whole[:begin], whole[begin + len(leaf.members) :]))
                          for whole in (tree.members.ranges, tree.members.slides))
        gone = {number for number in leaf.members.projections if self.projections[number] == 1}
        return Members(ranges, slides, tree.members.projections - gone)


def parts_of(tree: Tree, leaves: Sequence[Tree]) -> Parts:
    """The parts of a tree; its members stand in the order of its kinds."""
    mine = [leaves[kind] for kind in tree.kinds]
    begins = np.cumsum([0, *(len(leaf.members) for leaf in mine)])[:-1].tolist()
    held = Counter(number for leaf in mine for number in leaf.members.projections)
    return Parts(own_marks([leaf.edges for leaf in mine]), dict(zip(tree.kinds, begins, strict=True)), held)


def own_marks(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The marks that only one part has."""
    once, twice = np.zeros_like(parts[0]), np.zeros_like(parts[0])
    for part in parts:
        twice |= once & part
        once |= part
    return once & ~twice


def joined_members(parts: Sequence[Members]) -> Members:
    """The windows and projections of several kinds."""
    ranges, slides = (np.concatenate(arrays) for arrays in zip(*((p.ranges, p.slides) for p in parts), strict=True))
    return Members(ranges, slides, frozenset().union(*(p.projections for p in parts)))


def group(problem: Problem) -> Groups:
    """Weaves, then polishes; not where edges are too many to mark: sampled ones cannot tell such small gains."""
    trees, sets = weave(problem), problem.sets
    return problem.groups(Polish(problem, trees, sets).polish() if isinstance(sets, BitSets) else trees)


weave_polish = Optimizer(
    "weave_polish", "Weave Share, polished", "As Weave Share; then queries of equal edges move to other trees while "
    "that gains.", "000 §5.1, §6", group,
)
