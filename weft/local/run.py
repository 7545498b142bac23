"""Running a tree locally: rows into slices at the tree's edges, slices into answers by a final algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import Algorithm
from weft.local.open_slices import latest_cut, open_parts, with_open
from weft.model.edges import Progression
from weft.model.window import Window
from weft.slicing import PAIRS, Slicer


@dataclass(frozen=True)
class LocalRows:
    """A stream: times, keys as numbers from 0, and an operation's values, row by row in any order."""

    time: np.ndarray
    key: np.ndarray
    values: State


@dataclass(frozen=True)
class LocalSlices:
    """Slices sorted by key and start; key k has those from `offsets[k]` to `offsets[k + 1]`."""

    start: np.ndarray
    offsets: np.ndarray
    values: State


@dataclass(frozen=True)
class LocalAnswers:
    """The answers of one window, sorted by key and start."""

    key: np.ndarray
    start: np.ndarray
    values: State


def cut_rows(rows: LocalRows, cuts: Sequence[Progression], operation: Operation) -> LocalSlices:
    """The partial stage of a tree: every row goes to the slice that began last."""
    start = latest_cut(rows.time, cuts)
    order = np.lexsort((start, rows.key))
    key, start = rows.key[order], start[order]
    first = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (start[1:] != start[:-1])))
    values = operation.reduce_runs(tuple(a[order] for a in rows.values), first)
    keys = int(rows.key.max()) + 1
    return LocalSlices(start[first], np.searchsorted(key[first], np.arange(keys + 1)), values)


def run_tree(rows: LocalRows, windows: Sequence[Window], operation: Operation,
             algorithm: Algorithm, slicer: Slicer = PAIRS) -> Iterator[tuple[Window, LocalAnswers]]:
    """The answers of every window of a tree; windows that end at the same times are folded together."""
    if not len(rows.time):
        return
    cuts = slicer.edges(windows)
    slices = cut_rows(rows, cuts, operation)
    still_open = rows if slicer.reads_open else None
    families: dict[tuple[int, int], list[Window]] = {}
    for window in sorted(set(windows)):
        families.setdefault((window.slide, (window.start + window.range) % window.slide), []).append(window)
    for (slide, phase), family in sorted(families.items()):
        for together in [family] if algorithm.card.multi else [[window] for window in family]:
            yield from fold_local(slices, cuts, slide, phase, together, operation, algorithm, still_open)


def fold_local(slices: LocalSlices, cuts: Sequence[Progression], slide: int, phase: int, windows: Sequence[Window],
               operation: Operation, algorithm: Algorithm,
               still_open: LocalRows | None) -> Iterator[tuple[Window, LocalAnswers]]:
    """Windows of one slide that end together: all keys are read at once. Rows are given where slices are read while
    open."""
    steps = find_steps(slices, cuts, slide, phase, [w.range for w in windows])
    answers = algorithm.read(operation, slices.values, steps.lo, steps.hi)
    key, end, parts = steps.key, steps.end, None
    if still_open is not None:
        parts = open_parts(still_open.time, still_open.key, still_open.values, cuts, key, end, slide, operation)
    for r, window in enumerate(windows):
        held, values = steps.hi > steps.lo[:, r], tuple(a.reshape(-1, len(windows))[:, r] for a in answers)
        if parts is not None:
            values, held = with_open(values, held, parts, operation)
        there = np.flatnonzero(held)
        yield window, LocalAnswers(key[there], end[there] - window.range, tuple(a[there] for a in values))


@dataclass(frozen=True)
class LocalSteps:
    """Moments at which windows end: the key, the moment, and the windows as slices, `lo[i, r]` to `hi[i]`."""

    key: np.ndarray
    end: np.ndarray
    lo: np.ndarray
    hi: np.ndarray


def find_steps(slices: LocalSlices, cuts: Sequence[Progression], slide: int, phase: int,
               ranges: Sequence[int]) -> LocalSteps:
    """All steps of all keys: from the first end after a key's first slice to the last that sees its last slice. Only
    slices that are closed by then count."""
    size = np.diff(slices.offsets)
    there = size > 0
    first, last = slices.start[slices.offsets[:-1][there]], slices.start[slices.offsets[1:][there] - 1]
    begin = first - (first - phase) % slide + slide
    steps = np.zeros(len(size), np.int64)
    steps[there] = (last + max(ranges) - begin) // slide + 1
    offsets = np.append(0, np.cumsum(steps))
    key = np.repeat(np.arange(len(size)), steps)
    ends = np.zeros(len(size), np.int64)
    ends[there] = begin
    end = ends[key] + (np.arange(offsets[-1]) - offsets[key]) * slide
    hi = place_rows(slices, key, latest_cut(end, cuts))
    lo = np.stack([place_rows(slices, key, end - r) for r in ranges], 1)
    return LocalSteps(key, end, lo, hi)


def place_rows(slices: LocalSlices, key: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The first slice of each key that does not begin before each time."""
    low = int(min(slices.start.min(), time.min()))
    span = int(max(slices.start.max(), time.max())) - low + 1
    owner = np.repeat(np.arange(len(slices.offsets) - 1), np.diff(slices.offsets))
    return np.searchsorted(owner * span + (slices.start - low), key * span + (time - low))
