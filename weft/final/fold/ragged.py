"""Steps: the answers of windows that end within a span of time, out of slices that need not be equally long.

Where `fold` goes along a whole line of cells, a stream wants a few new answers of every key: each is a pair of places
among the slices, which an algorithm reads off (`Algorithm.read`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.aggregates.monoids.lanes import Decoded, Lane
from weft.aggregates.operation import State
from weft.final.algorithms.base import Algorithm
from weft.final.algorithms.prefix import prefix
from weft.final.bags import BagLane
from weft.final.fold.dense import SENT, Slices, WindowAnswers, cut_by_marks
from weft.final.fold.layout import grids
from weft.model.window import Window

# How many answers of a lane are made at a time.
MOST = 1 << 20


@dataclass(frozen=True)
class Span:
    """The windows that end after `after`, or at any time if that is None, and not after `until`."""

    after: int | None
    until: int


@dataclass(frozen=True)
class Steps:
    """Moments at which windows of a key end: the key's number, the moment, and a slice of the key before it."""

    key: np.ndarray
    end: np.ndarray
    row: np.ndarray

    def cut(self, low: int, high: int) -> Steps:
        """Some neighbouring steps."""
        return Steps(self.key[low:high], self.end[low:high], self.row[low:high])


@dataclass(frozen=True)
class Places:
    """Where a moment of a key lies among its slices, which are sorted by key and start."""

    line: np.ndarray
    low: int
    width: int

    @staticmethod
    def of(slices: Slices, margin: int) -> Places:
        """The places of moments no further than `margin` from the slices."""
        low = int(slices.start.min()) - margin
        width = int(slices.start.max()) + margin - low + 1
        return Places(slices.key * width + (slices.start - low), low, width)

    def at(self, key: np.ndarray, moment: np.ndarray) -> np.ndarray:
        """The first slice of each key that does not start before the moment."""
        return np.searchsorted(self.line, key * self.width + np.clip(moment - self.low, 0, self.width - 1))


def renumber_keys(key: np.ndarray) -> np.ndarray:
    """Keys in order, numbered from 0 on, without gaps."""
    return np.cumsum(np.append(0, key[1:] != key[:-1])) if len(key) else key


@dataclass(frozen=True)
class SliceLine:
    """Slices with keys numbered from 0 on, without gaps, among which moments up to a margin from them are found."""

    slices: Slices
    margin: int

    @staticmethod
    def of(slices: Slices, windows: Sequence[Window]) -> SliceLine:
        """The slices that some windows read."""
        margin = max(window.range for window in windows) + 1
        return SliceLine(Slices(renumber_keys(slices.key), slices.start, slices.rows), margin)

    @cached_property
    def places(self) -> Places:
        """Where moments lie."""
        return Places.of(self.slices, self.margin)

    @cached_property
    def counted(self) -> np.ndarray:
        """How many rows the slices before each place hold."""
        return np.append(0, np.cumsum(self.slices.rows))


def fold_ragged(slices: Slices, windows: Sequence[Window], lanes: Sequence[Lane | BagLane],
                algorithms: Sequence[Sequence[Algorithm | None]], span: Span,
                first: Sequence[int | None] | None = None) -> Iterator[WindowAnswers]:
    """The answers of every window that ends within the span, holds a slice, and does not start before the `first` of
    its kind; as `fold`, and lanes likewise."""
    if len(slices.start) == 0:
        return
    line = SliceLine.of(slices, windows)
    for asked, chosen in window_classes(windows, algorithms):
        yield from fold_asked(line, windows, asked, list(zip(lanes, chosen, strict=True)), span,
                              first or [None] * len(windows))


def window_classes(windows: Sequence[Window], algorithms: Sequence[Sequence[Algorithm | None]]
                   ) -> Iterator[tuple[list[int], Sequence[Algorithm | None]]]:
    """The windows that end at the same moments and begin at the same distances from these, shortest first, with the
    algorithms of their lanes."""
    for grid, chosen in zip(grids(windows), algorithms, strict=True):
        for rest in sorted({reach.rest for reach in grid.reaches}):
            yield [reach.window for reach in grid.reaches if reach.rest == rest], chosen


def fold_asked(line: SliceLine, windows: Sequence[Window], asked: Sequence[int],
               folded: Sequence[tuple[Lane | BagLane, Algorithm | None]], span: Span,
               first: Sequence[int | None]) -> Iterator[WindowAnswers]:
    """The answers of windows of a class."""
    steps = find_steps(line.slices, windows[asked[-1]], span)
    few = max(MOST // len(asked), 1)
    for low in range(0, len(steps.end), few):
        yield from fold_span(steps.cut(low, low + few), asked, windows, line.places, line.counted, folded, first)


def find_steps(slices: Slices, window: Window, span: Span) -> Steps:
    """Every end of a window within the span at which it holds a slice, by key and time."""
    phase = (window.phase + window.range) % window.slide
    first = (slices.start - phase) // window.slide + 1
    last = (slices.start + window.range - phase) // window.slide
    # A slice brings the ends that the key's slice before it did not reach.
    follows = np.append(False, slices.key[1:] == slices.key[:-1])
    first = np.where(follows, np.maximum(first, np.append(0, last[:-1]) + 1), first)
    if span.after is not None:
        first = np.maximum(first, (span.after - phase) // window.slide + 1)
    last = np.minimum(last, (span.until - phase) // window.slide)
    size = np.maximum(last - first + 1, 0)
    row = np.repeat(np.arange(len(size)), size)
    number = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size) + first[row]
    return Steps(slices.key[row], number * window.slide + phase, row)


def fold_span(steps: Steps, asked: Sequence[int], windows: Sequence[Window], places: Places, counted: np.ndarray,
              folded: Sequence[tuple[Lane | BagLane, Algorithm | None]],
              first: Sequence[int | None]) -> Iterator[WindowAnswers]:
    """The answers of some windows that end at the same moments."""
    high = places.at(steps.key, steps.end)
    found = []
    for number in asked:
        low = places.at(steps.key, steps.end - windows[number].range)
        whole = counted[high] > counted[low]
        if (begin := first[number]) is not None:
            whole &= steps.end - windows[number].range >= begin
        there = np.flatnonzero(whole)
        found.append((number, there, low[there], high[there]))
    low, high = (np.concatenate([each[side] for each in found]) for side in (2, 3))
    if not len(low):
        return
    told = [None if isinstance(lane, BagLane) else read_lane(lane, algorithm or prefix, low, high)
            for lane, algorithm in folded]
    begin = 0
    for number, there, low, high in found:
        states = [None if each is None else tuple(a[begin : begin + len(there)] for a in each) for each in told]
        begin += len(there)
        for here in split_steps([lane for lane, _ in folded], low, high):
            lanes = tuple(read_answers(lane, state, low, high, here) for (lane, _),
                          state in zip(folded, states, strict=True))
            if len(here):
                yield lay_out_steps(windows[number], number, steps, there[here], (counted[high] - counted[low])[here],
                                    lanes)


def read_lane(lane: Lane, algorithm: Algorithm, low: np.ndarray, high: np.ndarray) -> State:
    """The folds of a lane over pairs of places, and last how many of the slices have a value, if some have none."""
    begin, end = int(low.min()), int(high.max())
    line = tuple(a[begin:end] for a in lane.state)
    folds = algorithm.read(lane.operation, line, (low - begin)[:, None], high - begin)
    if lane.valid is None:
        return folds
    valid = np.append(0, np.cumsum(lane.valid))
    return (*folds, valid[high] - valid[low])


def read_answers(lane: Lane | BagLane, state: State | None, low: np.ndarray, high: np.ndarray,
                 here: np.ndarray) -> Decoded:
    """The values and marks of the answers at some places."""
    if isinstance(lane, BagLane):
        begin, end = int(low[here[0]]), int(high[here[-1]])
        return lane.over(slice(begin, end))(low[here] - begin, high[here] - begin)
    assert state is not None
    chosen = tuple(a[here] for a in state)
    return lane.decode(chosen) if lane.valid is None else lane.decode_present(chosen[:-1], chosen[-1])


def split_steps(lanes: Sequence[Lane | BagLane], low: np.ndarray, high: np.ndarray) -> Sequence[np.ndarray]:
    """The answers in shares whose lists are not too large together."""
    spreading = [lane for lane in lanes if isinstance(lane, BagLane) and lane.kernel.spreads]
    every = np.arange(len(low))
    if not spreading or not len(low):
        return [every] if len(low) else []
    held = np.cumsum(sum(lane.bag.offsets[high] - lane.bag.offsets[low] for lane in spreading))
    return np.split(every, np.flatnonzero(np.diff(held // SENT)) + 1)


def lay_out_steps(window: Window, number: int, steps: Steps, there: np.ndarray | slice, rows: np.ndarray,
                  lanes: tuple[Decoded, ...]) -> WindowAnswers:
    """Answers cut into rows: one per key, or one per key and set of marks."""
    key, start, row = steps.key[there], steps.end[there] - window.range, steps.row[there]
    heads = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    offsets = np.append(heads, len(key))
    if any(marks is not None for _, marks in lanes):
        order, _, offsets = cut_by_marks(lanes, np.arange(len(heads)), offsets)
        start, row, rows = start[order], row[order], rows[order]
        lanes = tuple(([v.take(order) for v in values], None if m is None else m[order]) for values, m in lanes)
    head, last = offsets[:-1], offsets[1:] - 1
    gapless = np.array_equal(start[last] - start[head], (last - head) * window.slide)
    marked = tuple((values, None if m is None else m[head]) for values, m in lanes)
    return WindowAnswers(number, row[head], offsets, start[head], None if gapless else start, rows, marked)
