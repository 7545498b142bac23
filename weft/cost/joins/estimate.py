"""An order of joins with its drop boxes, and what it takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from weft.cost.joins.drop_boxes import find_drop_boxes
from weft.cost.joins.drop_boxes.base import Reduced
from weft.cost.joins.join_cost import is_feasible
from weft.cost.joins.left_deep import Order, PlanLoad, load_of
from weft.cost.joins.problem import JoinProblem
from weft.errors import PlanError


@dataclass(frozen=True)
class JoinPlan:
    """A left-deep plan: `keep` is the share that each stream's drop box keeps, by place in `order`.

    `cost` (rows a second that enter joins) and `utilisation` are of the plan without drop boxes, `used` and `output`
    (rows a second) behind them.
    """

    order: Order
    keep: tuple[float, ...]
    cost: float
    utilisation: float
    used: float
    output: float

    @property
    def objective(self) -> float:
        """R: output by utilisation, which prefers any feasible plan to any other (004 Eq. 21)."""
        return self.output / self.used

    @property
    def feasible(self) -> bool:
        """Whether it runs without dropping anything."""
        return is_feasible(self.utilisation)


def estimate(problem: JoinProblem, order: Order, keep: tuple[float, ...] | None = None) -> JoinPlan:
    """The plan of an order with these drop boxes; else with the best ones, where it takes more than there is (004 §5.1,
    step 3)."""
    boxes, load = find_drop_boxes(problem), countable(load_of(problem, order))
    whole = (1.0,) * len(order)
    if keep is None:
        keep = boxes.choose(load) if load.utilisation > 1 else whole
    behind = Reduced(load.utilisation, load.output) if keep == whole else boxes.reduce(load, keep)
    return JoinPlan(order, keep, load.tuples, load.utilisation, behind.utilisation, behind.output)


def result_rates(problem: JoinProblem, plan: JoinPlan) -> tuple[float, ...]:
    """Rows a second of the first 1, 2, … streams of a plan joined, behind its drop boxes."""
    return tuple(find_drop_boxes(problem).results(load_of(problem, plan.order), plan.keep))


def countable(load: PlanLoad) -> PlanLoad:
    """The load, unless its numbers are beyond what doubles hold."""
    if not (isfinite(load.utilisation) and isfinite(load.output)):
        raise PlanError("rates and windows of this size cannot be multiplied: give smaller numbers, or windows that "
                        "hold fewer rows.")
    return load
