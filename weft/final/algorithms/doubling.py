"""Doubling: folds of 1, 2, 4 … cells, any window as two that overlap. Legal for idempotent operations only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import TABLED, Card, CombineBound
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.flat_fat import levels

CARD = Card(
    name="doubling",
    title="doubling",
    about="A table of the folds of 1, 2, 4 … slices from every place; a window is two of them that may overlap.",
    paper="beyond the paper",
    single=CombineBound("⌈log₂ n⌉ + 1", lambda n: levels(n) + 1),
    worst=CombineBound("2n ⌈log₂ n⌉", lambda n: 2 * n * (levels(n) + 1)),
    multi=CombineBound("n + ⌈log₂ n⌉", lambda n: n + levels(n)),
    space=CombineBound("n ⌈log₂ n⌉", lambda n: n * (levels(n) + 1)),
    needs=("idempotent",),
    depth="log",
    longest=TABLED,
    ragged=True,
)


def widen(operation: Operation, table: list[State], level: int) -> State:
    """The fold of 2**level cells at every place it fits, building the table up to there."""
    while len(table) <= level:
        half = 1 << (len(table) - 1)
        last = table[-1]
        room = len(last[0]) - half
        table.append(operation.combine(tuple(a[:room] for a in last), tuple(a[half:] for a in last)))
    return table[level]


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """Two folds a window, one combine."""
    table = [cells]
    for length in lengths:
        level = length.bit_length() - 1
        wide, shift = widen(operation, table, level), length - (1 << level)
        left = tuple(a[:size] for a in wide)
        yield operation.combine(left, tuple(a[shift : shift + size] for a in wide)) if shift else left


def read(operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
    """The same for windows of any lengths, level by level."""
    table, level = [line], np.frexp(hi - lo)[1] - 1
    answers = tuple(np.empty(len(lo), a.dtype) for a in line)
    for i in np.unique(level).tolist():
        mine, wide = np.flatnonzero(level == i), widen(operation, table, i)
        right = hi[mine] - (1 << i)
        found = operation.combine(tuple(a[lo[mine]] for a in wide), tuple(a[right] for a in wide))
        for target, value in zip(answers, found, strict=True):
            target[mine] = value
    return answers


doubling = Bulk(CARD, slide, read)
