"""Fold: slices of many keys into the answers of many windows, tile by tile.

A tile is a stretch of the line of cells that fits the cache. Per tile every lane becomes dense cells, a kernel
slides all windows over them, and the answers that exist are gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from weft.aggregates.monoids.lanes import Decoded, Lane
from weft.aggregates.operation import ADD, State, types_of
from weft.final.algorithms.base import Algorithm
from weft.final.algorithms.bulk import TILE
from weft.final.algorithms.prefix import prefix
from weft.final.bags import BagLane
from weft.final.bags.bag import Answering
from weft.final.fold.layout import Grid, Layout, Reach, grids, lay_out
from weft.final.rows.whole_windows import shorten_grid, whole_windows
from weft.model.window import Window

# How many values the lists of one batch of answers may hold together.
SENT = 1 << 21
# The values and marks of the answers at some places.
AnswerReader = Callable[[np.ndarray], Decoded]


@dataclass(frozen=True)
class Slices:
    """Slices sorted by key and start: the key's number, the slice's start, and how many rows it holds."""

    key: np.ndarray
    start: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class WindowAnswers:
    """Answers of one window: row i holds the answers `offsets[i]` … `offsets[i + 1]` of the key of slice `row[i]`.

    The windows of a row start at `first[i]` and follow each other by one slide, unless `starts` lists every start.
    A lane's marks hold for whole rows. A lane that the window does not ask for is None.
    """

    window: int
    row: np.ndarray
    offsets: np.ndarray
    first: np.ndarray
    starts: np.ndarray | None
    rows: np.ndarray
    lanes: tuple[Decoded | None, ...]


@dataclass(frozen=True)
class Cells:
    """One tile's slices: their places relative to the tile, offsets within the cell, and which slices they are."""

    place: np.ndarray
    offset: np.ndarray
    span: slice
    size: int

    @cached_property
    def first(self) -> np.ndarray:
        """The first slice of each cell that has some."""
        return first_of_runs(self.place)


def fold_dense(slices: Slices, windows: Sequence[Window], lanes: Sequence[Lane | BagLane],
               algorithms: Sequence[Sequence[Algorithm | None]],
               asking: Sequence[Container[int]] = ()) -> Iterator[WindowAnswers]:
    """Every answer of every window, a batch of rows at a time; `algorithms[g][i]` folds lane i on grid g.

    A lane of bags has no algorithm: it brings its kernel along. `asking[i]` are the windows that ask for lane i;
    without it, all do.
    """
    if len(slices.start) == 0:
        return
    for found, chosen in zip(grids(windows), algorithms, strict=True):
        grid = shorten_grid(found, int((slices.start + slices.rows).max())) if found.counts_rows else found
        cell, offset = np.divmod(slices.start - grid.phase, grid.slide)
        layout = lay_out(slices.key, cell, grid.gap)
        tile = max(TILE, 2 * grid.gap)
        for low in range(0, layout.size, tile):
            every = asking or [range(len(windows))] * len(lanes)
            folded = [FoldedLane(*each) for each in zip(lanes, chosen, every, strict=True)]
            yield from fold_tile(slices, grid, layout, offset, low, min(low + tile, layout.size), folded)


class FoldedLane(NamedTuple):
    """A lane, the algorithm that folds it on a grid, and the windows that ask for it."""

    lane: Lane | BagLane
    algorithm: Algorithm | None
    asking: Container[int]

    def read(self, cells: Cells, reaches: Sequence[Reach], size: int) -> Iterator[AnswerReader]:
        """For each reach that asks for the lane, what tells its answers."""
        mine = [reach for reach in reaches if reach.window in self.asking]
        if isinstance(self.lane, BagLane):
            return read_bags(cells, self.lane, mine)
        return slide_lanes(cells, self.lane, self.algorithm or prefix, mine, size) if mine else iter(())


def fold_tile(slices: Slices, grid: Grid, layout: Layout, offset: np.ndarray, low: int, high: int,
              folded: Sequence[FoldedLane]) -> Iterator[WindowAnswers]:
    """The answers of the windows that start in the tile [low, high) of the line."""
    first, last = np.searchsorted(layout.place, (low, high + grid.gap + 1))
    span = slice(int(first), int(last))
    cells = Cells(layout.place[span] - low, offset[span], span, high - low + grid.gap + 1)
    size = high - low
    counts = slide_windows(cells, Lane(ADD, (slices.rows,), None, lambda s: ([], None)), prefix, grid.reaches, size)
    told = [lane.read(cells, grid.reaches, size) for lane in folded]
    for reach, (rows,) in zip(grid.reaches, counts, strict=True):
        asked = [reach.window in each.asking for each in folded]
        tellings = [next(lane) if here else None for lane, here in zip(told, asked, strict=True)]
        spreading = [lane for (lane, *_), here in zip(folded, asked, strict=True)
                     if here and isinstance(lane, BagLane) and lane.kernel.spreads]
        there = whole_windows(grid, reach, layout, low, rows) if grid.counts_rows else np.flatnonzero(rows)
        for here in split_answers(cells, reach, spreading, there):
            if len(here):
                sent = tuple(tell and tell(here) for tell in tellings)
                yield cut_answers(grid, reach, layout, low, here, rows[here], sent)


def slide_lanes(cells: Cells, lane: Lane, algorithm: Algorithm, reaches: Sequence[Reach],
                size: int) -> Iterator[AnswerReader]:
    """For each reach, what tells the folds of a lane."""
    values = slide_windows(cells, lane, algorithm, reaches, size)
    marks = None if lane.valid is None else slide_windows(cells, count_present(lane), prefix, reaches, size)
    for state in values:
        yield partial(gather_answers, lane, state, None if marks is None else next(marks)[0])


def read_bags(cells: Cells, lane: BagLane, reaches: Sequence[Reach]) -> Iterator[AnswerReader]:
    """For each reach, what tells the answers of a lane of bags."""
    answering = lane.over(cells.span)
    for reach in reaches:
        yield partial(read_bag, cells, reach, answering)


def read_bag(cells: Cells, reach: Reach, answering: Answering, here: np.ndarray) -> Decoded:
    """The answers of the windows that start at some cells."""
    return answering(*covered_slices(cells, reach, here))


def covered_slices(cells: Cells, reach: Reach, here: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The slices that the windows starting at some cells cover, from the first to one past the last of each.

    Slices lie in the order of their starts, so those in the first part of a window's last cell come first there.
    """
    low, high = np.searchsorted(cells.place, here), np.searchsorted(cells.place, here + reach.length)
    if reach.rest:
        early = np.append(0, np.cumsum(cells.offset < reach.rest))
        high = high + early[np.searchsorted(cells.place, here + reach.length + 1)] - early[high]
    return low, high


def split_answers(cells: Cells, reach: Reach, spreading: Sequence[BagLane], here: np.ndarray) -> Sequence[np.ndarray]:
    """The answers in shares whose lists are not too large together."""
    if not spreading:
        return [here]
    bounds = covered_slices(cells, reach, here)
    held = np.cumsum(sum(lane.held(cells.span, *bounds) for lane in spreading))
    return np.split(here, np.flatnonzero(np.diff(held // SENT)) + 1)


def count_present(lane: Lane) -> Lane:
    """A lane that counts the slices in which the other one has a value."""
    assert lane.valid is not None
    return Lane(ADD, (lane.valid.astype(np.int64),), None, lane.decode)


def slide_windows(cells: Cells, lane: Lane, algorithm: Algorithm, reaches: Sequence[Reach],
                  size: int) -> Iterator[State]:
    """For each reach, the fold of the lane over the window that starts at each of the first `size` cells."""
    whole = fill_cells(cells, lane, None)
    rests = {rest: fill_cells(cells, lane, rest) for rest in {r.rest for r in reaches} if rest}
    lengths = [reach.length for reach in reaches]
    folds = algorithm.slide(lane.operation, whole, lengths, size)
    for reach, state in zip(reaches, folds, strict=True):
        if reach.rest:
            tail = tuple(a[reach.length : reach.length + size] for a in rests[reach.rest])
            state = lane.operation.combine(state, tail)
        yield state


def fill_cells(cells: Cells, lane: Lane, rest: int | None) -> State:
    """The lane as one value per cell, of all its slices or of those in the first `rest` microseconds or rows."""
    state, place, first = tuple(a[cells.span] for a in lane.state), cells.place, cells.first
    if rest is not None:
        early = cells.offset < rest
        state, place = tuple(a[early] for a in state), place[early]
        first = first_of_runs(place)
    line = lane.operation.empty(types_of(lane.state), cells.size)
    if len(first) < len(place):
        state, place = lane.operation.reduce_runs(state, first), place[first]
    for target, value in zip(line, state, strict=True):
        target[place] = value
    return line


def first_of_runs(place: np.ndarray) -> np.ndarray:
    """Where another place begins, of places in order."""
    return np.flatnonzero(np.append(True, place[1:] != place[:-1])) if len(place) else place


def gather_answers(lane: Lane, state: State, valid: np.ndarray | None, here: np.ndarray) -> Decoded:
    """The values and marks of the answers that exist."""
    return lane.decode_present(tuple(a[here] for a in state), None if valid is None else valid[here])


def cut_answers(grid: Grid, reach: Reach, layout: Layout, low: int, here: np.ndarray, rows: np.ndarray,
                lanes: tuple[Decoded | None, ...]) -> WindowAnswers:
    """The gathered answers cut into rows: one per run, or one per run and set of marks."""
    place = here + low
    run, offsets = cut_runs(layout, place)
    if any(lane is not None and lane[1] is not None for lane in lanes):
        order, run, offsets = cut_by_marks([lane for lane in lanes if lane is not None], run, offsets)
        place, rows = place[order], rows[order]
        lanes = tuple(lane and take_lane(lane, order) for lane in lanes)
    shift = layout.cell[run] - layout.base[run]
    first = (place[offsets[:-1]] + shift) * grid.slide + grid.phase
    gapless = np.array_equal(place[offsets[1:] - 1] - place[offsets[:-1]], np.diff(offsets) - 1)
    starts = None if gapless else (place + np.repeat(shift, np.diff(offsets))) * grid.slide + grid.phase
    marked = tuple(lane and (lane[0], None if lane[1] is None else lane[1][offsets[:-1]]) for lane in lanes)
    return WindowAnswers(reach.window, layout.row[run], offsets, first, starts, rows, marked)


def take_lane(lane: Decoded, order: np.ndarray) -> Decoded:
    """The values and marks in another order."""
    values, marks = lane
    return [v.take(order) for v in values], None if marks is None else marks[order]


def cut_runs(layout: Layout, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The runs that the places lie in, and where each run's places begin and end."""
    begin = int(np.searchsorted(layout.segment, place[0], "right")) - 1
    end = int(np.searchsorted(layout.segment, place[-1], "right"))
    cuts = np.append(np.searchsorted(place, layout.segment[begin:end]), len(place))
    filled = np.flatnonzero(cuts[1:] > cuts[:-1])
    return begin + filled, np.append(cuts[filled], len(place))


def cut_by_marks(lanes: Sequence[Decoded], run: np.ndarray,
                 offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order that brings equal marks of a run together, and the rows it makes.

    A mark that holds for a whole row costs Spark one look a row; one beside every value would cost one a value.
    """
    group = np.repeat(np.arange(len(run)), np.diff(offsets))
    for _, marks in lanes:
        if marks is not None:
            group = np.unique(group * 3 + marks, return_inverse=True)[1]
    order = np.argsort(group, kind="stable")
    heads = np.flatnonzero(np.append(True, np.diff(group[order]) != 0))
    owner = np.searchsorted(offsets, order[heads], "right") - 1
    return order, run[owner], np.append(heads, len(order))
