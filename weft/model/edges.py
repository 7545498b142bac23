"""Edges: where the slices of a set of windows begin and end, exact and as few as the windows allow (Pairs)."""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm

from weft.model.window import Window

Progression = tuple[int, int]  # (phase, period): every time ≡ phase modulo period


def edges_of(window: Window) -> tuple[Progression, ...]:
    """A window's edges: where its windows begin, and where they end if that is elsewhere."""
    begin = window.phase
    end = (window.start + window.range) % window.slide
    return ((begin, window.slide),) if begin == end else ((begin, window.slide), (end, window.slide))


def within(inner: Progression, outer: Progression) -> bool:
    """Whether every point of `inner` is one of `outer`."""
    return inner[1] % outer[1] == 0 and inner[0] % outer[1] == outer[0]


def progressions(windows: Iterable[Window]) -> tuple[Progression, ...]:
    """The edges of all windows, without those that others contain."""
    found = sorted({edge for window in windows for edge in edges_of(window)}, key=lambda e: (e[1], e[0]))
    kept: list[Progression] = []
    for edge in found:
        if not any(within(edge, other) for other in kept):
            kept.append(edge)
    return tuple(kept)


def composite_slide(windows: Iterable[Window]) -> int:
    """The period after which the edges of all windows repeat (000 §3.3)."""
    return lcm(*(window.slide for window in windows))


def count_edges(windows: Iterable[Window], limit: int = 2_000_000) -> int | None:
    """How many edges fall into one composite slide, by listing them; None beyond `limit` points."""
    listed = tuple(windows)
    period = composite_slide(listed)
    kept = progressions(listed)
    if sum(period // every for _, every in kept) > limit:
        return None
    return len({point for phase, every in kept for point in range(phase, period, every)})
