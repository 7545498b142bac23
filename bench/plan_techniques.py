"""001 Fig. 17–21: what plans cost by final technique with WeaveShare and TriWeave, and how many trees they have.

    python bench/plan_techniques.py [--quick]

The five experiments of Table 4, ten workloads each. The trees are counted again under other readings of the paper: real
overlaps instead of whole ones, and the greedy over queries instead of kinds of equal edges. One minute.
"""

from __future__ import annotations

from typing import Any

from plan_common import arguments, finish, planned, problem_of, results_for, say

from weft.model.window import Window
from weft.optimize.weaving import weave
from weft.testing.workloads import tri_workload, weave_workload

TECHNIQUES = ("panes", "flat_fat", "flat_fit", "slick_deque_inv", "slick_deque_printed", "slick_deque")
BASE = {"queries": 100, "largest": 1000, "overlap": 10_000, "rate": 1.0, "skew": 0.0}
EXPERIMENTS = {
    "queries": (1, 10, 100, 1000, 10_000), "largest": (10, 100, 1000, 10_000, 100_000),
    "overlap": (100, 1000, 10_000, 100_000, 1_000_000), "rate": (0.01, 0.1, 1.0, 10.0, 100.0),
    "skew": (-1.0, -0.5, 0.0, 0.5, 1.0),
}
RUNS = 10
READINGS = {"whole overlaps, by kinds": (tri_workload, False), "whole overlaps, by queries": (tri_workload, True),
            "real overlaps, by kinds": (weave_workload, False), "real overlaps, by queries": (weave_workload, True)}


def main() -> None:
    """Measures every point of every experiment, then the other readings."""
    options = arguments(__doc__)
    runs = 2 if options.quick else RUNS
    results = results_for(options, base=BASE, experiments=EXPERIMENTS, runs=runs, plans=[])
    for varied, values in EXPERIMENTS.items():
        for value in values[:4] if options.quick else values:
            say(f"{varied} {value:g}")
            results["plans"] += [plan for run in range(runs) for plan in plans(varied, value, run)]
    results["readings"] = [reading for run in range(runs) for reading in readings(run)]
    finish("plan_techniques", results)


def windows_of(point: dict[str, Any], run: int, make: Any = tri_workload) -> tuple[Window, ...]:
    """The workload of one point."""
    return make(point["queries"], point["overlap"], point["skew"], point["largest"], seed=run)


def plans(varied: str, value: float, run: int) -> list[dict[str, Any]]:
    """One workload with every technique and both optimizers."""
    point = BASE | {varied: value}
    windows = windows_of(point, run)
    facts = {"varied": varied, "value": value, "run": run}
    return [facts | {"technique": technique} | planned(policy, windows, point["rate"], technique)
            for policy in ("weave_share", "tri_weave") for technique in TECHNIQUES]


def readings(run: int) -> list[dict[str, Any]]:
    """Weave Share's trees at the point that all experiments share, under each reading."""
    say(f"readings, workload {run}")
    return [{"reading": name, "technique": technique, "run": run,
             "trees": len(weave(problem_of(windows_of(BASE, run, make), BASE["rate"], technique, by_query=by_query)))}
            for name, (make, by_query) in READINGS.items() for technique in TECHNIQUES]


if __name__ == "__main__":
    main()
