"""Windows of time: a geometric program, which 004 leaves open.

Dropping thins out a window of time as it thins out the stream, so with kept shares x the result of the first k streams
has Π_{i≤k} x_i of its rows, and so has the output. The load Σ a_i x_i + Σ p_k Π_{i≤k} x_i is convex in log x, and the
greatest Πx with a load of 1 is where (KKT) all streams that are thinned out have the same share s of the load, counted
over all terms that they are in, and those that are kept whole have no more.

For left-deep orders one number gives all of that. Let u_i be s less the results from the i-th stream on. Then
x_i = min(1, u_i / a_i) and u_{i+1} = u_i + p_i Π_{j≤i} x_j, with u_1 = u_2, and the last u is s. Everything grows with
u_1, so halving intervals finds the one that fills the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import exp, log
from operator import mul

from weft.cost.joins.drop_boxes.base import DropBoxes, Keep
from weft.cost.joins.left_deep import PlanLoad
from weft.cost.joins.problem import BY_ROWS
from weft.model.window import TIME

HALVINGS = 200


def shares_from(start: float, load: PlanLoad, taken: Sequence[float]) -> tuple[Keep, float]:
    """The kept shares that follow from u_1, and the load they make."""
    level, whole, used, keep = start, 1.0, 0.0, []
    for own, result in zip(load.own, taken, strict=True):
        keep.append(min(1.0, level / own) if own else 1.0)
        whole *= keep[-1]
        level += result * whole
        used += own * keep[-1] + result * whole
    return tuple(keep), used


def choose(load: PlanLoad) -> Keep:
    """The shares that give most output for the whole machine."""
    taken = load.results
    high = low = log(max(load.own))
    while shares_from(exp(low), load, taken)[1] > 1:
        low -= 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if shares_from(exp(middle), load, taken)[1] <= 1 else (low, middle)
    return shares_from(exp(low), load, taken)[0]


def results(load: PlanLoad, keep: Sequence[float]) -> Sequence[float]:
    """Every result is thinned out by all streams in it."""
    return list(map(mul, load.result_rates, accumulate(keep, mul)))


geometric = DropBoxes(
    "geometric", "Thins out streams until those that are have equal parts of the load.", "ours", TIME, BY_ROWS, choose,
    results,
)
