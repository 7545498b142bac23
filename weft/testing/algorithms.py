"""The contract of final algorithms: streams to feed them, cut as one likes, and the plain answer to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.aggregates.operation import COMOMENTS, MOMENTS, Operation, State, types_of
from weft.final.algorithms.base import Algorithm, AlgorithmState, Feed, dense_feed
from weft.final.algorithms.sequential import Sequential
from weft.final.algorithms.values import COMBINES


@dataclass(frozen=True)
class Stream:
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

    def most(self) -> tuple[list[int], int]:
        """The most slices that a window of each range holds, and that lie between two ends."""
        held = [max((most_within(t, r) for t in self.times), default=0) for r in self.ranges]
        return [max(h, 1) for h in held], max((most_within(t, self.slide) for t in self.times), default=0)

    def feed(self, since: int, until: int) -> Feed:
        """What comes in from one time to another: the slices that start there and the windows that end there."""
        ends = self.ends[(self.ends > since) & (self.ends <= until)]
        following = self.ends[self.ends > until]
        base = np.append(0, np.cumsum([len(t) for t in self.times]))
        spans = [np.searchsorted(t, (since, until)) for t in self.times]
        pick = np.concatenate([np.arange(a, b) + o for (a, b), o in zip(spans, base, strict=False)] or [base[:0]])
        lo = [np.stack([np.searchsorted(t, ends - r) for r in self.ranges], 1) for t in self.times]
        reach = (following[0] if len(following) else 2**62) - self.ranges[-1]
        return Feed(
            tuple(a[pick] for a in self.cells),
            np.append(0, np.cumsum([b - a for a, b in spans])).astype(np.int64),
            np.arange(len(self.times) + 1, dtype=np.int64) * len(ends),
            np.concatenate([np.searchsorted(t, ends) for t in self.times]).astype(np.int64),
            np.concatenate(lo).astype(np.int64).reshape(-1, len(self.ranges)),
            np.asarray(self.ranges, np.int64),
            np.array([np.searchsorted(t, reach) for t in self.times], np.int64),
        )


def most_within(times: np.ndarray, span: int) -> int:
    """The most elements that lie within any half-open span of time."""
    return int((np.searchsorted(times, times + span) - np.arange(len(times))).max(initial=0))


def run_stream(algorithm: Algorithm, operation: Operation, stream: Stream, cuts: Sequence[int] = (),
               through_bytes: bool = True) -> State:
    """All answers, key by key and end by end, of a stream fed in the pieces that the cuts make."""
    held, slack = stream.most()
    keys, ranges = len(stream.times), len(stream.ranges)
    kept = algorithm.init(operation, types_of(stream.cells), held, keys, slack)
    pieces: list[State] = []
    last = int(stream.ends[-1])
    for since, until in zip([-1, *cuts], [*cuts, last], strict=True):
        answers, kept = algorithm.advance(operation, kept, stream.feed(since, until))
        pieces.append(tuple(a.reshape(keys, -1, ranges) for a in answers))
        kept = AlgorithmState.from_bytes(kept.to_bytes()) if through_bytes else kept
    return tuple(np.concatenate(field, 1) for field in zip(*pieces, strict=True))


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
    kept, counts = plain.init(operation, types_of(cells), ranges, 1), []
    for i in range(0, len(cells[0]), at_once):
        before = COMBINES[0]
        _, kept = plain.advance(operation, kept, dense_feed(tuple(a[i : i + at_once] for a in cells), ranges))
        counts.append(COMBINES[0] - before)
    return np.array(counts)
