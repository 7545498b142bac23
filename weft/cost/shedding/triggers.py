"""How long triggers must be: each takes some seconds whatever its rows, so longer ones leave more time for rows."""

from __future__ import annotations

from math import inf


def shortest_trigger(fixed: float, rows: float, target: float = 1.0) -> float:
    """The seconds between triggers at which `fixed` seconds a trigger and `rows` seconds of work a second come to the
    target utilisation: T* = F / (1 − U) for a whole machine. Infinite where rows alone take more."""
    return fixed / (target - rows) if rows < target else inf


def utilisation(trigger: float, fixed: float, rows: float) -> float:
    """Seconds of work a second."""
    return fixed / trigger + rows
