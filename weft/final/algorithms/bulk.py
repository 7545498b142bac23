"""Bulk algorithms: all windows of a line of slices at once; between two calls they keep the slices themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.aggregates.operation import Operation, State, types_of
from weft.final.algorithms.base import AlgorithmState, Card, Feed, Types, refusal
from weft.final.algorithms.jit import missing
from weft.final.algorithms.values import TAGS

# Cells that fit a core's cache together with what is folded from them.
TILE = 1 << 15

Slide = Callable[[Operation, State, Sequence[int], int], Iterator[State]]
Read = Callable[[Operation, State, np.ndarray, np.ndarray], State]


@dataclass(frozen=True)
class Bulk:
    """An algorithm that folds a whole line of cells.

    `slide_line` gives, for each length q, the folds of cells p … p + q − 1 for every p < size. `read_line` gives the
    folds of cells lo … hi − 1 of any windows that are not empty; without one, the windows are read off slides.
    """

    card: Card
    slide_line: Slide
    read_line: Read | None = None

    @property
    def missing(self) -> str | None:
        """What has to be installed before it runs here."""
        return missing() if self.card.engine == "numba" else None

    def supports(self, operation: Operation, types: Types, ranges: Sequence[int]) -> str | None:
        """Why it must not fold this operation over these ranges, or None if it may."""
        if self.card.engine == "numba" and operation.name not in TAGS:
            return f"{self.card.title} has no compiled {operation.name}"
        return refusal(self.card, operation, types, ranges)

    def init(self, operation: Operation, types: Types, ranges: Sequence[int], keys: int,
             slack: int = 0) -> AlgorithmState:
        """An empty state of so many keys."""
        nothing = np.zeros((keys, 0), np.int64)
        return AlgorithmState(np.zeros(keys, np.int64), np.zeros(keys + 1, np.int64), operation.empty(types, 0),
                              nothing, nothing)

    def advance(self, operation: Operation, kept: AlgorithmState, feed: Feed) -> tuple[State, AlgorithmState]:
        """The answers of all steps and ranges, and the slices that later windows can still see."""
        line, offsets = join(kept, feed)
        seen = kept.seen + np.diff(feed.keys)
        lo, hi = bounds(feed, kept.seen)
        # What the key's first slice on the line is called when counting from `init`, per answer.
        shift = np.repeat(offsets[:-1] + np.diff(offsets) - seen, np.diff(feed.steps) * len(feed.ranges))
        answers = operation.empty(types_of(line), len(lo))
        there = np.flatnonzero(hi > lo)
        read = self.read_line or read_off(self.slide_line)
        if len(there):
            found = read(operation, line, (lo + shift)[there], (hi + shift)[there])
            for target, value in zip(answers, found, strict=True):
                target[there] = value
        return answers, cut_tail(line, offsets, seen, first_needed(feed, seen))

    def slide(self, operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
        """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size."""
        if len(lengths) == 1 and size > TILE and self.card.engine == "numpy":  # compiled ones take no more than a pass
            return iter((self.slide_tiles(operation, cells, lengths[0], size),))
        return self.slide_line(operation, cells, lengths, size)

    def slide_tiles(self, operation: Operation, cells: State, length: int, size: int) -> State:
        """The folds of one length, a stretch of the line that fits the cache at a time."""
        answers = tuple(np.empty(size, a.dtype) for a in cells)
        tile = max(TILE, 2 * length)
        for low in range(0, size, tile):
            high = min(low + tile, size)
            line = tuple(a[low : high + length] for a in cells)
            found = next(self.slide_line(operation, line, [length], high - low))
            for target, value in zip(answers, found, strict=True):
                target[low:high] = value
        return answers


def join(kept: AlgorithmState, feed: Feed) -> tuple[State, np.ndarray]:
    """Each key's kept slices and then its new ones on one line, and where the keys begin on it."""
    old, new = np.diff(kept.offsets), np.diff(feed.keys)
    offsets = np.append(0, np.cumsum(old + new))
    line = tuple(np.empty(offsets[-1], a.dtype) for a in feed.cells)
    for source, sizes, start in ((kept.values, old, offsets[:-1]), (feed.cells, new, offsets[:-1] + old)):
        place = np.arange(sizes.sum()) + np.repeat(start - np.cumsum(sizes) + sizes, sizes)
        for target, value in zip(line, source, strict=True):
            target[place] = value
    return line, offsets


def bounds(feed: Feed, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first slice of every answer's window and the one after its last, in the key's own count."""
    if feed.dense:
        hi = np.arange(1, feed.steps[-1] + 1) + np.repeat(seen - feed.steps[:-1], np.diff(feed.steps))
        lo = np.maximum(hi[:, None] - feed.ranges, 0)
    else:
        hi, lo = feed.hi, feed.lo
    return lo.ravel(), np.repeat(hi, len(feed.ranges))


def first_needed(feed: Feed, seen: np.ndarray) -> np.ndarray:
    """The first slice of each key that a later window may still see."""
    if feed.keep is not None:
        return np.minimum(feed.keep, seen)
    return np.maximum(seen - (int(feed.ranges.max(initial=1)) - 1), 0)


def cut_tail(line: State, offsets: np.ndarray, seen: np.ndarray, keep: np.ndarray) -> AlgorithmState:
    """The state that holds each key's slices from `keep` on."""
    sizes = np.minimum(seen - keep, np.diff(offsets))
    place = np.arange(sizes.sum()) + np.repeat(offsets[1:] - np.cumsum(sizes), sizes)
    nothing = np.zeros((len(seen), 0), np.int64)
    return AlgorithmState(seen, np.append(0, np.cumsum(sizes)), tuple(a[place] for a in line), nothing, nothing)


def read_off(slide: Slide) -> Read:
    """Windows of any lengths from slides of each length that occurs."""

    def read(operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
        lengths, which = np.unique(hi - lo, return_inverse=True)
        size = len(line[0])
        padding = operation.empty(types_of(line), int(lengths[-1]))
        cells = tuple(np.concatenate(pair) for pair in zip(line, padding, strict=True))
        answers = operation.empty(types_of(line), len(lo))
        for i, state in enumerate(slide(operation, cells, lengths.tolist(), size)):
            mine = which == i
            for target, value in zip(answers, state, strict=True):
                target[mine] = value[lo[mine]]
        return answers

    return read
