"""000 Fig. 8: Weave Share's cost by Shared's for input rates from 50 to 10,000 tuples a second.

    python bench/plan_rate.py [--quick]

Slides from the factors of 100,000 with skew 0.6, overlaps up to 50; means over seeds, fewer for large workloads. Two
minutes.
"""

from __future__ import annotations

from plan_common import arguments, compared, finish, results_for, say

from weft.testing.workloads import weave_workload

RATES = (50, 100, 300, 1000, 2000, 3000, 5000, 10_000)
SEEDS = {250: 5, 500: 5, 1000: 3, 2000: 1}  # how many workloads of each size


def main() -> None:
    """Measures every size at every rate."""
    options = arguments(__doc__)
    seeds = {250: 1, 500: 1} if options.quick else SEEDS
    results = results_for(options, rates=RATES, seeds=seeds, plans=[])
    for size, count in seeds.items():
        say(f"{size} queries")
        for seed in range(count):
            windows = weave_workload(size, seed=seed)
            results["plans"] += [{"queries": size, "rate": r, "seed": seed} | compared(windows, r) for r in RATES]
    finish("plan_rate", results)


if __name__ == "__main__":
    main()
