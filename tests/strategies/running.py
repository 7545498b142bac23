"""What tests of the runner share: groups of made-up queries, and a clock that moves when a run takes its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from weft.catalog.database import Catalog
from weft.optimize.schedule import ScheduleProblem
from weft.optimize.schedule.simulate import run_length
from weft.runner.choice import ChosenSchedule, choose_schedule
from weft.runner.groups import QueryGroup
from weft.runner.runner import RunnerOptions, RunOutcome, ScheduleRunner

Fails = Callable[[Sequence[str]], str | None]


@dataclass
class HandClock:
    """A clock of which the hands stand still until somebody waits or a run takes its time; it may wake early."""

    moment: int = 0
    early: int = 0
    waits: list[int] = field(default_factory=list)

    def now(self) -> int:
        return self.moment

    def wait_until(self, moment: int) -> bool:
        self.waits.append(moment)
        early, self.early = self.early, 0
        self.moment = max(self.moment + 1, moment - early) if early else moment
        return True


def chosen_for(problem: ScheduleProblem, policy: str | None, size: int = 1) -> ChosenSchedule:
    """A schedule of groups of so many queries each: G1_0, G1_1, …"""
    groups = [QueryGroup(g.bound, tuple(f"{g.name}_{i}" for i in range(size))) for g in problem.groups]
    return choose_schedule(groups, problem, policy)


class World:
    """Queries that take the time that a capacity gives them, on a clock of the test's own."""

    def __init__(self, catalog: Catalog, chosen: ChosenSchedule, capacity: int | None = None,
                 fails: Fails = lambda names: None, clock: HandClock | None = None):
        self.catalog, self.chosen, self.capacity, self.fails = catalog, chosen, capacity, fails
        self.clock = clock or HandClock()
        self.ran: list[tuple[int, tuple[str, ...]]] = []

    def run(self, names: Sequence[str]) -> RunOutcome:
        """One run: it takes its time, and fails where the test says so."""
        groups = [g for g, group in enumerate(self.chosen.groups) if set(group.queries) & set(names)]
        cost = self.chosen.problem.costs.together(groups)
        self.clock.moment += run_length(cost, None if self.capacity is None else Fraction(self.capacity))
        reason = self.fails(names)
        if reason is not None:
            raise ValueError(reason)
        self.ran.append((self.clock.moment, tuple(names)))
        return RunOutcome(1)

    def runner(self, **options) -> ScheduleRunner:
        """A runner, as in a new process."""
        return ScheduleRunner(self.catalog, self.chosen, self.run, dict.fromkeys(self.chosen.queries, ""),
                              self.clock, RunnerOptions(**options))
