"""Pairs: slices cut where windows begin and end, nowhere else (000 §3.2, 001 §2.1)."""

from __future__ import annotations

from weft.model.edges import edges_of, progressions
from weft.model.window import Window
from weft.slicing.base import Slicer


def uneven(window: Window) -> int:
    """2 · ⌊r / s⌋ + 1 (001 Table 1): two fragments a slide, and the first fragment of one more."""
    return 2 * (window.range // window.slide) + 1


PAIRS = Slicer(
    name="pairs",
    title="Pairs",
    paper="000 §3.2, 001 §2.1; Krishnamurthy et al., On-the-fly sharing for streamed aggregation, SIGMOD 2006",
    description="Cuts time where a window begins or ends: at most two slices a slide for one window.",
    edges=progressions,
    each=edges_of,
    uneven=uneven,
)
