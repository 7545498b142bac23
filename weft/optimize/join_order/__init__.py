"""Join orders: in which order streams are joined, and what is dropped. To add a search: one file and one line."""

from __future__ import annotations

from difflib import get_close_matches

from weft.cost.joins.estimate import JoinPlan
from weft.cost.joins.problem import JoinProblem
from weft.errors import PlanError
from weft.optimize.join_order.base import JoinOptimizer
from weft.optimize.join_order.dynamic_programming import dynamic_programming
from weft.optimize.join_order.exhaustive import exhaustive

# The oracle, which tries everything, stands last.
JOIN_OPTIMIZERS: tuple[JoinOptimizer, ...] = (dynamic_programming, exhaustive)

# The same, each followed by its variants.
EVERY_JOIN_OPTIMIZER: tuple[JoinOptimizer, ...] = tuple(one for o in JOIN_OPTIMIZERS for one in (o, *o.variants))


def find_join_optimizer(name: str) -> JoinOptimizer:
    """The optimizer of a name such as `exhaustive` or `dynamic_programming:retuned`."""
    names = {o.name: o for o in EVERY_JOIN_OPTIMIZER}
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"join orders are chosen by {', '.join(names)}."
        raise PlanError(f"there is no optimizer '{name}' of join orders: {hint}")
    return names[name]


def choose_order(optimizer: JoinOptimizer, problem: JoinProblem) -> JoinPlan:
    """The optimizer's plan, if it takes so many streams."""
    require_few(optimizer, problem)
    return optimizer.choose(problem)


def require_few(optimizer: JoinOptimizer, problem: JoinProblem) -> None:
    """Refuses more streams than the optimizer can plan."""
    if len(problem.streams) > optimizer.most:
        others = [o.name for o in JOIN_OPTIMIZERS if o.most >= len(problem.streams)]
        hint = f"use {others[0]}." if others else "join fewer streams."
        raise PlanError(f"{optimizer.title} takes at most {optimizer.most} streams, not {len(problem.streams)}: {hint}")


__all__ = ["EVERY_JOIN_OPTIMIZER", "JOIN_OPTIMIZERS", "JoinOptimizer", "choose_order", "find_join_optimizer",
           "require_few"]
