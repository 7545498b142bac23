"""001 Exp. 6 and 7 (Fig. 22, 23): what plans are estimated to cost against the answers a second they give when run.

    python bench/plan_throughput.py [--quick]

100 queries of 001's workload with slides up to 1,000 at rate 1, planned by WeaveShare and by TriWeave for each final
technique, then run on the local runner over readings made like those of DEBS 2012. Overlaps go up to 100, not to 10,000
as in the paper, so that windows fill within the data. The best of up to three runs counts. One minute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from plan_common import OPTIMIZER, arguments, finish, problem_of, results_for, say

from weft.aggregates.operation import ADD, MAX, Operation
from weft.final.algorithms import ALGORITHMS, Algorithm
from weft.local.run import LocalRows, cut_rows, run_tree
from weft.model.window import Window
from weft.optimize.problem import price_groups
from weft.slicing import PAIRS
from weft.testing.workloads import tri_workload

QUERIES, LARGEST, OVERLAP, RATE = 100, 1000, 100, 1.0
ROWS = 300_000  # 50 minutes at 100 a second
RUNS, ENOUGH = 3, 3.0  # at most so many runs, no more after so many seconds
STATES = 51
# Each technique of the model with the algorithm that runs it, and what it folds.
RUN_BY: dict[str, tuple[str, Operation]] = {
    "panes": ("recalc", ADD), "flat_fat": ("flat_fat", ADD), "flat_fit": ("flat_fit", ADD),
    "slick_deque_inv": ("slick_deque_inv", ADD), "slick_deque": ("slick_deque", MAX),
}
MEMBER: dict[str, Algorithm] = {a.card.name: a for a in ALGORITHMS}


class Clocked:
    """An algorithm that notes the processor seconds it folds."""

    def __init__(self, algorithm: Algorithm):
        self.algorithm, self.seconds = algorithm, 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.algorithm, name)

    def read(self, *given: Any) -> Any:
        """Folds by the clock."""
        begun = time.thread_time()
        found = self.algorithm.read(*given)
        self.seconds += time.thread_time() - begun
        return found


@dataclass(frozen=True)
class Readings:
    """Sensor tuples as in the DEBS 2012 challenge, one every 10 ms: three energy readings and the states of 51 parts.

    Power steps between levels as machines go on and off, with noise on top; a unit of time is a tuple.
    """

    energy: np.ndarray
    states: np.ndarray

    def rows(self) -> LocalRows:
        """The first energy reading as a stream without keys."""
        size = len(self.energy)
        return LocalRows(np.arange(size), np.zeros(size, np.int64), (self.energy[:, 0].copy(),))


def readings(size: int, seed: int = 12) -> Readings:
    """Readings by chance, always the same for the same seed."""
    random = np.random.default_rng(seed)
    changes = random.random((size, STATES)) < 0.001
    states = (np.cumsum(changes, 0, dtype=np.int32) + random.integers(0, 2, STATES)) % 2 == 1
    power = random.integers(50, 400, (STATES, 3))
    energy = 8000 + states.astype(np.float32) @ power + random.normal(0, 40, (size, 3))
    return Readings(energy.astype(np.int64), states)


def main() -> None:
    """Plans and runs every technique with both optimizers."""
    options = arguments(__doc__)
    size = 20_000 if options.quick else ROWS
    rows, windows = readings(size).rows(), tri_workload(QUERIES, OVERLAP, 0.0, LARGEST)
    results = results_for(options, rows=size, queries=QUERIES, largest=LARGEST, overlap=OVERLAP, rate=RATE, plans=[])
    for policy in ("weave_share", "tri_weave"):
        for technique in RUN_BY:
            say(f"{policy}, {technique}")
            results["plans"].append(measured(policy, technique, rows, windows))
    finish("plan_throughput", results)


def measured(policy: str, technique: str, rows: LocalRows, windows: Sequence[Window]) -> dict[str, Any]:
    """One plan: what it is estimated to cost, the seconds it takes, and how many answers it gives."""
    optimizer, (name, operation) = OPTIMIZER[policy], RUN_BY[technique]
    problem = problem_of(windows, RATE, technique, optimizer.shared)
    groups = optimizer.group(problem)
    trees = [[windows[i] for i in group] for group in groups]
    few = LocalRows(rows.time[:2000], rows.key[:2000], tuple(a[:2000] for a in rows.values))
    partial, run = (cut_shared, run_shared) if optimizer.shared else (cut_apart, run_apart)
    run(few, trees, operation, MEMBER[name])  # compiles
    seconds, (answers, folding) = best(lambda: clocked(run, rows, trees, operation, MEMBER[name]))
    cutting, _ = best(lambda: partial(rows, trees, operation))
    cost = price_groups(problem, groups)
    return {"policy": policy, "technique": technique, "algorithm": name, "trees": len(trees), "cost": cost.total,
            "partial_cost": cost.partial, "seconds": seconds, "partial_seconds": cutting, "final_seconds": folding,
            "answers": answers}


def clocked(run: Callable[..., int], rows: LocalRows, trees: Sequence[Sequence[Window]], operation: Operation,
            algorithm: Algorithm) -> tuple[int, float]:
    """A plan run once: its answers, and the seconds of folding alone."""
    clock = Clocked(algorithm)
    return run(rows, trees, operation, clock), clock.seconds


def best(work: Callable[[], Any]) -> tuple[float, Any]:
    """The least processor seconds of a few runs, and what the work says then."""
    times: list[tuple[float, Any]] = []
    while len(times) < RUNS and sum(took for took, _ in times) < ENOUGH:
        begun = time.thread_time()
        said = work()
        times.append((time.thread_time() - begun, said))
    return min(times)


def run_apart(rows: LocalRows, trees: Sequence[Sequence[Window]], operation: Operation, algorithm: Algorithm) -> int:
    """WeaveShare's way: every tree cuts the rows itself. Counts the answers."""
    return sum(len(answers.start) for tree in trees for _, answers in run_tree(rows, tree, operation, algorithm))


def run_shared(rows: LocalRows, trees: Sequence[Sequence[Window]], operation: Operation, algorithm: Algorithm) -> int:
    """TriWeave's way: rows are cut once, at all edges, and every tree makes its slices of those."""
    return run_apart(sliced(rows, trees, operation), trees, operation, algorithm)


def sliced(rows: LocalRows, trees: Sequence[Sequence[Window]], operation: Operation) -> LocalRows:
    """The slices of all edges as a stream."""
    slices = cut_rows(rows, PAIRS.edges(window for tree in trees for window in tree), operation)
    return LocalRows(slices.start, np.zeros(len(slices.start), np.int64), slices.values)


def cut_apart(rows: LocalRows, trees: Sequence[Sequence[Window]], operation: Operation) -> int:
    """The partial stages of all trees alone."""
    return sum(len(cut_rows(rows, PAIRS.edges(tree), operation).start) for tree in trees)


def cut_shared(rows: LocalRows, trees: Sequence[Sequence[Window]], operation: Operation) -> int:
    """The shared partial stage, and the trees' own slices of it."""
    return cut_apart(sliced(rows, trees, operation), trees, operation)


if __name__ == "__main__":
    main()
