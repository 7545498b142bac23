"""Layout: ragged slices of many keys as one line of cells, on which a window is a shift.

All windows of one slide and phase share a grid of cells, one slide long each. Slices of a key that some window
can see together form a *run*; runs lie one after another with as many empty cells between them as the longest
window reaches, so no window ever sees two runs and every window start of a run has a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.model.window import Window

# Windows whose lengths differ by more than this lie in lines of their own: the longest sets the gap between runs.
SPREAD = 8


@dataclass(frozen=True)
class Reach:
    """A window in cells: `length` whole cells, then the first `rest` microseconds, or rows, of one more."""

    window: int
    length: int
    rest: int

    @property
    def span(self) -> int:
        """How many cells the window touches."""
        return self.length + (self.rest > 0)


@dataclass(frozen=True)
class Grid:
    """Windows of one slide and phase, near enough in length to share a line of cells, shortest first.

    Where they count rows, only those are reported that no further row would fall in.
    """

    slide: int
    phase: int
    reaches: tuple[Reach, ...]
    counts_rows: bool = False

    @property
    def gap(self) -> int:
        """The empty cells between two runs."""
        return max(r.span for r in self.reaches) - 1


@dataclass(frozen=True)
class Layout:
    """Where each slice lies on the line, and the runs: `segment` where a run's window starts begin,
    `base` its first slice's place, `cell` that slice's cell, `row` that slice's index."""

    place: np.ndarray
    segment: np.ndarray
    base: np.ndarray
    cell: np.ndarray
    row: np.ndarray
    size: int


def grids(windows: Sequence[Window]) -> Iterator[Grid]:
    """The windows grouped by slide and phase, then by length."""
    families: dict[tuple[int, int, bool], list[Reach]] = {}
    for i, window in enumerate(windows):
        length, rest = divmod(window.range, window.slide)
        families.setdefault((window.slide, window.phase, window.counts_rows), []).append(Reach(i, length, rest))
    for (slide, phase, counts_rows), reaches in sorted(families.items()):
        shared: list[Reach] = []
        for reach in sorted(reaches, key=lambda r: (r.length, r.rest)):
            if shared and reach.length > SPREAD * shared[0].length:
                yield Grid(slide, phase, tuple(shared), counts_rows)
                shared = []
            shared.append(reach)
        yield Grid(slide, phase, tuple(shared), counts_rows)


def algorithms_on(windows: Sequence[Window], whole: Sequence[Window],
                  algorithms: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The algorithms of some of the windows, given those on the grids of all of them.

    Fewer windows may lie on fewer grids; the algorithm of the longest may serve all of its grid.
    """
    pairs = zip(grids(whole), algorithms, strict=True)
    chosen = {whole[reach.window]: names for grid, names in pairs for reach in grid.reaches}
    return tuple(tuple(chosen[windows[grid.reaches[-1].window]]) for grid in grids(windows))


def lay_out(key: np.ndarray, cell: np.ndarray, gap: int) -> Layout:
    """The line of slices sorted by key and cell."""
    row = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (cell[1:] - cell[:-1] > gap)))
    last = np.append(row[1:], len(cell)) - 1
    lengths = cell[last] - cell[row] + 1
    segment = np.concatenate(([0], np.cumsum(lengths + gap)))
    base = segment[:-1] + gap
    place = cell + np.repeat(base - cell[row], last - row + 1)
    return Layout(place, segment[:-1], base, cell[row], row, int(segment[-1]))
