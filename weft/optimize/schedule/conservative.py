"""Conservative: every group at its own bound; groups run together only where that coincides (003)."""

from __future__ import annotations

from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.problem import ScheduleProblem
from weft.optimize.schedule.timetable import Schedule, steady_schedule


def schedule(problem: ScheduleProblem) -> Schedule:
    """Every multiple of each bound."""
    return steady_schedule(problem.bounds)


conservative = Policy(
    "conservative", "Conservative", "Every group at its own bound; together only where due times coincide.", "003",
    schedule,
)
