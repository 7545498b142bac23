"""Choosing a kernel: the cheapest one that the monoid's algebra allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from weft.aggregates.monoid import Monoid, State
from weft.final.binary import binary
from weft.final.chain import chain
from weft.final.doubling import doubling
from weft.final.prefix import prefix

Kernel = Callable[[Monoid, State, Sequence[int], int], Iterator[State]]


# Tables of folds of 1, 2, 4 … cells take a line of cells a level: up to here they stay small.
LONG = 1 << 16


def choose(monoid: Monoid, cells: State, longest: int = 1) -> Kernel:
    """Prefix differences for exact sums; else by length and algebra: binary, doubling, or a chain."""
    if monoid.invertible(cells):
        return prefix
    if longest > LONG:
        return binary
    return doubling if monoid.idempotent else chain
