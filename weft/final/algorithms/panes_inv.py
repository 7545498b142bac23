"""Panes (Inv): one running fold; what leaves the window is taken away again (001 §2.2; subtract-on-evict)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import begin_of, combine, end_of, inverse, load, store

CARD = Card(
    name="panes_inv",
    title="Panes (Inv)",
    about="Adds a new slice to the running fold and subtracts the one that leaves.",
    paper="001 §2.2 [19], [21]",
    single=CombineBound("2", lambda n: 2),
    worst=CombineBound("2", lambda n: 2),
    multi=None,
    space=CombineBound("n", lambda n: n),
    needs=("invertible",),
    engine="numba",
)


@Kernel
def kernel(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, `fold` is that of the slices front … count, which lie on a ring; the last place keeps the fold."""
    mask, dense, reach = size - 1, hi.shape[0] == 0, ranges[0]
    for key in range(seen.shape[0]):
        base, old = key * (size + 1), seen[key]
        front, count = marks[key, 0], old
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        fold = load(values, base + size)
        step = first
        while step <= last:
            end = end_of(dense, hi, ahead, step) if step < last else total
            begin = begin_of(dense, lo, reach, end, step, 0) if step < last else front
            if begin >= count:
                front, count, fold = begin, begin, load(identity, 0)
            while front < begin:
                fold = inverse(op, fold, load(values, base + (front & mask)))
                front += 1
            while count < end:
                value = load(cells, shift + count)
                store(values, base + (count & mask), value)
                fold = combine(op, fold, value)
                count += 1
            if step < last:
                store(out, step, fold)
            step += 1
            if dense and end >= reach:  # one goes and one comes
                while step < last:
                    value = load(cells, shift + count)
                    fold = combine(op, inverse(op, fold, load(values, base + (front & mask))), value)
                    store(values, base + (count & mask), value)
                    store(out, step, fold)
                    front, count, step = front + 1, count + 1, step + 1
        store(values, base + size, fold)
        seen[key], marks[key, 0] = count, front


def room(longest: int, ranges: int) -> Room:
    """A ring, and the running fold."""
    return Room(power(longest), power(longest) + 1, 1, 0)


panes_inv = Sequential(CARD, kernel, room)
