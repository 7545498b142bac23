"""Cutty-slicing: slices cut only where windows begin; a window's end reads the slice that is open then (001 §2.1)."""

from __future__ import annotations

from collections.abc import Iterable

from weft.model.edges import Progression, without_contained
from weft.model.window import Window
from weft.slicing.base import Slicer


def edges(windows: Iterable[Window]) -> tuple[Progression, ...]:
    """Where the windows begin."""
    return without_contained(edge for window in windows for edge in each(window))


def each(window: Window) -> tuple[Progression, ...]:
    """Where windows of one kind begin."""
    return ((window.phase, window.slide),)


def uneven(window: Window) -> int:
    """⌈r / s⌉ (001 Table 1), the last of them open."""
    return -(-window.range // window.slide)


CUTTY = Slicer(
    name="cutty",
    title="Cutty-slicing",
    paper="001 §2.1; Carbone et al., Cutty: aggregate sharing for user-defined windows, CIKM 2016",
    description="Cuts time only where a window begins; a window that ends inside a slice reads it as far as it is.",
    edges=edges,
    each=each,
    uneven=uneven,
    reads_open=True,
)
