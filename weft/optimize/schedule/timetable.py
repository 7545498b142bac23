"""Schedules as values: at which times each group runs, over and over."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lcm
from typing import Protocol

from weft.errors import PlanError
from weft.model.edges import Progression
from weft.model.window import duration
from weft.optimize.schedule.problem import ScheduleProblem


class Timetable(Protocol):
    """What says when a group is due again."""

    def next_due(self, group: int, after: int) -> int:
        """The first time later than `after` at which the group should run, where its last run started at `after`."""


@dataclass(frozen=True)
class Rhythm:
    """The times at which a group runs: `offsets`, in order, in every period from the epoch on; in µs."""

    period: int
    offsets: tuple[int, ...] = (0,)

    @property
    def progressions(self) -> tuple[Progression, ...]:
        """The same as progressions."""
        return tuple((offset, self.period) for offset in self.offsets)

    @property
    def gaps(self) -> tuple[int, ...]:
        """The times from each run to the next."""
        around = (*self.offsets, self.offsets[0] + self.period)
        return tuple(b - a for a, b in pairwise(around))

    def next_after(self, moment: int) -> int:
        """The first run later than a moment."""
        since = moment % self.period
        place = bisect_right(self.offsets, since)
        offset = self.offsets[place] if place < len(self.offsets) else self.offsets[0] + self.period
        return moment - since + offset


@dataclass(frozen=True)
class PlannedRun:
    """A run of a schedule: when, and which groups."""

    at: int
    members: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """Who runs when: a rhythm for each group. It repeats after `period` and starts at the epoch.

    `best` says that no other schedule of its policy costs less; `note` is how it was found where that is not so.
    """

    rhythms: tuple[Rhythm, ...]
    best: bool = True
    note: str = ""

    @property
    def period(self) -> int:
        """After what time all of it repeats."""
        return lcm(*(rhythm.period for rhythm in self.rhythms))

    def next_due(self, group: int, after: int) -> int:
        """The first planned run of a group later than a moment."""
        return self.rhythms[group].next_after(after)

    def runs(self, start: int, stop: int) -> Iterator[PlannedRun]:
        """The runs from `start` on and before `stop`, in order."""
        due = [rhythm.next_after(start - 1) for rhythm in self.rhythms]
        while (now := min(due)) < stop:
            members = tuple(g for g, moment in enumerate(due) if moment == now)
            yield PlannedRun(now, members)
            for g in members:
                due[g] = self.rhythms[g].next_after(now)


@dataclass(frozen=True)
class BoundsAlone:
    """The timetable of no schedule: a group is due when its bound has run out since its last run started."""

    bounds: tuple[int, ...]

    def next_due(self, group: int, after: int) -> int:
        """When the bound has run out."""
        return after + self.bounds[group]


def steady_schedule(periods: Sequence[int], best: bool = True, note: str = "") -> Schedule:
    """The schedule in which each group runs at every multiple of its period."""
    return Schedule(tuple(map(Rhythm, periods)), best, note)


def expand(schedule: Schedule, parts: Sequence[Sequence[int]]) -> Schedule:
    """The schedule of merged groups for their members: part i is what ran as group i."""
    rhythms = {g: rhythm for part, rhythm in zip(parts, schedule.rhythms, strict=True) for g in part}
    return Schedule(tuple(rhythms[g] for g in range(len(rhythms))), schedule.best, schedule.note)


def check_schedule(schedule: Schedule, problem: ScheduleProblem, policy: str) -> Schedule:
    """The schedule if every group keeps its bound; else an error that names the policy."""
    if len(schedule.rhythms) != len(problem.groups):
        raise PlanError(f"policy '{policy}' lost or doubled a group.")
    for group, rhythm in zip(problem.groups, schedule.rhythms, strict=True):
        if max(rhythm.gaps) > group.bound or min(rhythm.gaps) <= 0:
            raise PlanError(f"policy '{policy}' leaves '{group.name}' {duration(max(rhythm.gaps))} without a run: its "
                            f"bound is {duration(group.bound)}.")
    return schedule
