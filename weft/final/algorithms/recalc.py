"""Panes (recalc): fold every window from its slices anew. The oracle of the family (001 §2.2, Naive)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.bulk import Bulk

CARD = Card(
    name="recalc",
    title="Panes",
    about="Folds the slices of every window from the first to the last.",
    paper="001 §2.2 [19]",
    single=CombineBound("n", lambda n: n),
    worst=CombineBound("n", lambda n: n),
    multi=CombineBound("n²", lambda n: n * n),
    space=CombineBound("n", lambda n: n),
    table="n | n | n² | n",
    ragged=True,
)


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """All windows of a length side by side, one more slice each at a time."""
    for length in lengths:
        total = tuple(a[:size].copy() for a in cells)
        for i in range(1, length):
            total = operation.combine(total, tuple(a[i : i + size] for a in cells))
        yield total


def read(operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
    """The same for windows of any lengths."""
    total = tuple(a[lo] for a in line)
    for i in range(1, int((hi - lo).max(initial=0))):
        longer = np.flatnonzero(hi - lo > i)
        more = operation.combine(tuple(a[longer] for a in total), tuple(a[lo[longer] + i] for a in line))
        for target, value in zip(total, more, strict=True):
            target[longer] = value
    return total


recalc = Bulk(CARD, slide, read)
