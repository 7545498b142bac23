"""Doubling: folds of 1, 2, 4 … cells, any window as two that overlap. Legal for idempotent monoids only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.monoid import Monoid, State


def widen(monoid: Monoid, table: list[State], level: int) -> State:
    """The fold of 2**level cells at every place it fits, building the table up to there."""
    while len(table) <= level:
        half = 1 << (len(table) - 1)
        last = table[-1]
        room = len(last[0]) - half
        table.append(monoid.combine(tuple(a[:room] for a in last), tuple(a[half:] for a in last)))
    return table[level]


def doubling(monoid: Monoid, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """For each length q, the fold of cells p … p + q − 1 for every p < size, one combine each."""
    table = [cells]
    for length in lengths:
        level = length.bit_length() - 1
        wide, shift = widen(monoid, table, level), length - (1 << level)
        left = tuple(a[:size] for a in wide)
        yield monoid.combine(left, tuple(a[shift : shift + size] for a in wide)) if shift else left
