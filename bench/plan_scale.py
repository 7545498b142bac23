"""Planning time and memory: 10,000 and 1,000,000 queries of 001, 2,000 of 000, 500 of arbitrary slides, against aims.

    python bench/plan_scale.py [--quick]

Every case runs in a process of its own, so that its memory is its own, and is given up when it takes twice its
aim; seconds are processor time for finding the plan. Four minutes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plan_common import OPTIMIZER, arguments, finish, problem_of, results_for, say

from weft.cost.techniques import TECHNIQUES
from weft.model.window import Window
from weft.optimize.problem import price_groups
from weft.testing.workloads import any_workload, tri_workload, weave_workload

PATIENCE = 2  # a case is given up when it has taken so many times its aim, and ten seconds
MEMORY = 4.0  # GiB


@dataclass(frozen=True)
class Case:
    """A workload, how it is planned, and the seconds it may take."""

    about: str
    make: Callable[[int], tuple[Window, ...]]
    queries: int
    rate: float
    technique: str
    aim: float
    policy: str = "weave_share"


NAMES = tuple(t.name for t in TECHNIQUES if t.name != "b_int")  # which is priced as flat_fat
CASES = tuple(
    [Case("001, S_max 1K", tri_workload, 10_000, 1, name, 1, policy) for name in NAMES
     for policy in ("weave_share", "tri_weave", "weave_polish")]
    + [Case("001, S_max 1K", tri_workload, 1_000_000, 1, name, 30) for name in NAMES]
    + [Case("000, overlap 50, skew 0.6", weave_workload, 2000, 50, name, 20, policy) for name in NAMES
       for policy in ("weave_share", "weave_polish")]
    + [Case("arbitrary slides 1 … 100,000", any_workload, 500, 50, name, 60) for name in NAMES]
)


def main() -> None:
    """Measures all cases, or one for the parent process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", type=int, help="measure the case of this number here and print JSON")
    options = arguments(__doc__, parser)
    if options.case is not None:
        print(json.dumps(measured(CASES[options.case])))
        return
    chosen = [i for i, c in enumerate(CASES) if not options.quick or c.queries == 10_000]
    results = results_for(options, memory_aim=MEMORY)
    results["cases"] = [case_in_new_process(i) for i in chosen]
    finish("plan_scale", results)


def measured(case: Case) -> dict[str, Any]:
    """Seconds and peak memory of one case in this process."""
    windows = case.make(case.queries)
    limit = int(time.process_time() + max(PATIENCE * case.aim, 10))
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    optimizer = OPTIMIZER[case.policy]
    begun, clock = time.thread_time(), time.perf_counter()
    problem = problem_of(windows, case.rate, case.technique, optimizer.shared)
    groups = optimizer.group(problem)
    took, wall = time.thread_time() - begun, time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": took, "wall": wall, "peak_gib": peak, "trees": len(groups),
            "cost": price_groups(problem, groups).total}


def case_in_new_process(number: int) -> dict[str, Any]:
    """One case measured by a child, given up when it takes far too long."""
    case = CASES[number]
    say(f"{case.queries:,} queries of {case.about}, {case.technique}, {case.policy}")
    facts = {"about": case.about, "queries": case.queries, "rate": case.rate, "technique": case.technique,
             "policy": case.policy, "aim": case.aim}
    command = [sys.executable, __file__, "--case", str(number)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode < 0:  # the system has stopped it
        return facts | {"given_up": max(PATIENCE * case.aim, 10)}
    return facts | json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
