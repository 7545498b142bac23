"""Windows of rows: a continuous knapsack (004 §4.2.1, Eq. 18–20).

A window of so many rows stays full whatever is dropped, so output and load are linear in the kept shares. That is also
what is wrong with it: behind a drop box a window of rows holds rows that are long out of date, and one whose stream is
dropped altogether never changes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from weft.cost.joins.drop_boxes.base import DropBoxes, Keep
from weft.cost.joins.left_deep import PlanLoad
from weft.cost.joins.problem import BY_ROWS
from weft.model.window import ROW_COUNT


def coefficients(load: PlanLoad) -> tuple[list[float], list[float]]:
    """By stream, what a plan takes for all of its rows, and what they give: the a_i of Eq. 19, the terms of Eq. 18."""
    above, taken = 0.0, [0.0] * len(load.own)
    for place in reversed(range(len(load.own))):
        above += load.per_row[place] * load.windows[place]
        taken[place] = load.own[place] + load.turnover[place] * above
    return taken, [load.windows[-1] * renewed for renewed in load.turnover]


def choose(load: PlanLoad) -> Keep:
    """Streams by what they give for what they take, best first, as long as there is room."""
    taken, given = coefficients(load)
    keep, room = [1.0] * len(taken), 1.0
    # A stream without rows takes nothing and gives nothing: its box stays open.
    for place in sorted((p for p, a in enumerate(taken) if a), key=lambda p: -given[p] / taken[p]):
        keep[place] = min(1.0, room / taken[place])
        room = max(0.0, room - taken[place])
    return tuple(keep)


def results(load: PlanLoad, keep: Sequence[float]) -> Sequence[float]:
    """Windows stay as they are; each stream renews its own less often (004 Eq. 18)."""
    return list(map(mul, load.windows, accumulate(map(mul, load.turnover, keep))))


knapsack = DropBoxes(
    "knapsack", "Keeps the streams that give most output for what they take.", "004 Eq. 18–20", ROW_COUNT, BY_ROWS,
    choose, results,
)
