"""How good plans are: Weave Share, as it is and polished, against Local Search 10× and against Exhaustive.

    python bench/plan_quality.py [--quick]

200 random workloads of 8–25 queries and 200 of 3–9: all three generators, all techniques, both ways to share, rates
over five orders of magnitude. "Weave Share or Shared" is measured here only. One minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from plan_common import OPTIMIZER, arguments, finish, problem_of, results_for, say

from weft.cost.techniques import TECHNIQUES
from weft.optimize.problem import Groups, Problem, price_groups
from weft.optimize.share_all import group as all_together
from weft.optimize.weave_polish import group as polished
from weft.optimize.weave_share import group as woven
from weft.testing.workloads import any_workload, tri_workload, weave_workload

NAMES = tuple(t.name for t in TECHNIQUES if t.name != "b_int")  # which is priced as flat_fat
# Each generator with the rates, as powers of ten, between which its plans go from many trees to one; arbitrary slides
# stay so small that all edges can be counted: with sampled ones costs would differ by chance.
MAKERS = ((lambda n, seed: weave_workload(n, seed=seed), (-1, 4)),
          (lambda n, seed: tri_workload(n, seed=seed), (-2, 3)),
          (lambda n, seed: any_workload(n, largest=16, seed=seed), (-1, 4)))


def better_of_both(problem: Problem) -> Groups:
    """Weave Share or all together, whichever is cheaper."""
    return min(woven(problem), all_together(problem), key=lambda g: price_groups(problem, g).total)


POLICIES: dict[str, Callable[[Problem], Groups]] = {
    "Weave Share": woven, "Weave Share or Shared": better_of_both, "Weave Share, polished": polished,
}
ORACLES: dict[str, tuple[Callable[[Problem], Groups], int, int]] = {
    "Local Search 10×": (OPTIMIZER["local_search_ns_10x"].group, 8, 25),
    "Exhaustive": (OPTIMIZER["exhaustive"].group, 3, 9),
}


def main() -> None:
    """Plans every workload by every policy."""
    options = arguments(__doc__)
    count = 20 if options.quick else 200
    results = results_for(options, count=count, cases=[])
    for oracle in ORACLES:
        for i in range(count):
            if i % 50 == 0:
                say(f"{oracle}, workload {i}")
            results["cases"] += case(oracle, i)
    finish("plan_quality", results)


def random_problem(number: int, least: int, most: int) -> tuple[Problem, dict[str, Any]]:
    """A workload, its technique and rate, all by its number."""
    random = np.random.default_rng(number)
    make, (low, high) = MAKERS[number % 3]
    size, shared = int(random.integers(least, most, endpoint=True)), bool(random.integers(2))
    technique, rate = NAMES[number // 3 % len(NAMES)], float(10 ** random.uniform(low, high))
    facts = {"workload": number, "generator": ("weave", "tri", "any")[number % 3], "queries": size,
             "technique": technique, "rate": rate, "shared": shared}
    return problem_of(make(size, number), rate, technique, shared), facts


def case(oracle: str, number: int) -> list[dict[str, Any]]:
    """One workload by the oracle and by every policy."""
    solve, least, most = ORACLES[oracle]
    problem, facts = random_problem(number, least, most)
    known = solved(solve, problem)
    facts |= {"oracle": oracle, "best": known["cost"], "best_seconds": known["seconds"]}
    return [facts | {"policy": name} | solved(policy, problem) for name, policy in POLICIES.items()]


def solved(policy: Callable[[Problem], Groups], problem: Problem) -> dict[str, Any]:
    """Cost, trees and seconds of one plan."""
    fresh = replace(problem)
    begun = time.thread_time()
    groups = policy(fresh)
    took = time.thread_time() - begun
    return {"cost": price_groups(problem, groups).total, "trees": len(groups), "seconds": took}


if __name__ == "__main__":
    main()
