"""Panes (recalc): fold every window from its cells anew. The oracle of the family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.monoid import Monoid, State


def recalc(monoid: Monoid, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """For each length q, the fold of cells p … p + q − 1 for every p < size."""
    for length in lengths:
        total = tuple(a[:size].copy() for a in cells)
        for i in range(1, length):
            total = monoid.combine(total, tuple(a[i : i + size] for a in cells))
        yield total
