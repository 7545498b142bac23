"""Prefix differences: one running total, one subtraction an answer. Legal for exact, invertible sums only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weft.aggregates.monoid import Monoid, State


def prefix(monoid: Monoid, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """For each length q, the fold of cells p … p + q − 1 for every p < size.

    Integer totals may wrap around; the difference of two wrapped totals is still the right one modulo 2**64.
    """
    totals = tuple(np.concatenate((np.zeros(1, a.dtype), np.cumsum(a, dtype=a.dtype))) for a in cells)
    for length in lengths:
        yield tuple(t[length : length + size] - t[:size] for t in totals)
