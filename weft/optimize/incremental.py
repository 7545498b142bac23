"""Incremental Weave Share: queries come and go; the plan is woven anew only when it has grown bad (000 §5.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, lcm

from weft.cost.model import Model
from weft.errors import PlanError
from weft.model.edges import edges_of
from weft.model.window import Window
from weft.optimize.edges import BitSets, EdgeSets, ProgressionSets, edge_sets
from weft.optimize.problem import Groups, Kind, Problem, Tree, with_kinds
from weft.optimize.weaving import weave


@dataclass(frozen=True)
class Change:
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


class Incremental:
    """A woven plan that queries can be added to and taken from.

    `tolerance` is ε of Eq. 6: 0 weaves anew after every change, infinity never does.
    """

    def __init__(self, model: Model, windows: Iterable[Window] = (), tolerance: float = 0.2):
        if not tolerance >= 0:
            raise PlanError(f"the tolerance must not be negative, nor {tolerance}: 0.2 allows a plan to be 20 % worse.")
        self.model, self.tolerance = model, tolerance
        self.windows: dict[int, Window] = dict(enumerate(windows))
        self.history: list[Change] = []
        self.curve: list[tuple[int, float]] = []
        self.trees: list[Tree] = []
        self._next = len(self.windows)
        self._rebuild()
        self._note("weave", None, True, 0)

    @property
    def cost(self) -> float:
        """What the plan costs."""
        return sum(tree.cost for tree in self.trees)

    @property
    def groups(self) -> Groups:
        """The queries of each tree, by the numbers they were given."""
        kinds = [kind.queries for kind in self._problem.kinds] if self.trees else []
        return tuple(sorted(tuple(sorted(self._names[q] for k in t.kinds for q in kinds[k])) for t in self.trees))

    def add(self, window: Window) -> int:
        """Weaves a new query into the plan and gives it a number."""
        number, self._next = self._next, self._next + 1
        self.windows[number] = window
        place = self._append(number, window)
        compared = self._settle([place])
        self._finish("add", number, compared)
        return number

    def delete(self, number: int) -> None:
        """Takes a query out and weaves its tree with the others again."""
        if number not in self.windows:
            raise PlanError(f"there is no query {number} in this plan.")
        del self.windows[number]
        query = self._names.index(number)
        self._names[query] = -1
        compared = self._settle(self._drop(query))
        self._finish("delete", number, compared)

    def _rebuild(self) -> None:
        """Weaves all queries from scratch: a point of the plan-cost curve."""
        self._names = list(self.windows)
        if not self.windows:
            self.trees, self._problem = [], Problem((Window(1, 1),), self.model)
            return
        self._problem = Problem(tuple(self.windows.values()), self.model)
        self.trees = weave(self._problem)
        self.curve.append((len(self.windows), self.cost))

    def _finish(self, action: str, number: int, compared: int) -> None:
        """Weaves anew if the plan is too far from what the curve foretells (Eq. 6)."""
        expected = self._expected(len(self.windows))
        late = self.cost / expected - 1 > self.tolerance if expected > 0 else False
        rebuilt = bool(self.windows) and (self.tolerance == 0 or late)
        if rebuilt:
            self._rebuild()
            compared += len(self._problem.kinds) ** 2 // 2
        self._note(action, number, rebuilt, compared)

    def _expected(self, queries: int) -> float:
        """The cost by the slope of the last two plans made from scratch, or through the origin."""
        if not self.curve:
            return inf
        (n1, c1), (n0, c0) = self.curve[-1], self.curve[-2] if len(self.curve) > 1 else (0, 0.0)
        slope = (c1 - c0) / (n1 - n0) if n1 != n0 else c1 / max(n1, 1)
        return max(c1 + slope * (queries - n1), 0.0)

    def _note(self, action: str, query: int | None, rebuilt: bool, compared: int) -> None:
        self.history.append(Change(action, query, len(self.windows), len(self.trees), self.cost,
                                   self._expected(len(self.windows)), rebuilt, compared))

    def _append(self, number: int, window: Window) -> int:
        """Makes the query a tree, or lets it join its kind's; says which tree is new or changed."""
        problem = self._problem
        if not self.trees:
            self._rebuild()
            return 0
        self._names.append(number)
        edges = edges_of(window)
        kind = next((i for i, k in enumerate(problem.kinds) if k.edges == edges and k.queries), None)
        self._problem = extended(problem, window, kind)
        if kind is None and not fits(problem.sets, window):  # every tree's edges are made again
            self.trees = [self._problem.grown(tree.kinds) for tree in self.trees]
        if kind is None:
            self.trees.append(self._problem.leaf(len(self._problem.kinds) - 1))
            return len(self.trees) - 1
        place = next(i for i, tree in enumerate(self.trees) if kind in tree.kinds)
        self.trees[place] = self._renewed(self.trees[place])
        return place

    def _renewed(self, tree: Tree) -> Tree:
        """A tree whose kinds have other queries than before."""
        members = self._problem.kinds[tree.kinds[0]].members
        for kind in tree.kinds[1:]:
            members = members.join(self._problem.kinds[kind].members)
        return replace(tree, members=members, cost=self._problem.pricing.tree(members, tree.rate))

    def _drop(self, query: int) -> list[int]:
        """Takes a query from its kind, and an empty kind from its tree; says which tree to look at again."""
        kind = next(i for i, k in enumerate(self._problem.kinds) if query in k.queries)
        place = next(i for i, tree in enumerate(self.trees) if kind in tree.kinds)
        self._problem = shrunk(self._problem, kind, query)
        tree = self.trees[place]
        if self._problem.kinds[kind].queries:
            self.trees[place] = self._renewed(tree)
            return [place]
        left = tuple(k for k in tree.kinds if k != kind)
        if not left:
            del self.trees[place]
            return []
        self.trees[place] = self._problem.grown(left)
        return [place]

    def _settle(self, places: list[int]) -> int:
        """Merges a changed tree with whichever gains most, and the result again, until nothing gains."""
        compared = 0
        while places and len(self.trees) > 1:
            place = places.pop()
            tree = self.trees[place]
            merged = {i: self._problem.merge(other, tree) for i, other in enumerate(self.trees) if i != place}
            compared += len(merged)
            gains = {i: self.trees[i].cost + tree.cost - new.cost for i, new in merged.items()}
            best = max(gains, key=gains.__getitem__)
            if gains[best] > 1e-12 * tree.cost:
                self.trees = [t for i, t in enumerate(self.trees) if i not in (best, place)] + [merged[best]]
                places = [len(self.trees) - 1]
        return compared


def fits(sets: EdgeSets, window: Window) -> bool:
    """Whether the edge sets of a plan can hold one more window."""
    if not isinstance(sets, BitSets):
        return True
    numbers = [n for edge in edges_of(window) for n in edge]
    return all(n % sets.unit == 0 for n in numbers) and lcm(sets.period, window.slide // sets.unit) == sets.period


def extended(problem: Problem, window: Window, kind: int | None) -> Problem:
    """The problem with one more query, of a kind it has or of a new one."""
    windows, query, kinds = (*problem.windows, window), len(problem.windows), list(problem.kinds)
    grown = replace(problem, windows=windows)
    if kind is None:
        kinds.append(grown.kind((query,)))
    else:
        kinds[kind] = grown.kind((*kinds[kind].queries, query))
    return with_kinds(problem, windows, tuple(kinds), fitting(problem.sets, window, kinds))


def fitting(sets: EdgeSets, window: Window, kinds: list[Kind]) -> EdgeSets:
    """The edge sets of these kinds: as they were made, if they can hold the new window."""
    edges = [kind.edges for kind in kinds]
    if not fits(sets, window):
        return edge_sets(edges)
    return BitSets(edges, sets.unit, sets.period) if isinstance(sets, BitSets) else ProgressionSets(edges)


def shrunk(problem: Problem, kind: int, query: int) -> Problem:
    """The problem without a query; its kind stays, perhaps empty."""
    kinds = list(problem.kinds)
    left = tuple(q for q in kinds[kind].queries if q != query)
    kinds[kind] = problem.kind(left) if left else replace(kinds[kind], queries=())
    return with_kinds(problem, problem.windows, tuple(kinds), problem.sets)
