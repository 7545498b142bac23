"""Schedules on a clock that only counts: what runs when, if runs take time and one must wait for the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from weft.optimize.schedule.dispatch import (
    BackOff,
    FinishedRun,
    NextRun,
    RunRules,
    first_state,
    follow,
)
from weft.optimize.schedule.problem import MINUTE, ScheduleProblem
from weft.optimize.schedule.timetable import Timetable

Fails = Callable[[NextRun], Iterable[int]]


@dataclass(frozen=True)
class Simulation:
    """Runs from 0 until a moment; one that starts before it is in, also if it ends after it."""

    problem: ScheduleProblem
    runs: tuple[FinishedRun, ...]
    until: int

    @property
    def cost(self) -> Fraction:
        """What all runs cost."""
        times = Counter(run.members for run in self.runs)
        return sum((count * self.problem.costs.together(members) for members, count in times.items()), Fraction(0))

    @property
    def busy(self) -> int:
        """How long something ran."""
        return sum(min(run.finished, self.until) - run.at for run in self.runs)


class CountingClock:
    """A clock that stands still until somebody waits or a run takes its time; over at `until`."""

    def __init__(self, until: int):
        self.moment, self.until = 0, until

    def now(self) -> int:
        """The moment it stands at."""
        return self.moment

    def wait_until(self, moment: int) -> bool:
        """Goes there at once."""
        self.moment = moment
        return moment < self.until


@dataclass(frozen=True)
class Load:
    """How a simulation runs: what cost is done in a minute (None: all at once), whether late groups join those that
    are due, and which groups of a run fail."""

    capacity: Fraction | None = None
    merge: bool = True
    fails: Fails = lambda run: ()
    back_off: BackOff = field(default_factory=BackOff)


def simulate(problem: ScheduleProblem, timetable: Timetable, until: int, load: Load = Load()) -> Simulation:
    """The runs from 0, when every group is due, until a moment."""
    rules = RunRules(timetable, problem.bounds, load.merge, load.back_off)
    clock, runs = CountingClock(until), []

    @cache
    def length(members: tuple[int, ...]) -> int:
        return run_length(problem.costs.together(members), load.capacity)

    def execute(run: NextRun) -> Iterable[int]:
        clock.moment += length(run.members)
        return load.fails(run)

    for run, _ in follow(rules, first_state(rules, 0), clock, execute):
        runs.append(run)
        if run.finished >= until:
            break
    return Simulation(problem, tuple(runs), until)


def run_length(cost: Fraction, capacity: Fraction | None) -> int:
    """How long a run takes, to the microsecond."""
    return 0 if capacity is None else round(cost / capacity * MINUTE)
