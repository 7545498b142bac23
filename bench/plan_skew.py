"""000 Fig. 10: Weave Share's cost by Shared's for slides skewed to large ones, by Zipf exponents 0 … 3.3.

    python bench/plan_skew.py [--quick]

Rate 100, overlaps up to 10; means over seeds, fewer for large workloads. One minute.
"""

from __future__ import annotations

from plan_common import arguments, compared, finish, results_for, say

from weft.testing.workloads import weave_workload

SKEWS = tuple(round(0.3 * i, 1) for i in range(12))
SEEDS = {50: 5, 250: 3, 500: 1}  # how many workloads of each size


def main() -> None:
    """Measures every size at every skew."""
    options = arguments(__doc__)
    seeds = {50: 3, 250: 1} if options.quick else SEEDS
    results = results_for(options, skews=SKEWS, seeds=seeds, plans=[])
    for size, count in seeds.items():
        say(f"{size} queries")
        for seed in range(count):
            results["plans"] += [{"queries": size, "skew": skew, "seed": seed}
                                 | compared(weave_workload(size, 10, skew, seed=seed), 100) for skew in SKEWS]
    finish("plan_skew", results)


if __name__ == "__main__":
    main()
