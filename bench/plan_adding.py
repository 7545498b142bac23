"""Adding a query to a woven plan and taking one out: milliseconds, by the plan's size, against an aim.

    python bench/plan_adding.py [--quick]

001's workload with slides up to 1,000 at rate 1. 200 queries come, and 200 go, to a plan that is never woven anew; a
weaving of the whole plan stands beside it. Ten seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from math import inf
from typing import Any

import numpy as np
from plan_common import arguments, finish, problem_of, results_for, say

from weft.cost.model import PaperModel, find_technique
from weft.optimize.incremental import Incremental
from weft.optimize.weaving import weave
from weft.testing.workloads import tri_workload

SIZES = (100, 1000, 10_000)
TECHNIQUES = ("panes", "flat_fat", "flat_fit", "slick_deque_inv", "slick_deque")
CHANGES, RATE, AIM = 200, 1.0, 10.0


def main() -> None:
    """Changes a plan of every size under every technique."""
    options = arguments(__doc__)
    results = results_for(options, aim=AIM, changes=CHANGES, runs=[])
    for size in SIZES[:2] if options.quick else SIZES:
        say(f"{size:,} queries")
        results["runs"] += [{"queries": size, "technique": technique} | changed(size, technique)
                            for technique in TECHNIQUES]
    finish("plan_adding", results)


def changed(size: int, technique: str) -> dict[str, Any]:
    """A plan that grows by queries and loses others: milliseconds of each."""
    windows = tri_workload(size)
    plan = Incremental(PaperModel(RATE, find_technique(technique)), windows, inf)
    added = timed(plan.add, tri_workload(CHANGES, seed=1))
    leaving = np.random.default_rng(size).choice(list(plan.windows), CHANGES, replace=False)
    deleted = timed(plan.delete, leaving.tolist())
    begun = time.perf_counter()
    weave(problem_of(windows, RATE, technique))
    whole = 1e3 * (time.perf_counter() - begun)
    return {"trees": len(plan.trees), "added": added, "deleted": deleted, "whole": whole}


def timed(change: Callable[[Any], Any], things: Iterable[Any]) -> list[float]:
    """Milliseconds of each change."""
    found = []
    for thing in things:
        begun = time.perf_counter()
        change(thing)
        found.append(1e3 * (time.perf_counter() - begun))
    return found


if __name__ == "__main__":
    main()
