"""Binary: a window as the binary digits of its length, low ones last. For windows too long to keep a table for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.flat_fat import levels

CARD = Card(
    name="binary",
    title="binary",
    about="A window as the binary digits of its length: folds of 1, 2, 4 … slices, made one after another and dropped "
          "when the next is there.",
    paper="beyond the paper",
    single=CombineBound("2 ⌈log₂ n⌉", lambda n: 2 * levels(n) + 1),
    worst=CombineBound("2n ⌈log₂ n⌉", lambda n: 2 * n * (2 * levels(n) + 1)),
    multi=CombineBound("2n ⌈log₂ n⌉", lambda n: 2 * n * levels(n) + n),
    space=CombineBound("3n", lambda n: 3 * n),
    depth="log",
)


def double(operation: Operation, state: State, step: int) -> State:
    """The fold of twice as many cells as `step` at every place it fits."""
    room = len(state[0]) - step
    return operation.combine(tuple(a[:room] for a in state), tuple(a[step:] for a in state))


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """Three arrays at a time, whatever the length.

    `tail` folds the cells that the low digits stand for; the next digit's fold goes before it.
    """
    for length in lengths:
        power = cells
        tail: State = ()
        for level in range(length.bit_length()):
            step = 1 << level
            if length & step:
                tail = before(operation, power, tuple(a[step:] for a in tail))
            if length >> (level + 1):
                power = double(operation, power, step)
        yield tuple(a[:size] for a in tail)


def before(operation: Operation, head: State, tail: State) -> State:
    """The head's folds with the tail's after them, at every place where both are; just the head where no tail is."""
    if not tail:
        return head
    room = min(len(head[0]), len(tail[0]))
    return operation.combine(tuple(a[:room] for a in head), tuple(a[:room] for a in tail))


binary = Bulk(CARD, slide)
