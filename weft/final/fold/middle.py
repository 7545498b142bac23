"""Middles: the answers of many keys in a stream's trigger, out of folds towards and away from one moment.

Windows that end soon after one another and are long have a moment in common: the end of the first of them. Each is what
it holds before that moment and what it holds after it, and all of these are running folds over cells of a slide, kept
as a table of keys and cells. So no slice is looked for, and an answer takes one combine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.aggregates.monoids.lanes import Lane
from weft.aggregates.operation import ADD, State, types_of
from weft.final.algorithms.base import Algorithm
from weft.final.algorithms.disjoint import reversed_scan
from weft.final.bags import BagLane
from weft.final.fold.dense import Slices, WindowAnswers, count_present, first_of_runs
from weft.final.fold.ragged import SliceLine, Span, Steps, fold_asked, lay_out_steps, renumber_keys, window_classes
from weft.model.window import Window

# How many cells a table has, about; a trigger's windows may have so many middles, and a table so many cells an answer.
CELLS = 1 << 19
MOST_MIDDLES = 4
MOST_CELLS = 8


def fold_latest(slices: Slices, windows: Sequence[Window], lanes: Sequence[Lane | BagLane],
                algorithms: Sequence[Sequence[Algorithm | None]], span: Span,
                first: Sequence[int | None] | None = None) -> Iterator[WindowAnswers]:
    """The answers that `fold_ragged` gives, of windows that have few middles by these.

    Without a ufunc, as of moments, running folds take several passes over all cells, so that slices are read instead.
    """
    if len(slices.start) == 0:
        return
    line, begins = SliceLine.of(slices, windows), first or [None] * len(windows)
    plain = [lane for lane in lanes if isinstance(lane, Lane) and lane.operation.ufunc]
    for asked, chosen in window_classes(windows, algorithms):
        apart = list(asked)
        for middles in find_middles(line.slices, windows, asked, span) if len(plain) == len(lanes) else ():
            apart = [number for number in apart if number not in middles.asked]
            yield from fold_middles(line.slices, windows, plain, middles, begins)
        if apart:
            yield from fold_asked(line, windows, apart, list(zip(lanes, chosen, strict=True)), span, begins)


@dataclass(frozen=True)
class Middles:
    """Windows that all hold the end of the first: their numbers, shortest first, and their ends as `count` steps of a
    slide from `begin` on."""

    asked: tuple[int, ...]
    begin: int
    count: int


def find_middles(slices: Slices, windows: Sequence[Window], asked: Sequence[int], span: Span) -> Iterator[Middles]:
    """The middles of those windows of a class that have few, in the order of windows, then of time."""
    window = windows[asked[0]]
    slide, phase = window.slide, (window.phase + window.range) % window.slide
    after = int(slices.start.min()) if span.after is None else span.after
    low, high = (after - phase) // slide + 1, (span.until - phase) // slide + 1
    kinds: dict[int, list[int]] = {}
    for number in asked if high > low else ():
        kinds.setdefault(-(-(high - low) // (windows[number].range // slide + 1)), []).append(number)
    for pieces, numbers in kinds.items():
        longest, steps = windows[numbers[-1]].range // slide, -(-(high - low) // pieces)
        if pieces <= MOST_MIDDLES and longest + steps <= MOST_CELLS * steps * len(numbers):
            for begin in range(low, high, steps):
                yield Middles(tuple(numbers), begin * slide + phase, min(steps, high - begin))


def fold_middles(slices: Slices, windows: Sequence[Window], lanes: Sequence[Lane], middles: Middles,
                 first: Sequence[int | None]) -> Iterator[WindowAnswers]:
    """The answers of windows around a middle, some keys at a time."""
    slide, longest = windows[middles.asked[-1]].slide, windows[middles.asked[-1]].range
    low, high = middles.begin - longest, middles.begin + (middles.count - 1) * slide
    held = np.flatnonzero((slices.start >= low) & (slices.start < high))
    key, width = renumber_keys(slices.key[held]), longest // slide + 1
    few = max(CELLS // (width + middles.count), 1)
    for number in range(0, int(key[-1]) + 1 if len(key) else 0, few):
        begin, end = np.searchsorted(key, (number, number + few)).tolist()
        mine = held[begin:end]
        table = KeyTable(key[begin:end] - number, slices.start[mine], mine, middles, slide, longest % slide, width)
        yield from fold_table(table, [lane.ordered(mine) for lane in lanes], slices.rows[mine], windows, first)


@dataclass(frozen=True)
class KeyTable:
    """Slices of some keys, numbered from 0, as a table: `width` cells before the middle and one for each step from it.
    `row` says which slices of all these are.

    The cells before it begin where windows begin, which is `rest` before a step. The last of them is empty where that
    is nothing, and so is the first step's: what a window holds after the middle lies in the steps before its own.
    """

    key: np.ndarray
    start: np.ndarray
    row: np.ndarray
    middles: Middles
    slide: int
    rest: int
    width: int

    @cached_property
    def shape(self) -> tuple[int, int]:
        """The numbers of keys and of cells of a key."""
        return int(self.key[-1]) + 1, self.width + self.middles.count

    @cached_property
    def place(self) -> np.ndarray:
        """Where each slice lies, by key and time."""
        apart = self.start - self.middles.begin
        before = (apart + self.rest) // self.slide + self.width - 1
        after = apart // self.slide + self.width + 1
        return self.key * self.shape[1] + np.where(apart < 0, before, after)

    def fold(self, lane: Lane) -> tuple[State, State]:
        """For each key and cell before the middle, the fold from it to the middle; for each step, that up to it."""
        run = first_of_runs(self.place)
        cells = lane.operation.empty(types_of(lane.state), self.shape[0] * self.shape[1])
        for target, value in zip(cells, lane.operation.reduce_runs(lane.state, run), strict=True):
            target[self.place[run]] = value
        tables = tuple(a.reshape(self.shape) for a in cells)
        return (reversed_scan(lane.operation, tuple(a[:, : self.width] for a in tables)),
                lane.operation.scan(tuple(a[:, self.width :] for a in tables), 1))

    def window(self, lane: Lane, folds: tuple[State, State], length: int) -> State:
        """The folds of windows of so many slides, and the rest, that end at each step, by key."""
        begin, count = self.width - 1 - length, self.middles.count
        before, after = tuple(a[:, begin : begin + count] for a in folds[0]), folds[1]
        return tuple(a.reshape(-1) for a in lane.operation.combine(before, after))

    def steps(self) -> Steps:
        """The steps of all keys."""
        keys, count = self.shape[0], self.middles.count
        ends = self.middles.begin + np.arange(count) * self.slide
        row = self.row[np.searchsorted(self.key, np.arange(keys))]
        return Steps(np.repeat(np.arange(keys), count), np.tile(ends, keys), np.repeat(row, count))


def fold_table(table: KeyTable, lanes: Sequence[Lane], rows: np.ndarray, windows: Sequence[Window],
               first: Sequence[int | None]) -> Iterator[WindowAnswers]:
    """The answers of a table's windows."""
    counting = Lane(ADD, (rows,), None, lambda state: ([], None))
    counts, folds = table.fold(counting), [table.fold(lane) for lane in lanes]
    valid = [None if lane.valid is None else table.fold(count_present(lane)) for lane in lanes]
    steps = table.steps()
    for number in table.middles.asked:
        window, begin = windows[number], first[number]
        length = window.range // window.slide
        (held,) = table.window(counting, counts, length)
        whole = held > 0 if begin is None else (held > 0) & (steps.end - window.range >= begin)
        if not whole.any():
            continue
        there = slice(None) if whole.all() else np.flatnonzero(whole)
        decoded = []
        for lane, fold, present in zip(lanes, folds, valid, strict=True):
            state = tuple(a[there] for a in table.window(lane, fold, length))
            marked = None if present is None else table.window(counting, present, length)[0][there]
            decoded.append(lane.decode_present(state, marked))
        yield lay_out_steps(window, number, steps, there, held[there], tuple(decoded))
