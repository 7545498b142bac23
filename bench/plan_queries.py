"""000 Fig. 4–7: what plans of 50 … 1,000 queries cost by policy, Weave Share by Shared, and its number of trees.

    python bench/plan_queries.py [--quick]

Slides from the factors of 100,000 with skew 0.6, overlaps up to 50, rates 50, 300 and 10,000; means over seeds. Local
Search takes up to 100 queries: its time grows with the cube of their number. Two minutes.
"""

from __future__ import annotations

from typing import Any

from plan_common import arguments, finish, planned, results_for, say

from weft.testing.workloads import weave_workload

SIZES = (50, 100, 250, 500, 1000)
RATES = (50, 300, 10_000)
SEEDS = 2
POLICIES = ("weave_share", "local_search_ns_10x", "insert_then_weave", "share_all", "random_share", "no_share")
SEARCHED = {50: 2, 100: 1}  # workloads that Local Search solves, by size, at the rates of Fig. 4 and 5
SEARCHED_RATES = (50, 300)


def main() -> None:
    """Measures every policy at every size and rate."""
    options = arguments(__doc__)
    sizes, seeds = ((50, 100), 1) if options.quick else (SIZES, SEEDS)
    results = results_for(options, sizes=sizes, rates=RATES, seeds=seeds, searched=SEARCHED)
    results["plans"] = [plan for size in sizes for seed in range(seeds) for plan in plans(size, seed, options.quick)]
    finish("plan_queries", results)


def plans(size: int, seed: int, quick: bool) -> list[dict[str, Any]]:
    """One workload under all policies and rates."""
    say(f"{size} queries, workload {seed}")
    windows = weave_workload(size, seed=seed)
    searched = seed < (size <= 50 if quick else SEARCHED.get(size, 0))
    return [{"queries": size, "rate": rate, "seed": seed} | planned(policy, windows, rate, seed=seed)
            for rate in RATES for policy in POLICIES
            if policy != "local_search_ns_10x" or (searched and rate in SEARCHED_RATES)]


if __name__ == "__main__":
    main()
