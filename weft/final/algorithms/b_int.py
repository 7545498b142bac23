"""B-Int: folds of aligned intervals of 1, 2, 4 … slices, kept on a ring (001 §2.2)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.flat_fat import levels
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import begin_of, combine, end_of, load, store

CARD = Card(
    name="b_int",
    title="B-Int",
    about="An interval is folded of its two halves when its last slice comes; a window is the few whole intervals that "
          "cover it, longer ones in the middle and shorter ones at its ends.",
    paper="001 §2.2 [36]",
    single=CombineBound("2 ⌈log₂ n⌉", lambda n: 2 * levels(n)),
    worst=CombineBound("2 ⌈log₂ n⌉ + 1", lambda n: 2 * levels(n) + 1),
    multi=CombineBound("n ⌈log₂ n⌉", lambda n: n * levels(n)),
    space=CombineBound("2n … 4n", lambda n: 4 * n),
    depth="log",
    engine="numba",
    table="log(n) | log(n) | n·log(n) | 2n",
)


def fold_steps(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, node 1 is the longest interval, node i has the halves 2i and 2i + 1, and slice j is node size + j."""
    count, dense = ranges.shape[0], hi.shape[0] == 0
    for key in range(seen.shape[0]):
        base, old = key * 2 * size, seen[key]
        inserted = old
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        for step in range(first, last + 1):
            end = end_of(dense, hi, ahead, step) if step < last else total
            while inserted < end:
                insert(op, values, base, size, inserted, load(cells, shift + inserted))
                inserted += 1
            if step == last:
                break
            for r in range(count):
                begin = begin_of(dense, lo, ranges[r], end, step, r)
                fold = cover(op, values, base, size, begin, end) if begin < end else load(identity, 0)
                store(out, step * count + r, fold)
        seen[key] = inserted


def insert(op, values, base, size, place, value):
    """Put a slice on the ring, and fold every interval whose last slice it is of its two halves."""
    node = size + (place & (size - 1))
    store(values, base + node, value)
    while node > 1 and node & 1:
        value = combine(op, load(values, base + node - 1), value)
        node >>= 1
        store(values, base + node, value)


def cover(op, values, base, size, begin, end):
    """The fold of slices begin … end − 1 from as few whole intervals as cover them, the earliest first.

    Intervals grow while one that begins here would end in the window, and shrink towards its end: none of them is
    still open, so that each is a balanced tree of its slices and rounding grows with the number of levels only.
    """
    mask, width, level = size - 1, 1, 0
    place, fold = begin, load(values, base + size + (begin & mask))
    while place + width <= end:
        if place & width:
            part = load(values, base + ((size + (place & mask)) >> level))
            fold = combine(op, fold, part) if place > begin else part
            place += width
        width <<= 1
        level += 1
    while place < end:
        width >>= 1
        level -= 1
        if place + width <= end:
            part = load(values, base + ((size + (place & mask)) >> level))
            fold = combine(op, fold, part) if place > begin else part
            place += width
    return fold


def room(longest: int, ranges: int) -> Room:
    """Intervals of every length over the ring."""
    return Room(power(longest), 2 * power(longest), 0, 0)


b_int = Sequential(CARD, Kernel(fold_steps, insert, cover), room)
