"""Local Search: move one query at a time to the tree that gains most (000 §6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from weft.optimize.base import Optimizer
from weft.optimize.no_share import no_share
from weft.optimize.problem import Groups, Problem
from weft.optimize.random_share import random_share
from weft.optimize.weave_share import group as weave_group


class Search:
    """A plan under change: blocks of queries and what each costs."""

    def __init__(self, problem: Problem, start: Groups):
        self.problem = replace(problem, by_query=True)
        self.blocks = [frozenset(block) for block in start]
        self.costs: dict[frozenset[int], float] = {frozenset(): 0.0}

    def cost(self, block: frozenset[int]) -> float:
        """What a block costs as a tree."""
        if block not in self.costs:
            self.costs[block] = self.problem.grown(sorted(block)).cost
        return self.costs[block]

    def step(self) -> bool:
        """Makes the move that gains most; says whether there was one."""
        best, move = 1e-12, None
        for i, source in enumerate(self.blocks):
            for query in source:
                left = source - {query}
                saved = self.cost(source) - self.cost(left)
                for j, target in enumerate([*self.blocks, frozenset[int]()]):
                    if j == i or (not target and not left):
                        continue
                    gain = saved + self.cost(target) - self.cost(target | {query})
                    if gain > best * (1 + 1e-9):
                        best, move = gain, (i, j, query)
        if move is None:
            return False
        self.apply(*move)
        return True

    def apply(self, i: int, j: int, query: int) -> None:
        """Moves a query from block i to block j, which may be new."""
        blocks = [*self.blocks, frozenset[int]()]
        blocks[i], blocks[j] = blocks[i] - {query}, blocks[j] | {query}
        self.blocks = [block for block in blocks if block]


def group(problem: Problem, start: Callable[[Problem], Groups], times: int) -> Groups:
    """At most `times` as many moves as Weave Share makes merges."""
    merges = len(problem.windows) - len(weave_group(problem))
    search = Search(problem, start(problem))
    for _ in range(times * max(merges, 1)):
        if not search.step():
            break
    return tuple(sorted(tuple(sorted(block)) for block in search.blocks))


def make(start: Optimizer, times: int, *options: str, variants: tuple[Optimizer, ...] = ()) -> Optimizer:
    """Local Search from another optimizer's plan, bounded by a multiple of Weave Share's merges."""
    return Optimizer(
        ":".join(("local_search", *options)), f"Local Search, {start.title}, {times}×",
        f"Starts from {start.title} and moves one query at a time, at most {times} times as often as Weave Share "
        "merges.", "000 §6", partial(group, start=start.group, times=times), most=500, variants=variants,
    )


local_search = make(no_share, 10, variants=(
    make(no_share, 2, "2x"), make(no_share, 5, "5x"), make(random_share, 10, "random"),
    make(random_share, 2, "random", "2x"), make(random_share, 5, "random", "5x")))
