"""SlickDeque (Inv): Panes (Inv) with a running fold per range (001 §2.2)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import begin_of, combine, end_of, inverse, load, store

CARD = Card(
    name="slick_deque_inv",
    title="SlickDeque (Inv)",
    about="Adds a new slice to the running fold of every range and subtracts from each the slice that leaves it.",
    paper="001 §2.2 [22]",
    single=CombineBound("2", lambda n: 2),
    worst=CombineBound("2", lambda n: 2),
    multi=CombineBound("2n", lambda n: 2 * n),
    space=CombineBound("n + ranges", lambda n: 2 * n),
    needs=("invertible",),
    engine="numba",
    table="2 | 2 | 2n | n",
)


@Kernel
def kernel(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, range r has its fold at place size + r and begins at slice marks[r]; slices lie on a ring."""
    mask, count, dense = size - 1, ranges.shape[0], hi.shape[0] == 0
    for key in range(seen.shape[0]):
        base, old = key * (size + count), seen[key]
        inserted, front = old, marks[key]
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        for step in range(first, last + 1):
            end = end_of(dense, hi, ahead, step) if step < last else total
            for r in range(count):
                begin = begin_of(dense, lo, ranges[r], end, step, r) if step < last else front[r]
                fold = load(values, base + size + r)
                if begin >= inserted:
                    fold = load(identity, 0)
                    front[r] = begin
                while front[r] < begin:
                    fold = inverse(op, fold, load(values, base + (front[r] & mask)))
                    front[r] += 1
                for i in range(max(inserted, begin), end):
                    fold = combine(op, fold, load(cells, shift + i))
                store(values, base + size + r, fold)
                if step < last:
                    store(out, step * count + r, fold)
            while inserted < end:
                store(values, base + (inserted & mask), load(cells, shift + inserted))
                inserted += 1
        seen[key] = inserted


def room(longest: int, ranges: int) -> Room:
    """A ring, and a running fold a range."""
    return Room(power(longest), power(longest) + ranges, ranges, 0)


slick_deque_inv = Sequential(CARD, kernel, room)
