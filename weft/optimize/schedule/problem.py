"""What a schedule is made for: groups of queries, how fresh each must stay, and what runs cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from weft.cost.runs import RunCosts
from weft.errors import PlanError

MINUTE = 60_000_000  # microseconds, the unit of all times here
MANY = 32  # distinct bounds that a search takes one by one


@dataclass(frozen=True)
class RunGroup:
    """Queries that run together whenever one of them does; `bound` is the longest time between two runs, in µs.

    `read` and `answers` are its part of what a run costs (`RunCosts`).
    """

    name: str
    bound: int
    read: Fraction
    answers: Fraction = Fraction(0)


@dataclass(frozen=True)
class ScheduleProblem:
    """Groups that could run together, and the overhead of a run."""

    groups: tuple[RunGroup, ...]
    overhead: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not self.groups:
            raise PlanError("there are no groups to schedule.")
        names = [group.name for group in self.groups]
        for group in self.groups:
            if names.count(group.name) > 1:
                raise PlanError(f"two groups have the name '{group.name}'.")
            if group.bound <= 0:
                raise PlanError(f"the bound of group '{group.name}' must be longer than zero.")
            if group.read < 0 or group.answers < 0:
                raise PlanError(f"the cost of group '{group.name}' must not be negative.")
        if self.overhead < 0:
            raise PlanError("the overhead of a run must not be negative.")

    @cached_property
    def costs(self) -> RunCosts:
        """What runs cost."""
        reads = tuple(Fraction(group.read) for group in self.groups)
        return RunCosts(reads, tuple(Fraction(group.answers) for group in self.groups), Fraction(self.overhead))

    @property
    def bounds(self) -> tuple[int, ...]:
        """The bound of each group."""
        return tuple(group.bound for group in self.groups)

    @cached_property
    def classes(self) -> tuple[tuple[int, ...], ...]:
        """The groups of each distinct bound, the shortest bound first: those of one bound always run together."""
        found: dict[int, list[int]] = {}
        for number, group in enumerate(self.groups):
            found.setdefault(group.bound, []).append(number)
        return tuple(tuple(found[bound]) for bound in sorted(found))


def merge_groups(problem: ScheduleProblem, parts: Sequence[Iterable[int]]) -> ScheduleProblem:
    """The problem with each part as one group: it has the shortest bound of its members and reads as the longest."""
    return ScheduleProblem(tuple(_merged([problem.groups[g] for g in part]) for part in parts), problem.overhead)


def close_bounds(bounds: Sequence[int], most: int = MANY) -> list[list[int]]:
    """One part a bound, of bounds in ascending order; those of the nearest ratios are one where there would be more
    than `most`."""
    parts = [[g] for g in range(len(bounds))]
    while len(parts) > most:
        ratios = [Fraction(bounds[b[-1]], bounds[a[0]]) for a, b in pairwise(parts)]
        at = ratios.index(min(ratios))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _merged(members: Sequence[RunGroup]) -> RunGroup:
    if len(members) == 1:
        return members[0]
    name = "+".join(group.name for group in members)
    answers = sum((Fraction(group.answers) for group in members), Fraction(0))
    return RunGroup(name, min(g.bound for g in members), max(Fraction(g.read) for g in members), answers)
