"""How long one slide takes: by a compiled clock, by calls from Python, and in combines (001 Fig. 14)."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from final_common import KINDS, MEMBERS, Kind, filled, quiet

from weft.aggregates.operation import State
from weft.final.algorithms import Algorithm
from weft.final.algorithms.jit import Kernel, compile_kernel
from weft.final.algorithms.sequential import Feed, KernelState, Sequential, dense_feed
from weft.final.algorithms.values import COMBINES

WINDOWS = (16, 256, 4096)
FOLDED = tuple(kind for kind in KINDS if kind.name in ("sum int64", "max float64"))
CALLS = 1000
TIMED = 1 << 16  # slides under the compiled clock
RUNS = 5  # the same slides again: the least time of each is its own, the rest is the machine's
RECALC = 16
SHARES = {"min": 0, "p25": 25, "median": 50, "p75": 75, "p99": 99, "max": 100}


def latency(fast: bool) -> list[dict[str, Any]]:
    """The distributions of every member, window and kind."""
    windows = WINDOWS[:2] if fast else WINDOWS
    return [one for kind in FOLDED for window in windows for one in of_window(kind, window)]


def of_window(kind: Kind, window: int) -> Iterator[dict[str, Any]]:
    """The distributions of every member at one window."""
    print(f"latency of {kind.name}, window {window:,} ...", file=sys.stderr, flush=True)
    for name, algorithm in MEMBERS.items():
        if kind.refusal(algorithm, [window]) or (name == "recalc" and window > RECALC):
            continue
        facts: dict[str, Any] = {"kind": kind.name, "window": window, "member": name}
        facts["call_us"] = spread(1e-3 * calls(algorithm, kind, window))
        if isinstance(algorithm, Sequential):
            facts["combines"] = spread(combines(algorithm, kind, window))
            slides, empty = clocked(algorithm, kind, window)
            facts |= {"ns": spread(slides), "empty_ns": empty}
        yield facts


def spread(values: np.ndarray) -> dict[str, float]:
    """What a box plot shows, and the mean."""
    found = {name: float(np.percentile(values, share)) for name, share in SHARES.items()}
    return found | {"mean": float(values.mean())}


def one_by_one(algorithm: Sequential, kind: Kind, kept: KernelState, cells: State, window: int,
               meter: Callable[[], int]) -> np.ndarray:
    """How far a meter runs on in each of many calls with one slice."""
    feeds, grown = [dense_feed((cells[0][i : i + 1],), [window]) for i in range(len(cells[0]))], []
    with quiet():
        for feed in feeds:
            before = meter()
            algorithm.step(kind.operation, kept, feed)
            grown.append(meter() - before)
    return np.array(grown, np.float64)


def calls(algorithm: Algorithm, kind: Kind, window: int) -> np.ndarray:
    """Nanoseconds of calls from Python for the window of one more slice: of `step`, or of `read`."""
    cells = kind.cells(window + CALLS)
    if not isinstance(algorithm, Sequential):
        return read_calls(algorithm, kind, cells, window)
    kept, fresh = filled(algorithm, kind, cells, [window]), (cells[0][window:],)
    return one_by_one(algorithm, kind, kept, fresh, window, time.perf_counter_ns)


def read_calls(algorithm: Algorithm, kind: Kind, cells: State, window: int) -> np.ndarray:
    """Nanoseconds of calls of `read` for one window, its slices at hand."""
    lo, hi, took = np.zeros((1, 1), np.int64), np.array([window]), []
    with quiet():
        for i in range(CALLS):
            before = time.perf_counter_ns()
            algorithm.read(kind.operation, (cells[0][i : i + window],), lo, hi)
            took.append(time.perf_counter_ns() - before)
    return np.array(took, np.float64)


def combines(algorithm: Sequential, kind: Kind, window: int) -> np.ndarray:
    """Combines of each slide over two windows and a half, counted by the kernel as it is written."""
    cells = kind.cells(window + 5 * window // 2 + 500)
    kept, fresh = filled(algorithm, kind, cells, [window]), (cells[0][window:],)
    plain = replace(algorithm, kernel=algorithm.kernel.python)  # type: ignore[attr-defined]
    return one_by_one(plain, kind, kept, fresh, window, lambda: COMBINES[0])


def clocked(algorithm: Sequential, kind: Kind, window: int) -> tuple[np.ndarray, float]:
    """Nanoseconds of each slide with the clock read in compiled code, and of a call with no slice at all."""
    cells = kind.cells(window + TIMED)
    drive = driver(algorithm.kernel)  # type: ignore[arg-type]
    kept, cell = filled(algorithm, kind, cells, [window]), np.empty(1, kind.type)
    taken = captured(algorithm, kind, kept, dense_feed((cell,), [window]))
    slides = repeated(drive, taken, kept, cell, cells[0][window:])
    nothing = Feed((cell[:0],), np.zeros(2, np.int64), np.zeros(2, np.int64), np.empty(0, np.int64),
                   np.empty((0, 1), np.int64), np.array([window]))
    empty = repeated(drive, captured(algorithm, kind, kept, nothing), kept, cell, cells[0][:2000])
    return slides, float(np.median(empty))


def captured(algorithm: Sequential, kind: Kind, kept: KernelState, feed: Feed) -> tuple:
    """The arguments that `step` hands to the kernel; the kernel itself does not run."""
    taken: list[tuple] = []
    replace(algorithm, kernel=lambda *given: taken.append(given)).step(kind.operation, kept, feed)
    return taken[0]


def repeated(drive: Callable[..., None], taken: tuple, kept: KernelState, cell: np.ndarray,
             line: np.ndarray) -> np.ndarray:
    """The least time of each slide over several runs from the same state."""
    arrays = (kept.seen, kept.marks, kept.links, *kept.values)
    before = [a.copy() for a in arrays]
    least, took = np.full(len(line), np.iinfo(np.int64).max), np.empty(len(line), np.int64)
    drive(taken, cell, line[:2], np.zeros(2, np.int64), took[:2])
    for _ in range(RUNS):
        for target, source in zip(arrays, before, strict=True):
            np.copyto(target, source)
        drive(taken, cell, line, np.zeros(2, np.int64), took)
        np.minimum(least, took, out=least)
    for target, source in zip(arrays, before, strict=True):
        np.copyto(target, source)
    return least


@cache
def driver(written: Kernel) -> Callable[..., None]:
    """A compiled loop that puts one slice after another before the kernel and reads the system's clock around it.

    Numba counts references to arrays once a call, which costs some kernels more than a slide: it is told not to.
    """
    from numba import njit

    compile_kernel(written.python, written.parts)  # makes the parts known to numba
    kernel = njit(_nrt=False)(written.python)
    read = ctypes.CDLL(None).clock_gettime
    read.argtypes, read.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_int
    monotonic = time.CLOCK_MONOTONIC

    @njit(_nrt=False)
    def drive(taken, cell, line, clock, took):
        for i in range(took.shape[0]):
            if cell.shape[0] > 0:
                cell[0] = line[i]
            read(monotonic, clock.ctypes)
            start = clock[0] * 1_000_000_000 + clock[1]
            kernel(*taken)
            read(monotonic, clock.ctypes)
            took[i] = clock[0] * 1_000_000_000 + clock[1] - start

    return drive
