"""What every policy is: a card and a function from a problem to a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.optimize.schedule.problem import ScheduleProblem
from weft.optimize.schedule.timetable import Schedule


@dataclass(frozen=True)
class Policy:
    """A policy: `schedule` says when each group runs, none later than its bound.

    It is given groups whose bounds are distinct, the shortest first; `make_schedule` sees to that.
    """

    name: str
    title: str
    about: str
    paper: str
    schedule: Callable[[ScheduleProblem], Schedule]
