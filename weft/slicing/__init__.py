"""Slicers: how a stream is cut into slices that all windows are folded from. To add one: one file and one line."""

from __future__ import annotations

from collections.abc import Iterable

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


def find_slicer(name: str) -> Slicer:
    """The slicer of that name."""
    for slicer in SLICERS:
        if slicer.name == name:
            return slicer
    raise PlanError(f"there is no slicer '{name}': choose one of {', '.join(s.name for s in SLICERS)}.")


def open_slices(names: Iterable[str]) -> str | None:
    """Why what is cut by these slicers cannot run on Spark, in a sentence; None where it can."""
    for slicer in map(find_slicer, dict.fromkeys(names)):
        if slicer.reads_open:
            return (f"{slicer.title} reads slices that are still open, which Weft's final stage on Spark does not keep "
                    "(decision 0011): it can be priced and explained, and runs in the local runner only")
    return None


def refuse_open(names: Iterable[str]) -> None:
    """Raise where slices are cut in a way that Spark's final stage cannot read."""
    if why := open_slices(names):
        raise PlanError(f"{why}. Choose {' or '.join(s.name for s in SLICERS if not s.reads_open)}.")


__all__ = ["CUTTY", "PAIRS", "PANES", "SLICERS", "Slicer", "find_slicer", "open_slices", "refuse_open",
           "slice_end", "slice_start"]
