"""000 Fig. 9: Weave Share's cost by Shared's for maximum overlaps from 50 to 2,000.

    python bench/plan_overlap.py [--quick]

2,000 queries, slides from the factors of 100,000 with skew 0.6, rates 100 … 1,000,000; one workload. Three minutes.
"""

from __future__ import annotations

from plan_common import arguments, compared, finish, results_for, say

from weft.testing.workloads import weave_workload

OVERLAPS = (50, 200, 500, 1000, 2000)
RATES = (100, 1000, 10_000, 100_000, 1_000_000)


def main() -> None:
    """Measures every overlap at every rate."""
    options = arguments(__doc__)
    size = 200 if options.quick else 2000
    results = results_for(options, queries=size, overlaps=OVERLAPS, rates=RATES, plans=[])
    for overlap in OVERLAPS:
        say(f"overlap up to {overlap}")
        windows = weave_workload(size, overlap)
        results["plans"] += [{"overlap": overlap, "rate": r} | compared(windows, r) for r in RATES]
    finish("plan_overlap", results)


if __name__ == "__main__":
    main()
