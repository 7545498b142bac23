"""Windows of time, dropped by keys: one hash of the join key decides on all sides alike.

Rows of a kept key meet all their partners, so every result, the output and the load scale by the share of keys that is
kept. Then 004 Obs. 2 holds for joins too: the cheapest plan is the one to drop from. It needs one key for all joins,
and is of no use where that key is a GROUP BY key, since most groups would be missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.cost.joins.drop_boxes.base import DropBoxes, Keep
from weft.cost.joins.left_deep import PlanLoad
from weft.cost.joins.problem import BY_KEYS
from weft.model.window import TIME


def choose(load: PlanLoad) -> Keep:
    """The same share of all streams."""
    return (min(1.0, 1 / load.utilisation),) * len(load.own)


def results(load: PlanLoad, keep: Sequence[float]) -> Sequence[float]:
    """Every result scales by the share of keys; a key that one side drops is lost on all."""
    share = min(keep)
    return [rate * share for rate in load.result_rates]


by_keys = DropBoxes(
    "by_keys", "Keeps the same keys of all streams.", "ours, after 004 Obs. 2", TIME, BY_KEYS, choose, results,
    carried=False,
)
