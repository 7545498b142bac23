"""What the benches of final algorithms share: what is folded and by whom, a clock beside memcpy, results on disk."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from common import machine, save_json
from final_page import publish, show

from weft.aggregates.operation import ADD, MAX, Operation, State
from weft.final.algorithms import ALGORITHMS, Algorithm
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.sequential import KernelState, Sequential, dense_feed


@dataclass(frozen=True)
class Kind:
    """A function and the type it folds."""

    name: str
    operation: Operation
    type: np.dtype

    def cells(self, size: int, seed: int = 1) -> State:
        """Slices to fold: uniform between 0 and a million, in no order."""
        return ((np.random.default_rng(seed).random(size) * 1e6).astype(self.type),)

    def refusal(self, algorithm: Algorithm, ranges: Sequence[int]) -> str | None:
        """Why the algorithm does not fold this kind over these ranges here, or None."""
        return algorithm.missing or algorithm.supports(self.operation, (self.type,), ranges)


INT, FLOAT = np.dtype(np.int64), np.dtype(np.float64)
KINDS = (
    Kind("sum int64", ADD, INT), Kind("sum float64", ADD, FLOAT),
    Kind("max int64", MAX, INT), Kind("max float64", MAX, FLOAT),
)
MEMBERS = {a.card.name: a for a in ALGORITHMS}


def ways(algorithm: Algorithm) -> tuple[str, ...]:
    """How an algorithm is asked: all go on from full windows ("advance"), sequential ones by `step` and bulk ones by
    `read` of any windows, which is what streams call; bulk ones by `slide` too, which is what batches call."""
    return ("slide", "advance") if isinstance(algorithm, Bulk) else ("advance",)


def filled(algorithm: Sequential, kind: Kind, cells: State, ranges: Sequence[int]) -> KernelState:
    """A state whose windows are full: it has seen as many slices as the longest range is long."""
    kept = algorithm.begin(kind.operation, (kind.type,), ranges, 1)
    algorithm.step(kind.operation, kept, dense_feed(tuple(np.resize(a, max(ranges)) for a in cells), ranges))
    return kept


def advancing(algorithm: Algorithm, kind: Kind, cells: State, ranges: Sequence[int]) -> Callable[[], State]:
    """Work that answers full windows, one step a slice of a line; a kernel goes on where it left off."""
    if isinstance(algorithm, Sequential):
        kept, feed = filled(algorithm, kind, cells, ranges), dense_feed(cells, ranges)
        return partial(algorithm.step, kind.operation, kept, feed)
    line = tuple(np.concatenate((np.resize(a, max(ranges)), a)) for a in cells)
    hi = np.arange(1, len(cells[0]) + 1) + max(ranges)
    return partial(algorithm.read, kind.operation, line, hi[:, None] - np.asarray(ranges), hi)


def sliding(algorithm: Algorithm, kind: Kind, cells: State, ranges: Sequence[int]) -> Callable[[], None]:
    """Work that slides every range over a line of slices, with a run-in of one window, and drops what it made."""
    line = tuple(np.concatenate((np.resize(a, max(ranges) - 1), a)) for a in cells)
    size = len(cells[0])

    def work() -> None:
        for _ in algorithm.slide(kind.operation, line, list(ranges), size):
            pass

    return work


def work_of(via: str, algorithm: Algorithm, kind: Kind, cells: State, ranges: Sequence[int]) -> Callable[[], Any]:
    """The work of one way of asking."""
    return (sliding if via == "slide" else advancing)(algorithm, kind, cells, ranges)


def best(work: Callable[[], Any], most: int = 9, budget: float = 0.2) -> float:
    """The best processor seconds of a work run again and again, after a first time: at least twice, then until time
    or turns are up. Processor time, because others may use the machine; nothing here runs in more than one thread."""
    work()
    took: list[float] = []
    begun = time.thread_time()
    with quiet():
        while len(took) < 2 or (len(took) < most and time.thread_time() - begun < budget):
            start = time.thread_time()
            work()
            took.append(time.thread_time() - start)
    return min(took)


@contextmanager
def quiet():
    """No garbage collection meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def copying(array: np.ndarray) -> Callable[[], None]:
    """Work that copies an array to another that is there already: the yardstick."""
    target = np.zeros_like(array)
    return lambda: np.copyto(target, array)


def copy_ns(size: int, times: int = 200) -> float:
    """Nanoseconds an element of copying an array of doubles, the best of so many that caches have settled: few copies
    after other work take up to twice as long."""
    return 1e9 * best(copying(np.ones(size)), most=times, budget=2.0) / size


def settle_allocator() -> None:
    """Make and drop large arrays, so that the C library keeps freed memory as in a process that has run for long.

    Otherwise the first sizes measured pay for fresh pages in every call and later ones do not.
    """
    for _ in range(3):
        np.ones((32 << 20) // 8 - 64)


def arguments(doc: str | None, **more: tuple[Any, str]) -> argparse.Namespace:
    """The command line that the benches share: `--quick`, and integers by name with a default and a help text."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small run that leaves the kept results alone")
    for name, (default, text) in more.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default {default:,})")
    return parser.parse_args()


def results_for(options: argparse.Namespace, **facts: Any) -> dict[str, Any]:
    """Results yet to be filled: the machine and the parameters."""
    from importlib.metadata import version

    return {"machine": {**machine(), "numba": version("numba")}, "quick": options.quick, **facts}


def finish(name: str, results: dict[str, Any]) -> None:
    """Shows the tables, keeps the raw results, and brings the page up to date if it was a full run."""
    show(name, results)
    print(f"raw results: {save_json(f'tmp/{name}' if results['quick'] else name, results)}")
    if not results["quick"]:
        print(f"page: {publish(name, results)}")
