"""The graph of ages: how long ago each group ran, and what the next run may be.

A node is a moment just after a run, as the age of each group in units of time. Three facts keep the graph small and
lose nothing. Bounds are multiples of the unit: rounding every run down to a unit keeps every gap within its bound. A
run in which no group has reached its bound can wait for the next unit. And a group that adds nothing to the cost of a
run joins it: to be younger never costs more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

from weft.cost.runs import RunCosts

Ages = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """A run that may come next: how many units later, its groups, what it costs, and the node after it."""

    wait: int
    members: tuple[int, ...]
    cost: int
    to: int


def age_graph(limits: Sequence[int], costs: RunCosts, most: int) -> list[list[Step]] | None:
    """The steps from each node, the one in which all groups have just run being the first.

    `limits` are the bounds in units. None where the graph would have more than `most` steps.
    """
    choices = RunChoices(costs)
    if 2 ** sum(map(bool, costs.answers)) > most:
        return None
    numbers: dict[Ages, int] = {(0,) * len(limits): 0}
    graph: list[list[Step]] = []
    todo, total = list(numbers), 0
    for ages in todo:  # grows while it is read
        steps = []
        for wait, members, after in next_runs(ages, limits, choices):
            if after not in numbers:
                numbers[after] = len(numbers)
                todo.append(after)
            steps.append(Step(wait, members, choices.cost(members), numbers[after]))
        graph.append(steps)
        total += len(steps)
        if total > most:
            return None
    return graph


def next_runs(ages: Ages, limits: Sequence[int], choices: RunChoices) -> Iterator[tuple[int, tuple[int, ...], Ages]]:
    """The runs that may come next: they wait until some group has reached its bound, which is then in them."""
    wait = min(limit - age for age, limit in zip(ages, limits, strict=True))
    older = [age + wait for age in ages]
    must = tuple(g for g, limit in enumerate(limits) if older[g] == limit)
    for members in choices.with_all(must):
        yield wait, members, tuple(0 if g in members else age for g, age in enumerate(older))


class RunChoices:
    """The sets of groups that are worth running together, and their costs in whole numbers."""

    def __init__(self, costs: RunCosts):
        self.costs = costs
        self.scale = lcm(*(value.denominator for value in (*costs.reads, *costs.answers, costs.overhead)))
        self._choices: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        self._costs: dict[tuple[int, ...], int] = {}

    def cost(self, members: tuple[int, ...]) -> int:
        """What a run of these groups costs, in units of 1 / scale."""
        if members not in self._costs:
            self._costs[members] = int(self.costs.together(members) * self.scale)
        return self._costs[members]

    def with_all(self, must: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The sets that hold the given groups: for each amount to read, whoever joins for nothing and any others."""
        if must not in self._choices:
            found = {members for read in self._amounts(must) for members in self._sets(must, read)}
            self._choices[must] = sorted(found)
        return self._choices[must]

    def _amounts(self, must: tuple[int, ...]) -> list[Fraction]:
        least = max(self.costs.reads[g] for g in must)
        return sorted({read for read in self.costs.reads if read >= least})

    def _sets(self, must: tuple[int, ...], read: Fraction) -> Iterator[tuple[int, ...]]:
        fitting = [g for g in range(len(self.costs.reads)) if self.costs.reads[g] <= read and g not in must]
        free = [g for g in fitting if not self.costs.answers[g]]
        paid = [g for g in fitting if self.costs.answers[g]]
        for size in range(len(paid) + 1):
            for chosen in combinations(paid, size):
                yield tuple(sorted((*must, *free, *chosen)))
