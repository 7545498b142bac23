"""Exhaustive: every way to part the queries into trees; the oracle for few of them (000 §7.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem

MOST = 10


def partitions(size: int) -> Iterator[list[list[int]]]:
    """Every partition of 0 … size − 1: the last element joins each block of the others, or stands alone."""
    if size == 0:
        yield []
        return
    for rest in partitions(size - 1):
        for i in range(len(rest)):
            yield [*rest[:i], [*rest[i], size - 1], *rest[i + 1 :]]
        yield [*rest, [size - 1]]


def group(problem: Problem) -> Groups:
    """The cheapest partition."""
    each = replace(problem, by_query=True)
    costs: dict[tuple[int, ...], float] = {}

    def cost(block: list[int]) -> float:
        kinds = tuple(block)
        if kinds not in costs:
            costs[kinds] = each.grown(kinds).cost
        return costs[kinds]

    best = min(partitions(len(problem.windows)), key=lambda blocks: sum(map(cost, blocks)))
    return tuple(sorted(tuple(block) for block in best))


exhaustive = Optimizer(
    "exhaustive", "Exhaustive", "Tries every partition of the queries.", "000 §7.1", group, most=MOST,
)
