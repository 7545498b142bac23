"""What one join takes for a row, and whether a machine keeps up (004 §3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from weft.errors import PlanError


@dataclass(frozen=True)
class WindowCost:
    """Seconds to put a row into one side's window, to take an expired one out, and to look for matches in it."""

    insert: float
    invalidate: float
    probe: float


@dataclass(frozen=True)
class JoinCost:
    """Seconds of a join by the windows of its sides; `emit` is for each row of the result (the paper has none)."""

    left: WindowCost
    right: WindowCost
    emit: float = 0.0

    def __post_init__(self) -> None:
        parts = (self.of_left, self.of_right, self.emit)
        if not all(isfinite(part) and part >= 0 for part in parts) or min(parts[:2]) <= 0:
            raise PlanError("a join must take some time for each row: give positive seconds.")

    @property
    def of_left(self) -> float:
        """For a row that arrives on the left: it enters the left window and probes the right one.

        004 Eq. 8 prints it the other way round; rows are kept by the side they came from.
        """
        return self.left.insert + self.left.invalidate + self.right.probe

    @property
    def of_right(self) -> float:
        """For a row that arrives on the right."""
        return self.right.insert + self.right.invalidate + self.left.probe

    @property
    def symmetric(self) -> bool:
        """Whether the two sides may change places."""
        return self.of_left == self.of_right

    def seconds(self, left_rate: float, right_rate: float, output_rate: float = 0.0) -> float:
        """Seconds of work a second; with equal sides (λ_L + λ_R)(C_I + C_V + C_P) (004 Eq. 8, 9)."""
        return left_rate * self.of_left + right_rate * self.of_right + output_rate * self.emit


def symmetric_cost(seconds: float) -> JoinCost:
    """A join that takes so long for each row of either side, as in the paper's examples."""
    side = WindowCost(seconds, 0.0, 0.0)
    return JoinCost(side, side)


def is_feasible(utilisation: float) -> bool:
    """Whether all rows can be handled: strictly less work than time (004 Eq. 7, 10)."""
    return utilisation < 1
