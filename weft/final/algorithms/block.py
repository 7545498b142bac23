"""Block: prefix and suffix folds within blocks as long as the window (van Herk, Gil and Werman)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.disjoint import padded, reversed_scan

CARD = Card(
    name="block",
    title="block prefix and suffix",
    about="Cuts the line into blocks as long as the window; a window is the end of one block and the beginning of the "
          "next, whose folds are running folds within the blocks.",
    paper="beyond the paper",
    single=CombineBound("3", lambda n: 3.01),
    worst=CombineBound("6n", lambda n: 6 * n),
    multi=CombineBound("3n", lambda n: 3.01 * n),
    space=CombineBound("3n", lambda n: 3 * n),
)


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """Two scans and one combine for each length."""
    for length in lengths:
        yield tuple(a[:size] for a in cells) if length == 1 else slide_one(operation, cells, length, size)


def slide_one(operation: Operation, cells: State, length: int, size: int) -> State:
    """The suffix from each place, combined with the prefix up to the window's end."""
    line = padded(operation, tuple(a[: size + length - 1] for a in cells), length)
    rows = tuple(a.reshape(-1, length) for a in line)
    before = tuple(a.reshape(-1)[:size] for a in reversed_scan(operation, rows))
    after = tuple(a.reshape(-1)[length - 1 : length - 1 + size] for a in operation.scan(rows, 1))
    # A window that is just one block is a whole suffix already.
    folded = operation.combine(before, after)
    for target, whole in zip(folded, before, strict=True):
        target[::length] = whole[::length]
    return folded


block = Bulk(CARD, slide)
