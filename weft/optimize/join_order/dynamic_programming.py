"""Dynamic programming over sets of streams, as in System R, with R as its objective (004 §5.2).

The best plan of a set is that of the set without one stream, joined with this one. A part of a plan that takes more
than there is gets drop boxes at once; from then on they are filters, and boxes that are added later are multiplied in.
If some left-deep plan is feasible the best one is found; else the search may miss it, for a part is thinned out before
it is known what comes after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from operator import mul

from weft.cost.joins.drop_boxes import DropBoxes, find_drop_boxes
from weft.cost.joins.estimate import JoinPlan, countable, estimate
from weft.cost.joins.left_deep import Order, load_of, may_follow
from weft.cost.joins.problem import JoinProblem
from weft.optimize.join_order.base import JoinOptimizer

MOST = 12


@dataclass(frozen=True)
class PartPlan:
    """The best plan of some of the streams so far: its order, its drop boxes, and R."""

    order: Order
    keep: tuple[float, ...]
    objective: float = 0.0


def choose(problem: JoinProblem) -> JoinPlan:
    """The plan that dynamic programming ends with."""
    found = search(problem)
    return estimate(problem, found.order, found.keep)


def choose_and_retune(problem: JoinProblem) -> JoinPlan:
    """The order that dynamic programming ends with, and the best drop boxes for it: never worse."""
    return estimate(problem, search(problem).order)


def search(problem: JoinProblem) -> PartPlan:
    """The best plan of all streams, from the best ones of ever larger sets."""
    boxes, numbers = find_drop_boxes(problem), range(len(problem.streams))
    best = {frozenset((number,)): PartPlan((number,), (1.0,)) for number in numbers}
    for size in range(2, len(numbers) + 1):
        for members in map(frozenset, combinations(numbers, size)):
            if plans := [grow(problem, boxes, *part) for part in parts(problem, best, members)]:
                best[members] = max(plans, key=lambda plan: plan.objective)
    return settle(problem, boxes, best[frozenset(numbers)])


def parts(problem: JoinProblem, best: dict[frozenset[int], PartPlan],
          members: Iterable[int]) -> Iterator[tuple[PartPlan, int]]:
    """The best plan without each of the members, and that member, where this is one of `orders`."""
    for stream in sorted(members):
        rest = best.get(frozenset(members) - {stream})
        if rest and may_follow(problem, rest.order, stream):
            yield rest, stream


def grow(problem: JoinProblem, boxes: DropBoxes, part: PartPlan, stream: int) -> PartPlan:
    """A plan with one stream more; where it takes too much, with drop boxes on top of those that it has."""
    order, keep = (*part.order, stream), (*part.keep, 1.0)
    load = countable(load_of(problem, order, keep))
    if load.utilisation <= 1:
        return PartPlan(order, keep, load.output / load.utilisation)
    fresh = boxes.choose(load)
    behind = boxes.reduce(load, fresh)
    kept = tuple(map(mul, keep, fresh)) if boxes.carried else keep
    return PartPlan(order, kept, behind.output / behind.utilisation)


def settle(problem: JoinProblem, boxes: DropBoxes, plan: PartPlan) -> PartPlan:
    """The plan with the drop boxes of the whole, where its parts carried none."""
    return plan if boxes.carried else replace(plan, keep=estimate(problem, plan.order).keep)


dynamic_programming = JoinOptimizer(
    "dynamic_programming", "Dynamic programming", "Grows the best plan of every set of streams.", "004 §5.2", choose,
    MOST,
    variants=(JoinOptimizer(
        "dynamic_programming:retuned", "Dynamic programming, retuned", "The same, with the best drop boxes for the "
        "order it ends with.", "ours, after 004 §5.2", choose_and_retune, MOST,
    ),),
)
