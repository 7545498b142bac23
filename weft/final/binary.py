"""Binary: a window as the binary digits of its length, low ones last. For windows too long to keep a table for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.monoid import Monoid, State


def double(monoid: Monoid, state: State, step: int) -> State:
    """The fold of twice as many cells as `step` at every place it fits."""
    room = len(state[0]) - step
    return monoid.combine(tuple(a[:room] for a in state), tuple(a[step:] for a in state))


def binary(monoid: Monoid, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """For each length q, the fold of cells p … p + q − 1 for every p < size, holding three arrays at a time.

    `tail` folds the cells that the low digits stand for; the next digit's fold goes before it.
    """
    for length in lengths:
        power = cells
        tail: State = ()
        for level in range(length.bit_length()):
            step = 1 << level
            if length & step:
                tail = before(monoid, power, tuple(a[step:] for a in tail))
            if length >> (level + 1):
                power = double(monoid, power, step)
        yield tuple(a[:size] for a in tail)


def before(monoid: Monoid, head: State, tail: State) -> State:
    """The head's folds with the tail's after them, at every place where both are; just the head where no tail is."""
    if not tail:
        return head
    room = min(len(head[0]), len(tail[0]))
    return monoid.combine(tuple(a[:room] for a in head), tuple(a[:room] for a in tail))
