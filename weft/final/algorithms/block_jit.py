"""Block, compiled: the same two running folds in one pass over the line (van Herk, Gil and Werman)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from weft.aggregates.operation import Operation, State, types_of
from weft.final.algorithms.base import CombineBound
from weft.final.algorithms.block import CARD as BLOCK
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import dense_feed, narrow, one_line
from weft.final.algorithms.values import TAGS, combine, load, store

CARD = replace(BLOCK, name="block_jit", title="block prefix and suffix, compiled", engine="numba",
               space=CombineBound("n", lambda n: n))


@Kernel
def kernel(op, length, lines, cells, suffix, out):
    """Per line, the suffix folds of one block and the running fold of the next meet.

    While the running fold goes forward over a block, its own suffix folds are made from its end: the two do not wait
    for each other. `suffix` holds those of two blocks, in turn.
    """
    whole = cells[0].shape[0] // lines
    size = out[0].shape[0] // lines
    for line in range(lines):
        shift, target, here, there = line * whole, line * size, 0, length
        fold = load(cells, shift + length - 1)
        store(suffix, length - 1, fold)
        for i in range(length - 2, -1, -1):
            fold = combine(op, load(cells, shift + i), fold)
            store(suffix, i, fold)
        for start in range(0, size, length):
            store(out, target + start, load(suffix, here))
            ahead = shift + start + length
            last = min(length, size - start)
            if last == 1:
                continue
            running = load(cells, ahead)
            store(out, target + start + 1, combine(op, load(suffix, here + 1), running))
            if last == length and start + length < size:
                fold = load(cells, ahead + length - 1)
                store(suffix, there + length - 1, fold)
                for i in range(2, length):
                    fold = combine(op, load(cells, ahead + length - i), fold)
                    store(suffix, there + length - i, fold)
                    running = combine(op, running, load(cells, ahead + i - 1))
                    store(out, target + start + i, combine(op, load(suffix, here + i), running))
                store(suffix, there, combine(op, load(cells, ahead), fold))
            else:
                for i in range(2, last):
                    running = combine(op, running, load(cells, ahead + i - 1))
                    store(out, target + start + i, combine(op, load(suffix, here + i), running))
            here, there = there, here


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """One pass for each length."""
    for length in lengths:
        if length == 1:
            yield tuple(a[:size] for a in cells)
            continue
        feed = one_line(operation, dense_feed(tuple(a[: size + length - 1] for a in cells), [length]))
        lines = len(cells) if operation.ufunc is not None else 1
        out = tuple(np.empty(lines * size, a.dtype) for a in feed.cells)
        suffix = tuple(np.empty(2 * length, a.dtype) for a in feed.cells)
        kernel(TAGS[operation.name], length, lines, feed.cells, suffix, out)
        yield narrow(out, types_of(cells), len(cells))


block_jit = Bulk(CARD, slide)
