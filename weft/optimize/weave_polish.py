"""Weave Share, polished: after weaving, single kinds move to other trees, or to one of their own, while that gains.

Weaving only ever merges, so a kind stays where it came to early even if a tree that grew later suits it better. What
taking a kind out saves is known from the marks that no other kind of the tree has. What a tree would pay for it is
bounded from below first, without its edges, and counted only where the bound leaves a gain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np

from weft.cost.techniques import Members
from weft.optimize.base import Optimizer
from weft.optimize.edges import BitSets
from weft.optimize.problem import Groups, Problem, TreeUnderWork
from weft.optimize.weaving import weave

LOOKS = 3  # what comes after gains next to nothing
ROUNDING = 1e-12


@dataclass(frozen=True)
class Parts:
    """What the kinds of a tree have to themselves: marks of one kind only, where its members begin, projections."""

    own: np.ndarray
    begins: dict[int, int]
    projections: Counter[int]

    def members_without(self, kind: int, tree: TreeUnderWork, leaf: TreeUnderWork) -> Members:
        """A tree's windows and projections without those of a kind."""
        begin = self.begins[kind]
        ranges, slides = (np.concatenate((whole[:begin], whole[begin + len(leaf.members) :]))
                          for whole in (tree.members.ranges, tree.members.slides))
        gone = {number for number in leaf.members.projections if self.projections[number] == 1}
        return Members(ranges, slides, tree.members.projections - gone)

    def with_kind(self, kind: int, tree: TreeUnderWork, leaf: TreeUnderWork) -> Parts:
        """The parts of a tree when a kind has joined it."""
        own = self.own & ~leaf.edges | leaf.edges & ~tree.edges
        return Parts(own, self.begins | {kind: len(tree.members)}, self.projections + Counter(leaf.members.projections))


def parts_of(tree: TreeUnderWork, leaves: Sequence[TreeUnderWork]) -> Parts:
    """The parts of a tree; its members stand in the order of its kinds."""
    mine = [leaves[kind] for kind in tree.kinds]
    begins = accumulate((len(leaf.members) for leaf in mine[:-1]), initial=0)
    held = Counter(chain.from_iterable(leaf.members.projections for leaf in mine))
    return Parts(own_marks([leaf.edges for leaf in mine]), dict(zip(tree.kinds, begins, strict=True)), held)


def own_marks(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The marks that only one part has."""
    once, twice = parts[0].copy(), np.zeros_like(parts[0])
    for part in parts[1:]:
        twice |= once & part
        once |= part
    return once & ~twice


class Polish:
    """Trees whose kinds may move."""

    def __init__(self, problem: Problem, trees: Sequence[TreeUnderWork], sets: BitSets):
        self.problem, self.sets, self.trees = problem, sets, list(trees)
        self.leaves = [problem.leaf(i) for i in range(len(problem.kinds))]
        self.parts = [parts_of(tree, self.leaves) for tree in self.trees]
        self.omegas = [self.lasting(tree) for tree in self.trees]
        self.alone = [self.lasting(leaf) for leaf in self.leaves]
        self.home = {kind: place for place, tree in enumerate(self.trees) for kind in tree.kinds}
        self.survey()

    def lasting(self, tree: TreeUnderWork) -> float:
        """At least a tree's Ω."""
        return self.problem.pricing.technique.lasting(tree.members, tree.rate)

    def survey(self) -> None:
        """Notes what the trees cost."""
        self.rate = np.array([tree.rate for tree in self.trees])
        self.cost = np.array([tree.cost for tree in self.trees])
        self.size = np.array([len(tree.members) for tree in self.trees], float)
        self.omega = np.array(self.omegas)

    def polish(self) -> list[TreeUnderWork]:
        """Looks at the kinds in turn until all stay where they are, or each was looked at a few times."""
        kinds, still = len(self.leaves), 0
        for look in range(LOOKS * kinds):
            still = 0 if self.move(look % kinds) else still + 1
            if still == kinds:
                break
        return self.trees

    def move(self, kind: int) -> bool:
        """Moves a kind to where it gains most; says whether it gains anywhere."""
        best, target = self.saved(kind) - ROUNDING * self.cost[self.home[kind]], None
        for place, bound in self.targets(kind, best):
            if bound >= best:
                break
            paid = self.paid(place, kind)
            if paid < best:
                best, target = paid, place
        apart = len(self.trees[self.home[kind]].kinds) > 1 and self.leaves[kind].cost < best
        if target is None and not apart:
            return False
        self.apply(kind, None if apart else target)
        return True

    def saved(self, kind: int) -> float:
        """What its tree saves without a kind."""
        place = self.home[kind]
        tree = self.trees[place]
        return tree.cost - (self.rest(place, kind).cost if len(tree.kinds) > 1 else 0.0)

    def rest(self, place: int, kind: int) -> TreeUnderWork:
        """A tree without one of its kinds."""
        tree, parts, leaf = self.trees[place], self.parts[place], self.leaves[kind]
        kinds, edges = tuple(k for k in tree.kinds if k != kind), tree.edges & ~(leaf.edges & parts.own)
        return self.problem.tree(kinds, parts.members_without(kind, tree, leaf), edges)

    def targets(self, kind: int, most: float) -> Iterator[tuple[int, float]]:
        """The trees that may take in a kind for less than `most`, the cheapest first, each with a bound."""
        rate = np.maximum(self.rate, self.leaves[kind].rate)
        near = np.flatnonzero(self.bounds(kind, rate) < most)
        near = near[near != self.home[kind]]
        rate[near] = [self.sets.rate(self.trees[i].edges | self.leaves[kind].edges) for i in near]
        bounds = self.bounds(kind, rate)
        return ((int(i), float(bounds[i])) for i in near[bounds[near].argsort(kind="stable")])

    def bounds(self, kind: int, rate: np.ndarray) -> np.ndarray:
        """At least what each tree pays for a kind, if its edge rate becomes this."""
        pricing, size = self.problem.pricing, len(self.leaves[kind].members)
        omega = pricing.technique.least(self.omega, self.alone[kind], self.size, size)
        return pricing.base(rate) + pricing.weight(rate) * omega - self.cost

    def paid(self, place: int, kind: int) -> float:
        """What a tree pays for one more kind."""
        return self.problem.merge(self.trees[place], self.leaves[kind]).cost - self.trees[place].cost

    def apply(self, kind: int, target: int | None) -> None:
        """Takes a kind out of its tree and puts it into another, or makes it one."""
        source, leaf = self.home[kind], self.leaves[kind]
        if target is None:
            self.put(len(self.trees), leaf, parts_of(leaf, self.leaves))
        else:
            tree = self.trees[target]
            self.put(target, self.problem.merge(tree, leaf), self.parts[target].with_kind(kind, tree, leaf))
        self.home[kind] = len(self.trees) - 1 if target is None else target
        if len(self.trees[source].kinds) > 1:
            rest = self.rest(source, kind)
            self.put(source, rest, parts_of(rest, self.leaves))
        else:
            self.remove(source)
        self.survey()

    def put(self, place: int, tree: TreeUnderWork, parts: Parts) -> None:
        """Sets a tree in its place, which may be the next."""
        self.trees[place : place + 1], self.parts[place : place + 1] = [tree], [parts]
        self.omegas[place : place + 1] = [self.lasting(tree)]

    def remove(self, place: int) -> None:
        """Drops a tree that has no kinds left."""
        del self.trees[place], self.parts[place], self.omegas[place]
        self.home = {kind: at - (at > place) for kind, at in self.home.items()}


def group(problem: Problem) -> Groups:
    """Weaves, then polishes; not where edges are too many to mark: sampled ones cannot tell such small gains."""
    trees, sets = weave(problem), problem.sets
    return problem.groups(Polish(problem, trees, sets).polish() if isinstance(sets, BitSets) else trees)


weave_polish = Optimizer(
    "weave_share:polish", "Weave Share, polished", "As Weave Share; then queries of equal edges move to other trees "
    "while that gains.", "000 §5.1, §6", group,
)
