"""What every search for a join order is: a card and a function from a problem to a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.cost.joins.estimate import JoinPlan
from weft.cost.joins.problem import JoinProblem


@dataclass(frozen=True)
class JoinOptimizer:
    """A search over left-deep orders; it takes up to `most` streams. `variants` are the same with an option, named
    `optimizer:option`."""

    name: str
    title: str
    about: str
    paper: str
    choose: Callable[[JoinProblem], JoinPlan]
    most: int
    variants: tuple[JoinOptimizer, ...] = ()
