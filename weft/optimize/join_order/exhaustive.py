"""Exhaustive: every left-deep order with its best drop boxes; the oracle for few streams (004 §5.1)."""

from __future__ import annotations

from weft.cost.joins.estimate import JoinPlan, estimate
from weft.cost.joins.left_deep import orders
from weft.cost.joins.problem import JoinProblem
from weft.optimize.join_order.base import JoinOptimizer

MOST = 7


def choose(problem: JoinProblem) -> JoinPlan:
    """The plan of the greatest R; of equal ones the first."""
    return max((estimate(problem, order) for order in orders(problem)), key=lambda plan: plan.objective)


exhaustive = JoinOptimizer("exhaustive", "Exhaustive", "Tries every left-deep order.", "004 §5.1", choose, MOST)
