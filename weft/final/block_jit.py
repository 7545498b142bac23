"""Block, compiled: the same two running folds in one pass over the line (van Herk, Gil and Werman)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from weft.aggregates.monoid import Monoid, State, types_of
from weft.final.base import Bound, dense_feed
from weft.final.block import CARD as BLOCK
from weft.final.bulk import Bulk
from weft.final.jit import Kernel
from weft.final.sequential import narrow, one_line
from weft.final.values import TAGS, combine, load, store

CARD = replace(BLOCK, name="block_jit", title="block prefix and suffix, compiled", engine="numba",
               space=Bound("n", lambda n: n))


@Kernel
def kernel(op, length, lines, cells, suffix, out):
    """Per line and block, suffix folds from its end; then the next block's running fold meets them."""
    whole = cells[0].shape[0] // lines
    size = out[0].shape[0] // lines
    for line in range(lines):
        shift, target = line * whole, line * size
        for start in range(0, size, length):
            fold = load(cells, shift + start + length - 1)
            store(suffix, length - 1, fold)
            for i in range(length - 2, -1, -1):
                fold = combine(op, load(cells, shift + start + i), fold)
                store(suffix, i, fold)
            store(out, target + start, fold)
            ahead = shift + start + length
            last = min(length, size - start)
            if last > 1:
                fold = load(cells, ahead)
                store(out, target + start + 1, combine(op, load(suffix, 1), fold))
            for i in range(2, last):
                fold = combine(op, fold, load(cells, ahead + i - 1))
                store(out, target + start + i, combine(op, load(suffix, i), fold))


def slide(monoid: Monoid, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """One pass for each length."""
    for length in lengths:
        feed = one_line(monoid, dense_feed(tuple(a[: size + length - 1] for a in cells), [length]))
        lines = len(cells) if monoid.ufunc is not None else 1
        out = tuple(np.empty(lines * size, a.dtype) for a in feed.cells)
        suffix = tuple(np.empty(length, a.dtype) for a in feed.cells)
        kernel(TAGS[monoid.name], length, lines, feed.cells, suffix, out)
        yield narrow(out, types_of(cells), len(cells))


block_jit = Bulk(CARD, slide)
