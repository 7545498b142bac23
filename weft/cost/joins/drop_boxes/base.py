"""What every way to drop is: which share of each stream is kept, and what a plan then takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import mul

from weft.cost.joins.left_deep import PlanLoad

Keep = tuple[float, ...]


@dataclass(frozen=True)
class Reduced:
    """What a plan takes and gives behind its drop boxes."""

    utilisation: float
    output: float


@dataclass(frozen=True)
class DropBoxes:
    """A way to drop rows of a plan that takes more than there is.

    `choose` gives the kept share of each stream, in the order of the plan, that uses exactly the whole machine;
    `results`, the rates of the first 1, 2, … streams joined with any shares. `carried` says that the boxes of a part of
    a plan stay where they are when the part grows (004 §5.2); else only the whole plan has boxes.
    """

    name: str
    about: str
    paper: str
    windows: str
    shed_by: str
    choose: Callable[[PlanLoad], Keep]
    results: Callable[[PlanLoad, Sequence[float]], Sequence[float]]
    carried: bool = True

    def reduce(self, load: PlanLoad, keep: Sequence[float]) -> Reduced:
        """What a plan takes and gives with these shares."""
        rates = self.results(load, keep)
        return Reduced(sum(map(mul, load.own, keep)) + sum(map(mul, load.per_row, rates)), rates[-1])
