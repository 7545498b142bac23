"""The contract of final algorithms: streams to read, and the plain answer to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.aggregates.operation import COMOMENTS, MOMENTS, Operation, State, types_of
from weft.final.algorithms.base import Algorithm
from weft.final.algorithms.sequential import Sequential, dense_feed
from weft.final.algorithms.values import COMBINES


@dataclass(frozen=True)
class SliceStream:
    """Slices of many keys, each key's at its own ascending times; windows of several ranges over one slide."""

    cells: State
    times: tuple[np.ndarray, ...]
    ranges: tuple[int, ...]
    slide: int

    @property
    def ends(self) -> np.ndarray:
        """The times at which windows end."""
        latest = max((int(t[-1]) for t in self.times if len(t)), default=0)
        return np.arange(self.slide, latest + self.ranges[-1] + self.slide, self.slide)

    def windows(self) -> tuple[np.ndarray, np.ndarray]:
        """Every window of every key and end as slices of all keys on one line: where those of each range begin, and
        where they end."""
        base = np.append(0, np.cumsum([len(t) for t in self.times]))
        hi = [np.searchsorted(t, self.ends) + o for t, o in zip(self.times, base, strict=False)]
        lo = [np.stack([np.searchsorted(t, self.ends - r) for r in self.ranges], 1) + o
              for t, o in zip(self.times, base, strict=False)]
        return np.concatenate(lo), np.concatenate(hi)


def run_stream(algorithm: Algorithm, operation: Operation, stream: SliceStream, times: int = 1) -> State:
    """All answers, key by key and end by end, asked so many times over in one call."""
    lo, hi = stream.windows()
    return algorithm.read(operation, stream.cells, np.tile(lo, (times, 1)), np.tile(hi, times))


def cells_for(operation: Operation, kind: np.dtype, size: int, seed: int, odd: bool = False) -> State:
    """Random slices of an operation: extremes among integers; NaN, infinities and signed zeros among odd floats."""
    rng = np.random.default_rng(seed)
    if operation in (MOMENTS, COMOMENTS):
        count = rng.integers(0, 5, size).astype(float)
        fields = 5 if operation is MOMENTS else 6
        return (count, *(np.where(count > 0, rng.normal(3, 1, size) ** 2, 0.0) for _ in range(fields - 1)))
    if operation.ufunc is None:
        return tuple(rng.integers(-9, 9, size) for _ in operation.identity((kind, kind)))
    return (plain_cells(operation, np.dtype(kind), size, rng, odd),)


def plain_cells(operation: Operation, kind: np.dtype, size: int, rng: np.random.Generator, odd: bool) -> np.ndarray:
    """One field of random values with some identities (slices without a value) among them."""
    empty = rng.random(size) < 0.1
    if kind.kind == "b":
        values = rng.random(size) < 0.5
    elif kind.kind == "i":
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, size, dtype=kind, endpoint=True)
        values[rng.random(size) < 0.1] = rng.choice([info.min, info.max, 0])
    else:
        values = rng.normal(0, 100, size).astype(kind)
        values[rng.random(size) < (0.2 if odd else 0)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return np.where(empty, np.asarray(operation.identity((kind,))[0], kind), values).astype(kind)


def assert_same(operation: Operation, got: State, want: State, cells: State) -> None:
    """The answers agree: to the bit where nothing rounds, else within rounding of what was added up."""
    for a, b, c in zip(got, want, cells, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if operation.rounds((a.dtype,)):
            scale = float(np.nansum(np.abs(np.where(np.isfinite(c), c, 0)).astype(float)))
            unit = 1e-6 if a.dtype == np.float32 else 1e-13
            loose = 1e3 if operation.ufunc is None else 1.0
            np.testing.assert_allclose(a, b, rtol=unit * 100 * loose, atol=unit * scale * loose)
        else:
            np.testing.assert_array_equal(a, b)


class Counter:
    """A ufunc that counts the elements it combines."""

    def __init__(self, ufunc: np.ufunc):
        self.ufunc = ufunc
        self.count = 0

    def __call__(self, a: State, b: State) -> State:
        self.count += len(a[0])
        return tuple(self.ufunc(x, y) for x, y in zip(a, b, strict=True))

    def accumulate(self, array: np.ndarray, axis: int, dtype: np.dtype, out: np.ndarray) -> None:
        """Running folds: one combine for every element but the first along the axis."""
        self.count += array.size - array.size // array.shape[axis]
        self.ufunc.accumulate(array, axis=axis, dtype=dtype, out=out)


def count_slide(algorithm: Algorithm, operation: Operation, cells: State, ranges: Sequence[int], size: int) -> int:
    """How many combines (and inverses) a bulk algorithm does to slide windows over a line."""
    assert operation.ufunc is not None
    together = Counter(operation.ufunc)
    apart = Counter(np.subtract)
    inverse = None if operation.inverse is None else apart
    counted = replace(operation, combine=together, inverse=inverse, ufunc=together)  # type: ignore[arg-type]
    for _ in algorithm.slide(counted, cells, ranges, size):
        pass
    return together.count + apart.count


def count_steps(algorithm: Sequential, operation: Operation, cells: State, ranges: Sequence[int],
                at_once: int = 1) -> np.ndarray:
    """How many combines each call takes, the kernel run as plain Python so many slices of one key at a time."""
    plain = replace(algorithm, kernel=algorithm.kernel.python)  # type: ignore[attr-defined]
    kept, counts = plain.begin(operation, types_of(cells), ranges, 1), []
    for i in range(0, len(cells[0]), at_once):
        before = COMBINES[0]
        plain.step(operation, kept, dense_feed(tuple(a[i : i + at_once] for a in cells), ranges))
        counts.append(COMBINES[0] - before)
    return np.array(counts)
