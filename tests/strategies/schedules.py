"""Random groups to schedule, the paper's three, and an oracle that knows nothing of how policies search."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import chain, combinations, product
from math import gcd

from hypothesis import strategies as st

from weft.optimize.schedule import RunGroup, ScheduleProblem
from weft.optimize.schedule.problem import MINUTE


def problem_of(groups: Iterable[tuple], overhead: float = 0) -> ScheduleProblem:
    """Groups as (bound in minutes, read) or (bound, read, answers), named G1, G2, …"""
    made = tuple(RunGroup(f"G{i}", int(bound * MINUTE), *map(Fraction, paid))
                 for i, (bound, *paid) in enumerate(groups, 1))
    return ScheduleProblem(made, Fraction(overhead))


# Golab et al.: bounds of 2, 3 and 5 minutes, costs 9, 14 and 29.
PAPER = problem_of([(2, 9), (3, 14), (5, 29)])

costs = st.integers(0, 40)
paper_groups = st.tuples(st.integers(1, 12), st.integers(1, 40))
weft_groups = st.tuples(st.integers(1, 8), costs, st.integers(0, 5))
paper_problems = st.lists(paper_groups, min_size=1, max_size=5).map(problem_of)
weft_problems = st.builds(problem_of, st.lists(weft_groups, min_size=1, max_size=4), st.integers(0, 20))
problems = st.one_of(paper_problems, weft_problems)


def least_cost(problem: ScheduleProblem) -> Fraction:
    """The least cost per µs of any schedule, by brute force: a node for every combination of ages, a step for every
    set of groups that may run in the next unit, and Karp's minimum mean cycle over all of them."""
    unit = gcd(*problem.bounds)
    limits = [bound // unit for bound in problem.bounds]
    nodes = list(product(*(range(limit) for limit in limits)))
    number = {ages: i for i, ages in enumerate(nodes)}
    sets = list(chain.from_iterable(combinations(range(len(limits)), n) for n in range(len(limits) + 1)))
    price = {members: problem.costs.together(members) for members in sets}
    steps: list[list[tuple[int, Fraction]]] = []
    for ages in nodes:
        older = [age + 1 for age in ages]
        allowed = [m for m in sets if all(g in m or older[g] < limits[g] for g in range(len(limits)))]
        steps.append([(number[tuple(0 if g in m else a for g, a in enumerate(older))], price[m]) for m in allowed])
    return karp(steps) / unit


def karp(steps: list[list[tuple[int, Fraction]]]) -> Fraction:
    """Karp's theorem: the least over nodes of the greatest (d_n − d_k) / (n − k).

    d_k is the cheapest walk of k steps from node 0, from which every node can be reached.
    """
    size = len(steps)
    walks: list[list[Fraction | None]] = [[Fraction(0)] + [None] * (size - 1)]
    for _ in range(size):
        after: list[Fraction | None] = [None] * size
        for node, cost in enumerate(walks[-1]):
            for to, price in steps[node] if cost is not None else ():
                if after[to] is None or cost + price < after[to]:
                    after[to] = cost + price
        walks.append(after)
    last = walks[-1]
    return min(max((last[v] - walks[k][v]) / (size - k) for k in range(size) if walks[k][v] is not None)
               for v in range(size) if last[v] is not None)
