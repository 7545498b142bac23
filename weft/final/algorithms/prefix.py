"""Prefix differences: one running total, one subtraction an answer. Legal for exact, invertible sums only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.bulk import Bulk

CARD = Card(
    name="prefix",
    title="prefix differences",
    about="A running fold of the whole line is made once; a window is the difference of two of its elements, whatever "
          "its range. Integer totals may wrap around: the difference of two is still right modulo 2⁶⁴.",
    paper="beyond the paper",
    single=CombineBound("2", lambda n: 2),
    worst=CombineBound("n + 2", lambda n: n + 2),
    multi=CombineBound("n + 1", lambda n: n + 1),
    space=CombineBound("n", lambda n: n),
    needs=("invertible",),
    ragged=True,
)


def totals(operation: Operation, cells: State) -> State:
    """The fold of the first i cells, for i from 0 to all."""
    first = operation.identity(tuple(a.dtype for a in cells))
    ends = tuple(np.empty(len(a) + 1, a.dtype) for a in cells)
    for target, identity in zip(ends, first, strict=True):
        target[0] = identity
    operation.scan(cells, out=tuple(e[1:] for e in ends))
    return ends


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """The total after a window without the total before it."""
    assert operation.inverse is not None
    ends = totals(operation, cells)
    for length in lengths:
        yield operation.inverse(tuple(t[length : length + size] for t in ends), tuple(t[:size] for t in ends))


def read(operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
    """The same for windows of any lengths."""
    assert operation.inverse is not None
    ends = totals(operation, line)
    return operation.inverse(tuple(t[hi] for t in ends), tuple(t[lo] for t in ends))


prefix = Bulk(CARD, slide, read)
