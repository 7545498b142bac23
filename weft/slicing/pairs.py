"""Pairs: slices cut at the windows' edges only (000 §3.2), as Spark SQL over the time in microseconds."""

from __future__ import annotations

from collections.abc import Sequence

from weft.model.edges import Progression


def slice_start(time: str, progressions: Sequence[Progression]) -> str:
    """Spark SQL for the start of the slice that holds `time`: the latest edge that is not after it."""
    latest = [f"{time} - pmod({time} - {phase}L, {period}L)" for phase, period in progressions]
    return latest[0] if len(latest) == 1 else f"greatest({', '.join(latest)})"
