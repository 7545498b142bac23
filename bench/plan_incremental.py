"""000 Fig. 11: Incremental Weave Share's deviation from offline plans, and its comparisons, by the tolerance ε.

    python bench/plan_incremental.py [--quick]

Queries come one by one to a woven plan, with slides from the factors of 100,000, skew 0.6, overlaps up to 50, rate 100.
Deviation is the mean over all additions of cost / offline cost − 1. One minute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import Any

from plan_common import arguments, finish, problem_of, results_for, say

from weft.cost.model import PaperModel, find_technique
from weft.model.window import Window
from weft.optimize.incremental import Incremental
from weft.optimize.weaving import weave
from weft.testing.workloads import weave_workload

TOLERANCES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, inf)
RATE = 100
FIRST, LAST, SEEDS = 50, 250, 3


def main() -> None:
    """Grows every workload under every tolerance."""
    options = arguments(__doc__)
    last, seeds = (80, 1) if options.quick else (LAST, SEEDS)
    results = results_for(options, first=FIRST, last=last, rate=RATE, runs=[])
    for seed in range(seeds):
        say(f"workload {seed}")
        windows = weave_workload(last, seed=seed)
        offline = [offline_cost(windows[:n]) for n in range(FIRST + 1, last + 1)]
        results["runs"] += [{"seed": seed} | grown(windows, tolerance, offline) for tolerance in TOLERANCES]
    finish("plan_incremental", results)


def offline_cost(windows: Sequence[Window]) -> float:
    """What Weave Share makes of all queries at once."""
    return sum(tree.cost for tree in weave(problem_of(windows, RATE)))


def grown(windows: Sequence[Window], tolerance: float, offline: Sequence[float]) -> dict[str, Any]:
    """A plan that grows query by query: how far it strays, and what that takes."""
    begun = time.thread_time()
    plan = Incremental(PaperModel(RATE, find_technique("panes")), windows[:FIRST], tolerance)
    for window in windows[FIRST:]:
        plan.add(window)
    took, changes = time.thread_time() - begun, plan.history[1:]
    strayed = [change.cost / cost - 1 for change, cost in zip(changes, offline, strict=True)]
    return {"tolerance": "∞" if tolerance == inf else tolerance, "deviation": sum(strayed) / len(strayed),
            "worst": max(strayed), "compared": sum(change.compared for change in changes),
            "rebuilt": sum(change.rebuilt for change in changes), "seconds": took}


if __name__ == "__main__":
    main()
