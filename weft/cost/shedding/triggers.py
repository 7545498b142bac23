"""How long triggers must be: each takes some seconds whatever its rows, so longer ones leave more time for rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

FEWEST = 3  # triggers that tell what is fixed from what rows take


def shortest_trigger(fixed: float, rows: float, target: float = 1.0) -> float:
    """The seconds between triggers at which `fixed` seconds a trigger and `rows` seconds of work a second come to the
    target utilisation: T* = F / (1 − U) for a whole machine. Infinite where rows alone take more."""
    return fixed / (target - rows) if rows < target else inf


def utilisation(trigger: float, fixed: float, rows: float) -> float:
    """Seconds of work a second."""
    return fixed / trigger + rows


@dataclass(frozen=True)
class TriggerLoad:
    """What triggers were measured to take: `fixed` seconds each, and `rows` seconds of work a second for what comes."""

    fixed: float
    rows: float

    @property
    def shortest(self) -> float:
        """The shortest trigger that can be sustained, T* = F / (1 − U); infinite where there is none."""
        return shortest_trigger(self.fixed, self.rows)


def measure_triggers(triggers: Sequence[tuple[float, float]], elapsed: float) -> TriggerLoad | None:
    """The load of triggers, each its seconds and rows, that came in so many seconds; None where they are too few.

    A line through them, by least squares: what it says of no rows is fixed. Both are at least 0, and the fixed part is
    at most what the shortest trigger took.
    """
    if len(triggers) < FEWEST or elapsed <= 0:
        return None
    seconds, rows = np.array(triggers, dtype=float).T
    spread = rows - rows.mean()
    slope = float(spread @ seconds / (spread @ spread)) if spread.any() else 0.0
    slope = max(slope, 0.0)
    fixed = float(np.clip(seconds.mean() - slope * rows.mean(), 0.0, seconds.min()))
    return TriggerLoad(fixed, float(max(seconds.sum() - fixed * len(seconds), 0.0)) / elapsed if slope else 0.0)
