"""Aggressive: all groups together, at the smallest bound (003)."""

from __future__ import annotations

from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.problem import ScheduleProblem
from weft.optimize.schedule.timetable import Schedule, steady_schedule


def schedule(problem: ScheduleProblem) -> Schedule:
    """Every multiple of the smallest bound, for all."""
    return steady_schedule([min(problem.bounds)] * len(problem.groups))


aggressive = Policy("aggressive", "Aggressive", "All groups together, at the smallest bound.", "003", schedule)
