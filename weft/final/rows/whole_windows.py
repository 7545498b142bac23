"""Windows that count rows: how far they need to reach back, and which of them are whole.

Rows of a key are numbered from 0 without gaps, so the line of a key is one run, and how many rows a window holds tells
whether its last row is there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from weft.final.fold.layout import Grid, Layout, Reach


def shorten_grid(grid: Grid, most: int) -> Grid:
    """The grid for keys of at most so many rows: windows end where they did, and reach back no further than rows are.

    A line has as many empty cells before each key as its longest window is long, however few rows the key has.
    """
    return replace(grid, reaches=tuple(
        replace(reach, length=min(reach.length, max(1, -(-(most - reach.rest) // grid.slide))))
        for reach in grid.reaches))


def whole_windows(grid: Grid, reach: Reach, layout: Layout, low: int, rows: np.ndarray) -> np.ndarray:
    """The places, from `low` on, whose windows hold all rows up to their end; `rows` is how many each place's holds."""
    here = np.flatnonzero(rows)
    run = np.searchsorted(layout.segment, here + low, "right") - 1
    cell = here + low - layout.base[run] + layout.cell[run]
    size = reach.length * grid.slide + reach.rest
    end = cell * grid.slide + grid.phase + size
    return here[rows[here] == np.minimum(end, size)]
