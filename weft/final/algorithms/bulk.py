"""Bulk algorithms: all windows of a line of slices at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.aggregates.operation import Operation, State, types_of
from weft.final.algorithms.base import Card, Types, refusal
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

    def slide(self, operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
        """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size."""
        if len(lengths) == 1 and size > TILE and self.card.engine == "numpy":  # compiled ones take no more than a pass
            return iter((self.slide_tiles(operation, cells, lengths[0], size),))
        return self.slide_line(operation, cells, lengths, size)

    def read(self, operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
        """At each step i, for each range r, the fold of slices lo[i, r] … hi[i] − 1 of a line."""
        first, last = lo.reshape(-1), np.repeat(hi, lo.shape[1])
        read = self.read_line or read_off(self.slide_line)
        there = np.flatnonzero(last > first)
        if len(there) == len(first) > 0:
            return read(operation, line, first, last)
        answers = operation.empty(types_of(line), len(first))
        if len(there):
            for target, value in zip(answers, read(operation, line, first[there], last[there]), strict=True):
                target[there] = value
        return answers

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
