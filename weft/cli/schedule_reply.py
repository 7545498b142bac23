"""What `weft schedule` found out, before it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from weft.optimize.schedule import Policy, Schedule, ScheduleProblem
from weft.optimize.schedule.cost_rate import CostRate
from weft.optimize.schedule.dispatch import FinishedRun
from weft.optimize.schedule.figures import GroupFigures
from weft.optimize.schedule.problem import MINUTE
from weft.optimize.schedule.simulate import Simulation
from weft.optimize.schedule.speed_up import SpeedUp


@dataclass(frozen=True)
class Reading:
    """How a timetable goes at a capacity: a simulation, and the figures of each group in it."""

    simulation: Simulation
    groups: tuple[GroupFigures, ...]

    @property
    def missed(self) -> int:
        """How often a bound was missed."""
        return sum(group.missed for group in self.groups)

    @property
    def executions_per_minute(self) -> float:
        """Runs of groups in a minute: one run of three groups is three."""
        return sum(group.runs for group in self.groups) / (self.simulation.until / MINUTE)

    @property
    def utilisation(self) -> float:
        """The part of the time in which something ran."""
        return self.simulation.busy / self.simulation.until


@dataclass(frozen=True)
class Loaded:
    """A timetable at a capacity: what is late running with what is due, and apart from it."""

    merged: Reading
    apart: Reading


@dataclass(frozen=True)
class PolicyReply:
    """A policy's schedule, its cost, what is sped up, the figures of groups as planned, and those at a capacity."""

    policy: Policy
    schedule: Schedule
    rate: CostRate
    sped_up: tuple[SpeedUp, ...]
    planned: tuple[GroupFigures, ...]
    loaded: Loaded | None

    @property
    def groups(self) -> tuple[GroupFigures, ...]:
        """What is to be expected of each group: at the capacity if there is one."""
        return self.loaded.merged.groups if self.loaded else self.planned

    def runs(self, until: int) -> tuple[FinishedRun, ...]:
        """The first runs: at the capacity, or as planned, when they take no time."""
        if self.loaded:
            return self.loaded.merged.simulation.runs
        return tuple(FinishedRun(run.at, run.at, run.members) for run in self.schedule.runs(0, until))


@dataclass(frozen=True)
class Reply:
    """All policies over the same groups; `alone` is what no schedule does: each group when its bound has run out.

    `horizon` is the time in which runs are counted: until all bounds come round, if that is not too long.
    """

    problem: ScheduleProblem
    capacity: Fraction | None
    horizon: int
    policies: tuple[PolicyReply, ...]
    alone: Loaded | None

    @property
    def cheapest(self) -> PolicyReply:
        """The policy that costs least; the first of equals."""
        return min(self.policies, key=lambda one: one.rate.cost)
