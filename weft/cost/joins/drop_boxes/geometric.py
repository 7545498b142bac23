"""Windows of time: a geometric program, which 004 leaves open.

Dropping thins out a window of time as it thins out the stream, so with kept shares x the result of the first k streams
has Π_{i≤k} x_i of its rows, and so has the output. The load Σ a_i x_i + Σ p_k Π_{i≤k} x_i is convex in log x, and the
greatest Πx with a load of 1 is where (KKT) all streams that are thinned out have the same share s of the load, counted
over all terms that they are in, and those that are kept whole have no more.

For left-deep orders one number gives all of that. Let u_i be s less the results from the i-th stream on. Then
x_i = min(1, u_i / a_i) and u_{i+1} = u_i + p_i Π_{j≤i} x_j, with u_1 = u_2, and the last u is s. Everything grows with
u_1, so one root of a rising function is to be found: where the machine is just full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from math import exp, log
from operator import mul

from weft.cost.joins.drop_boxes.base import DropBoxes, Keep
from weft.cost.joins.left_deep import PlanLoad
from weft.cost.joins.problem import BY_ROWS
from weft.model.window import TIME

ITERATIONS, NEAR, TINY = 240, 1e-13, 1e-300


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

    def surplus(point: float) -> float:
        return log(max(shares_from(exp(point), load, taken)[1], TINY))

    high, step = log(max(load.own)), 1.0
    while surplus(high - step) > 0:
        step *= 2
    return shares_from(exp(root_of(surplus, high - step, high)), load, taken)[0]


def root_of(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising function is zero, by false position; the value at an end that stays is halved, so that this end
    moves too (Illinois). Every fourth time the interval is halved, which ends in any case."""
    below, above = rising(low), rising(high)
    side = 0
    for count in range(1, ITERATIONS):
        middle = (low * above - high * below) / (above - below) if count % 4 and above > below else (low + high) / 2
        found = rising(middle)
        if abs(found) < NEAR or not low < middle < high:
            return middle
        if found < 0:
            low, below, above, side = middle, found, above / 2 if side < 0 else above, -1
        else:
            high, above, below, side = middle, found, below / 2 if side > 0 else below, 1
    return low


def results(load: PlanLoad, keep: Sequence[float]) -> Sequence[float]:
    """Every result is thinned out by all streams in it."""
    return list(map(mul, load.result_rates, accumulate(keep, mul)))


geometric = DropBoxes(
    "geometric", "Thins out streams until those that are have equal parts of the load.", "ours", TIME, BY_ROWS, choose,
    results,
)
