"""The results of the bench of schedules as a chart."""

from __future__ import annotations

from typing import Any

from final_tables import pick
from plan_plots import Area, Line, picture

Results = dict[str, Any]
COLOUR = {"no schedule": 5, "conservative": 0, "hybrid": 1, "harmonic": 2, "cyclic": 3}


def schedule_chart(results: Results) -> str:
    """Executions, missed bounds and ages by capacity."""
    apart = [line(results, "no schedule", False, "executed", "no schedule, apart", 4)]
    executed = [line(results, name, True, "executed", f"{name}, merged", colour) for name, colour in COLOUR.items()]
    missed = [line(results, name, True, "missed", name, colour) for name, colour in COLOUR.items()]
    return picture("Overload: the paper's groups at every capacity (003 Fig. 2 d)", [
        Area("executions", "capacity, cost a minute", "groups executed a minute", apart + executed, (), False, False),
        Area("missed bounds, merged", "capacity, cost a minute", "part of executions that are late", missed, (), False,
             False)])


def line(results: Results, name: str, merge: bool, field: str, title: str, colour: int) -> Line:
    """One timetable by capacity."""
    found = pick(results["overload"], timetable=name, merge=merge)
    return Line(title, [(one["capacity"], one[field]) for one in found], colour, dashed=not merge)
