"""Calibrate: measure every algorithm on this machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np

from weft.aggregates.operation import ADD, COMOMENTS, MAX, MOMENTS, Operation, State, types_of
from weft.cost.calibration_table import CalibrationTable, Point, kind_of
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.base import Algorithm

# Every second binary digit is set: a power of two takes some algorithms half of what its neighbours do.
SPANS = (5, 21, 341, 5461, 43691)
COUNTS = (1, 10, 100)
CELLS = 1 << 15
PATIENCE = 0.15  # seconds: what takes longer is measured once, and longer windows are not tried
REPEATS = 3
KINDS = ((ADD, np.int64, 1), (ADD, np.float64, 1), (MAX, np.int64, 1), (MAX, np.float64, 1),
         (MOMENTS, np.float64, 5), (COMOMENTS, np.float64, 6))
NUMBA_START = (
    "import time; t = time.perf_counter()\n"
    "import numpy as np\n"
    "from weft.aggregates.operation import ADD\n"
    "from weft.final.algorithms.two_stacks import two_stacks as a\n"
    "list(a.slide(ADD, (np.ones(99),), [9], 9))\n"
    "print(time.perf_counter() - t)"
)

Progress = Callable[[int, int, str], None]


def calibrate(progress: Progress) -> CalibrationTable:
    """The figures of this machine."""
    available = [a for a in ALGORITHMS if a.missing is None]
    answer: dict[str, dict[str, tuple[Point, ...]]] = {}
    for done, algorithm in enumerate(available):
        progress(done, len(available), f"measuring {algorithm.card.title}")
        answer[algorithm.card.name] = dict(measure_kinds(algorithm))
    compiled = [a.card.name for a in available if a.card.engine == "numba"]
    start = dict.fromkeys(compiled, numba_start()) if compiled else {}
    progress(len(available), len(available), "done")
    return CalibrationTable(start, answer, memcpy(), machine(), datetime.now(UTC).isoformat(timespec="minutes"))


def machine() -> str:
    """What is measured, in a few words."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, NumPy {np.__version__}"


def measure_kinds(algorithm: Algorithm) -> Iterator[tuple[str, tuple[Point, ...]]]:
    """The points of every kind of value that the algorithm may fold."""
    for operation, kind, fields in KINDS:
        cells = tuple(np.random.default_rng(i).integers(1, 1000, CELLS + SPANS[-1]).astype(kind) for i in range(fields))
        small = [1] if algorithm.card.multi is None else [1, 2]
        if algorithm.supports(operation, types_of(cells), small) is None:
            drain(algorithm, operation, tuple(a[:99] for a in cells), small, 9)  # compiles, if that is needed
        points = tuple(measure(algorithm, operation, cells))
        if points:
            yield kind_of(operation, types_of(cells)), points


def measure(algorithm: Algorithm, operation: Operation, cells: State) -> Iterator[Point]:
    """Nanoseconds per answer for windows that grow until one takes too long."""
    for count in COUNTS:
        for span in (s for s in SPANS if s >= count):
            ranges = sorted({max(1, round(span * (i + 1) / count)) for i in range(count)})
            if algorithm.supports(operation, types_of(cells), ranges):
                continue
            line = tuple(a[: CELLS + span] for a in cells)
            seconds = best(partial(drain, algorithm, operation, line, ranges, CELLS))
            yield span, count, round(seconds / (CELLS * len(ranges)) * 1e9, 3)
            if seconds > PATIENCE:
                break


def drain(algorithm: Algorithm, operation: Operation, cells: State, ranges: Sequence[int], size: int) -> None:
    """Compute all answers and drop them."""
    with np.errstate(all="ignore"):
        for _ in algorithm.slide(operation, cells, ranges, size):
            pass


def best(job: Callable[[], None]) -> float:
    """The shortest of several runs; one that takes long is the last."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        job()
        times.append(time.perf_counter() - began)
        if times[-1] > PATIENCE:
            break
    return min(times)


def memcpy() -> float:
    """Nanoseconds to copy eight bytes."""
    source, target = np.ones(CELLS), np.empty(CELLS)
    return round(min(best(partial(np.copyto, target, source)) for _ in range(100)) / CELLS * 1e9, 3)


def numba_start() -> float:
    """Seconds a fresh worker takes until its first compiled kernel has run."""
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # wherever Weft came from
    result = subprocess.run([sys.executable, "-c", NUMBA_START], capture_output=True, text=True, check=True, env=found)
    return round(float(result.stdout), 3)
