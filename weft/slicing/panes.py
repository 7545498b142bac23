"""Panes: slices of one length that measures every range and slide (001 §2.1)."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from weft.model.edges import Progression
from weft.model.window import Window
from weft.slicing.base import Slicer


def edges(windows: Iterable[Window]) -> tuple[Progression, ...]:
    """The coarsest grid on which all windows begin and end: one progression."""
    return join(edge for window in windows for edge in each(window))


def each(window: Window) -> tuple[Progression, ...]:
    """The grid of one window."""
    size = gcd(window.range, window.slide)
    return ((window.phase % size, size),)


def join(grids: Iterable[Progression]) -> tuple[Progression, ...]:
    """The coarsest grid that holds several."""
    listed = tuple(grids)
    if not listed:
        return ()
    first = listed[0][0]
    # Offsets matter by their differences only: a shift common to all windows shifts the grid and leaves it as coarse.
    size = gcd(*(part for phase, period in listed for part in (period, phase - first)))
    return ((first % size, size),)


def uneven(window: Window) -> int:
    """r / GCD(r, s) (001 Table 1)."""
    return window.range // gcd(window.range, window.slide)


PANES = Slicer(
    name="panes",
    title="Panes",
    paper="001 §2.1; Li et al., No pane, no gain, SIGMOD Record 2005",
    description="Cuts time into slices of equal length, the greatest that divides every range, slide and offset.",
    edges=edges,
    each=each,
    join=join,
    uneven=uneven,
)
