"""Slicers: how a stream is cut into slices that all windows are folded from. To add one: one file and one line."""

from __future__ import annotations

from weft.errors import PlanError
from weft.slicing.base import Slicer, slice_end, slice_start
from weft.slicing.cutty import CUTTY
from weft.slicing.pairs import PAIRS
from weft.slicing.panes import PANES

# From the most cuts to the fewest.
SLICERS: tuple[Slicer, ...] = (
    PANES,
    PAIRS,
    CUTTY,
)


def find(name: str) -> Slicer:
    """The slicer of that name."""
    for slicer in SLICERS:
        if slicer.name == name:
            return slicer
    raise PlanError(f"there is no slicer '{name}': choose one of {', '.join(s.name for s in SLICERS)}.")


__all__ = ["CUTTY", "PAIRS", "PANES", "SLICERS", "Slicer", "find", "slice_end", "slice_start"]
