"""Incremental Weave Share: queries come and go; the plan is woven anew only when it has grown bad (000 §5.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf, lcm
from typing import Any

import numpy as np

from weft.cost.model import Model
from weft.cost.techniques import Members
from weft.errors import PlanError
from weft.model.edges import Progression, edges_of
from weft.model.window import Window
from weft.optimize.edges import BitSets, EdgeSets, ProgressionSets, edge_sets
from weft.optimize.problem import Groups, Problem, TreeUnderWork
from weft.optimize.weaving import weave

GROWTH = 0.2  # a plan of so many more queries, or fewer, is woven anew: the slope holds only nearby


@dataclass(frozen=True)
class PlanChange:
    """One entry of a plan's history: what was done, and the plan after it.

    `expected` is the cost that the slope of earlier plans foretells; `compared` counts the pairs of trees looked at.
    """

    action: str
    query: int | None
    queries: int
    trees: int
    cost: float
    expected: float
    rebuilt: bool
    compared: int


@dataclass
class Held:
    """A kind of a plan under change: its edges, how often it has each window, and its queries by number."""

    edges: tuple[Progression, ...]
    windows: Counter[Window] = field(default_factory=Counter)
    queries: set[int] = field(default_factory=set)


class Incremental:
    """A woven plan that queries can be added to and taken from.

    `tolerance` is ε of Eq. 6: 0 weaves anew after every change, infinity never does. In between a plan is also woven
    anew when its queries have become a fifth more or fewer, so that the curve of plan costs has a point nearby.
    """

    def __init__(self, model: Model, windows: Iterable[Window] = (), tolerance: float = 0.2):
        if not tolerance >= 0:
            raise PlanError(f"the tolerance must not be negative, nor {tolerance}: 0.2 allows a plan to be 20 % worse.")
        self.model, self.tolerance, self._pricing = model, tolerance, model.apart()
        self.windows: dict[int, Window] = dict(enumerate(windows))
        self.history: list[PlanChange] = []
        self.curve: list[tuple[int, float]] = []
        self._next = len(self.windows)
        self._rebuild()
        self._note("weave", None, True, 0)

    @property
    def trees(self) -> list[TreeUnderWork]:
        """The trees of the plan."""
        return list(self._trees.values())

    @property
    def cost(self) -> float:
        """What the plan costs."""
        return sum(tree.cost for tree in self._trees.values())

    @property
    def groups(self) -> Groups:
        """The queries of each tree, by the numbers they were given."""
        return tuple(sorted(tuple(sorted(q for k in t.kinds for q in self._kinds[k].queries)) for t in self.trees))

    def add(self, window: Window) -> int:
        """Weaves a new query into the plan and gives it a number."""
        number, self._next = self._next, self._next + 1
        self.windows[number] = window
        compared = self._settle(self._append(number, window))
        self._finish("add", number, compared)
        return number

    def delete(self, number: int) -> None:
        """Takes a query out and weaves its tree with the others again."""
        if number not in self.windows:
            raise PlanError(f"there is no query {number} in this plan.")
        compared = self._settle(self._drop(number, self.windows.pop(number)))
        self._finish("delete", number, compared)

    def _rebuild(self) -> None:
        """Weaves all queries from scratch: a point of the plan-cost curve."""
        self._kinds: dict[int, Held] = {}
        self._by_edges: dict[tuple[Progression, ...], int] = {}
        self._sets: EdgeSets = ProgressionSets()
        self._trees: dict[int, TreeUnderWork] = {}
        if self.windows:
            self._weave(Problem(tuple(self.windows.values()), self.model))
            self.curve.append((len(self.windows), self.cost))
        self._tree_of = {kind: name for name, tree in self._trees.items() for kind in tree.kinds}

    def _weave(self, problem: Problem) -> None:
        """Takes over the kinds, edge sets and trees of all queries woven at once."""
        numbers = list(self.windows)
        for kind in problem.kinds:
            held = self._kinds[self._kind(kind.edges)]
            held.queries.update(numbers[q] for q in kind.queries)
            held.windows.update(problem.windows[q] for q in kind.queries)
        self._sets = problem.sets
        self._trees = dict(enumerate(weave(problem)))

    def _kind(self, edges: tuple[Progression, ...]) -> int:
        """The number of a kind, which may be new."""
        if edges not in self._by_edges:
            self._by_edges[edges] = len(self._kinds)
            self._kinds[len(self._kinds)] = Held(edges)
        return self._by_edges[edges]

    def _finish(self, action: str, number: int, compared: int) -> None:
        """Weaves anew if the plan is too far from what the curve foretells (Eq. 6), or the curve's last point is."""
        expected = self._expected(len(self.windows))
        late = expected > 0 and self.cost / expected - 1 > self.tolerance
        rebuilt = bool(self.windows) and (self.tolerance == 0 or late or self._far())
        if rebuilt:
            self._rebuild()
            compared += len(self._kinds) ** 2 // 2
        self._note(action, number, rebuilt, compared)

    def _far(self) -> bool:
        """Whether queries have become many more or fewer since the plan was woven."""
        before = self.curve[-1][0] if self.curve else 0
        return self.tolerance < inf and abs(len(self.windows) - before) > GROWTH * before

    def _expected(self, queries: int) -> float:
        """The cost by the slope of the last two plans made from scratch, or through the origin."""
        if not self.curve:
            return inf
        (n1, c1), (n0, c0) = self.curve[-1], self.curve[-2] if len(self.curve) > 1 else (0, 0.0)
        slope = (c1 - c0) / (n1 - n0) if n1 != n0 else c1 / max(n1, 1)
        return max(c1 + slope * (queries - n1), 0.0)

    def _note(self, action: str, query: int | None, rebuilt: bool, compared: int) -> None:
        self.history.append(PlanChange(action, query, len(self.windows), len(self._trees), self.cost,
                                   self._expected(len(self.windows)), rebuilt, compared))

    def _append(self, number: int, window: Window) -> int | None:
        """Makes the query a tree, or lets it join its kind's; says which tree is new or changed."""
        if not self._trees:
            self._rebuild()
            return None
        kind = self._kind(edges_of(window))
        held, known = self._kinds[kind], kind in self._tree_of
        fresh = window not in held.windows
        held.queries.add(number)
        held.windows[window] += 1
        if not known:
            return self._plant(kind, window)
        name = self._tree_of[kind]
        if fresh:
            tree = self._trees[name]
            self._trees[name] = self._changed(tree, tree.members.join(only(window)))
        return name

    def _plant(self, kind: int, window: Window) -> int:
        """A new tree of one kind; if its edges do not fit the others', every tree's edges are made again."""
        if not fits(self._sets, window):
            self._sets = edge_sets([self._kinds[k].edges for k in (*self._tree_of, kind)])
            self._trees = {name: self._grown(tree.kinds, tree.members) for name, tree in self._trees.items()}
        return self._put(self._grown((kind,), only(window)))

    def _put(self, tree: TreeUnderWork) -> int:
        """Takes in a tree under a new name."""
        name = max(self._trees, default=-1) + 1
        self._trees[name] = tree
        self._tree_of.update(dict.fromkeys(tree.kinds, name))
        return name

    def _grown(self, kinds: tuple[int, ...], members: Members) -> TreeUnderWork:
        """The tree of kinds whose windows are known."""
        return self._tree(kinds, members, self._sets.of({edge for k in kinds for edge in self._kinds[k].edges}))

    def _tree(self, kinds: tuple[int, ...], members: Members, edges: Any) -> TreeUnderWork:
        """A tree with its rate and cost."""
        rate = self._sets.rate(edges)
        return TreeUnderWork(kinds, members, edges, rate, self._pricing.tree(members, rate))

    def _changed(self, tree: TreeUnderWork, members: Members) -> TreeUnderWork:
        """A tree of the same edges with other windows."""
        return replace(tree, members=members, cost=self._pricing.tree(members, tree.rate))

    def _drop(self, number: int, window: Window) -> int | None:
        """Takes a query from its kind, and an empty kind from its tree; says which tree to look at again."""
        kind = self._by_edges[edges_of(window)]
        held, name = self._kinds[kind], self._tree_of[kind]
        held.queries.remove(number)
        held.windows[window] -= 1
        if held.windows[window]:
            return name
        del held.windows[window]
        tree = self._trees[name]
        members = without(tree.members, window)
        if held.queries:
            self._trees[name] = self._changed(tree, members)
            return name
        del self._tree_of[kind]
        return self._cut(name, tuple(k for k in tree.kinds if k != kind), members)

    def _cut(self, name: int, kinds: tuple[int, ...], members: Members) -> int | None:
        """A tree that keeps only these kinds, if there are any."""
        if not kinds:
            del self._trees[name]
            return None
        self._trees[name] = self._grown(kinds, members)
        return name

    def _settle(self, name: int | None) -> int:
        """Merges a changed tree with whichever gains most, and the result again, until nothing gains."""
        compared = 0
        while name is not None and len(self._trees) > 1:
            tree = self._trees[name]
            merged = {i: self._merged(other, tree) for i, other in self._trees.items() if i != name}
            compared += len(merged)
            gains = {i: self._trees[i].cost + tree.cost - new.cost for i, new in merged.items()}
            best = max(gains, key=gains.__getitem__)
            if gains[best] <= 1e-12 * tree.cost:
                break
            del self._trees[best], self._trees[name]
            name = self._put(merged[best])
        return compared

    def _merged(self, a: TreeUnderWork, b: TreeUnderWork) -> TreeUnderWork:
        """Two trees as one."""
        return self._tree((*a.kinds, *b.kinds), a.members.join(b.members), self._sets.union(a.edges, b.edges))


def only(window: Window) -> Members:
    """One window as a member."""
    return Members(np.array([float(window.range)]), np.array([float(window.slide)]))


def without(members: Members, window: Window) -> Members:
    """Members less a window."""
    place = np.flatnonzero((members.ranges == window.range) & (members.slides == window.slide))[0]
    return replace(members, ranges=np.delete(members.ranges, place), slides=np.delete(members.slides, place))


def fits(sets: EdgeSets, window: Window) -> bool:
    """Whether the edge sets of a plan can hold one more window."""
    if not isinstance(sets, BitSets):
        return True
    numbers = [n for edge in edges_of(window) for n in edge]
    return all(n % sets.unit == 0 for n in numbers) and lcm(sets.period, window.slide // sets.unit) == sets.period
