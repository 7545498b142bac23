"""000 Fig. 14: the work of Weave Share, naive and with cost lookup, edge bitmap and probing order.

    python bench/plan_optimizations.py [--quick]

Rate 100, skew 0.7, overlaps up to 10, slides from the factors of 100,000. All variants make the same plan. A run that
takes longer than its limit is left, and larger ones of that variant are not begun. Three minutes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from plan_common import arguments, finish, planned, problem_of, results_for, say

from weft.model.window import Window
from weft.optimize.problem import Problem
from weft.optimize.weave_plain import Plain, Savings, Weft
from weft.testing.workloads import weave_workload

VARIANTS = {
    "naive": Savings(False, False, False), "+ cost lookup": Savings(True, False, False),
    "+ edge bitmap": Savings(True, True, False), "+ probing order": Savings(True, True, True),
}
RATE, SKEW, OVERLAP = 100, 0.7, 10
SIZES = (5, 10, 15, 25, 50, 100, 250)
LARGEST = (1000, 100_000)
LIMIT = 20.0  # processor seconds


class Late(Exception):
    """The limit has passed."""


class Bounded(Plain):
    """Weave Share to the letter until its time is up."""

    def __init__(self, problem: Problem, savings: Savings):
        super().__init__(problem, savings)
        self.end = time.thread_time() + LIMIT

    def gain(self, a: Weft, b: Weft) -> float:
        """Looks at the clock before each pair."""
        if time.thread_time() > self.end:
            raise Late
        return super().gain(a, b)


def main() -> None:
    """Runs every variant on growing workloads."""
    options = arguments(__doc__)
    sizes = SIZES[:3] if options.quick else SIZES
    results = results_for(options, sizes=sizes, limit=LIMIT, runs=[])
    for largest in LARGEST:
        late: set[str] = set()
        for size in sizes:
            results["runs"] += runs(size, largest, late)
    finish("plan_optimizations", results)


def runs(size: int, largest: int, late: set[str]) -> list[dict[str, Any]]:
    """One workload by every variant that is not late yet, and by the Weave Share in use."""
    say(f"{size} queries, factors of {largest:,}")
    windows = weave_workload(size, OVERLAP, SKEW, largest)
    facts = {"queries": size, "largest": largest}
    found = [facts | {"variant": name} | run(windows, savings) for name, savings in VARIANTS.items()
             if name not in late]
    late |= {f["variant"] for f in found if "late" in f}
    used = planned("weave_share", windows, RATE)
    return [*found, facts | {"variant": "in use", "seconds": used["seconds"], "cost": used["cost"]}]


def run(windows: Sequence[Window], savings: Savings) -> dict[str, Any]:
    """Pairs compared, edges probed and seconds of one variant."""
    begun = time.thread_time()
    plain = Bounded(problem_of(windows, RATE), savings)
    try:
        plain.weave()
    except Late:
        return {"late": LIMIT, "pairs": plain.work.pairs, "probes": plain.work.probes}
    cost = sum(map(plain.cost_of, plain.trees))
    return {"seconds": time.thread_time() - begun, "pairs": plain.work.pairs, "probes": plain.work.probes, "cost": cost}


if __name__ == "__main__":
    main()
