"""000 Fig. 14: the work of Weave Share, naive and with cost lookup, edge bitmap and probing order.

    python bench/plan_optimizations.py [--quick]

Rate 100, skew 0.7, overlaps up to 10, slides from the factors of 100,000. All variants make the same plan, so their
pairs and probes are estimated from one run that makes it; runs that end within the limit are timed too, and must have
counted the same. One minute.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import lcm
from typing import Any

import numpy as np
from plan_common import arguments, finish, planned, problem_of, results_for, say

from weft.model.window import Window
from weft.optimize.problem import Problem
from weft.optimize.weave_plain import PlainTree, PlainWeave, Savings
from weft.testing.workloads import weave_workload

VARIANTS = {
    "naive": Savings(False, False, False), "+ cost lookup": Savings(True, False, False),
    "+ edge bitmap": Savings(True, True, False), "+ probing order": Savings(True, True, True),
}
RATE, SKEW, OVERLAP = 100, 0.7, 10
SIZES = (10, 25, 50, 100, 250)
LIMIT = 15.0  # processor seconds


class Late(Exception):
    """The limit has passed."""


class Bounded(PlainWeave):
    """Weave Share to the letter until its time is up."""

    def __init__(self, problem: Problem, savings: Savings):
        super().__init__(problem, savings)
        self.end = time.thread_time() + LIMIT

    def gain(self, a: PlainTree, b: PlainTree) -> float:
        """Looks at the clock before each pair."""
        if time.thread_time() > self.end:
            raise Late
        return super().gain(a, b)


class Tally(PlainWeave):
    """Weave Share with all savings, estimating on the way what it would do with fewer."""

    def __init__(self, problem: Problem):
        super().__init__(problem, Savings())
        self.naive_pairs = self.naive = self.lookup = self.bitmap = 0
        self.divided: dict[tuple, int] = {}

    def gain(self, a: PlainTree, b: PlainTree) -> float:
        """Counts a look at a pair: always without the table, the first time with it."""
        key = (a.queries, b.queries)
        if key not in self.divided:
            self.divided[key] = divisions(a, b)
            self.lookup += self.divided[key]
            self.bitmap += listed(a, b)
        self.naive_pairs += 1
        self.naive += self.divided[key]
        return super().gain(a, b)

    def merge(self, a: PlainTree, b: PlainTree) -> PlainTree:
        """Counts a merge, which counts edges once more."""
        divided = self.divided[a.queries, b.queries]
        self.naive, self.lookup, self.bitmap = self.naive + divided, self.lookup + divided, self.bitmap + listed(a, b)
        return super().merge(a, b)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Pairs and probes of every variant."""
        pairs = len(self.divided)
        return dict(zip(VARIANTS, ((self.naive_pairs, self.naive), (pairs, self.lookup), (pairs, self.bitmap),
                                   (self.work.pairs, self.work.probes)), strict=True))


def listed(a: PlainTree, b: PlainTree) -> int:
    """The edges of tree b in the composite slide of both."""
    return b.count * (lcm(a.period, b.period) // b.period)


def divisions(a: PlainTree, b: PlainTree) -> int:
    """How often the edges of tree b are divided by slides of tree a, each until one divides it."""
    period, total, done = lcm(a.period, b.period), 0, set()
    marks = np.fromiter(b.bitmap or (), np.int64)
    left = (marks + np.arange(0, period, b.period)[:, None]).ravel()
    for phase, every in (edge for edges in a.edges for edge in edges):
        total += len(left)
        if (phase, every) not in done:  # an edge seen before divides in vain
            left = left[(left - phase) % every != 0]
            done.add((phase, every))
    return total


def main() -> None:
    """Counts and times every variant on growing workloads."""
    options = arguments(__doc__)
    sizes = SIZES[:3] if options.quick else SIZES
    results = results_for(options, sizes=sizes, limit=LIMIT, runs=[])
    late: set[str] = set()
    for size in sizes:
        results["runs"] += runs(size, late)
    finish("plan_optimizations", results)


def runs(size: int, late: set[str]) -> list[dict[str, Any]]:
    """One workload counted for all variants, timed for those that are not late yet and for the Weave Share in use."""
    say(f"{size} queries")
    windows = weave_workload(size, OVERLAP, SKEW)
    tally = Tally(problem_of(windows, RATE))
    tally.weave()
    found = []
    for name, (pairs, probes) in tally.counts().items():
        took = None if name in late else seconds(windows, VARIANTS[name], (pairs, probes))
        late |= set() if took else {name}
        found.append({"queries": size, "variant": name, "pairs": pairs, "probes": probes}
                     | ({"seconds": took} if took else {}))
    used = planned("weave_share", windows, RATE)
    return [*found, {"queries": size, "variant": "in use", "seconds": used["seconds"]}]


def seconds(windows: Sequence[Window], savings: Savings, counted: tuple[int, int]) -> float | None:
    """The time of one variant, which must do what was estimated; None if it is late."""
    begun = time.thread_time()
    plain = Bounded(problem_of(windows, RATE), savings)
    try:
        plain.weave()
    except Late:
        return None
    took = time.thread_time() - begun
    assert (plain.work.pairs, plain.work.probes) == counted, f"{savings}: {plain.work} is not {counted}"
    return took


if __name__ == "__main__":
    main()
