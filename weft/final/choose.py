"""Choosing a kernel: the cheapest one that the monoid's algebra allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from weft.aggregates.monoid import Monoid, State
from weft.final.chain import chain
from weft.final.doubling import doubling
from weft.final.prefix import prefix

Kernel = Callable[[Monoid, State, Sequence[int], int], Iterator[State]]


def choose(monoid: Monoid, cells: State) -> Kernel:
    """Prefix differences for exact sums, doubling for idempotent monoids, a chain for all others."""
    if monoid.invertible(cells):
        return prefix
    return doubling if monoid.idempotent else chain
