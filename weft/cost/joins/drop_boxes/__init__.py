"""Drop boxes at the leaves of a plan of joins: where rows are dropped, and how many. To add a way: one file and one
line."""

from __future__ import annotations

from weft.cost.joins.drop_boxes.base import DropBoxes
from weft.cost.joins.drop_boxes.by_keys import by_keys
from weft.cost.joins.drop_boxes.geometric import geometric
from weft.cost.joins.drop_boxes.knapsack import knapsack
from weft.cost.joins.problem import JoinProblem
from weft.errors import PlanError

DROP_BOXES: tuple[DropBoxes, ...] = (knapsack, geometric, by_keys)


def find_drop_boxes(problem: JoinProblem) -> DropBoxes:
    """The way to drop that goes with a problem's windows and what its drop boxes decide by."""
    for boxes in DROP_BOXES:
        if (boxes.windows, boxes.shed_by) == (problem.windows, problem.shed_by):
            return boxes
    raise PlanError(f"drop boxes cannot decide by {problem.shed_by} where windows are of {problem.windows}: the last "
                    "rows of the kept keys are not the last rows of the stream. Use windows of time, or drop by rows.")


__all__ = ["DROP_BOXES", "DropBoxes", "find_drop_boxes"]
