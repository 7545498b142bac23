"""B-Int: folds of aligned intervals of 1, 2, 4 … slices, kept on a ring (001 §2.2)."""

from __future__ import annotations

from weft.final.base import Bound, Card
from weft.final.flat_fat import levels
from weft.final.jit import Kernel
from weft.final.sequential import Room, Sequential, power
from weft.final.values import begin_of, combine, end_of, load, store

CARD = Card(
    name="b_int",
    title="B-Int",
    about="A new slice is added to the one interval of each length it lies in; a window is the few intervals that "
          "cover it, the last of which may still be open.",
    paper="001 §2.2 [36]",
    single=Bound("2 ⌈log₂ n⌉", lambda n: 2 * levels(n)),
    worst=Bound("2 ⌈log₂ n⌉ + 1", lambda n: 2 * levels(n) + 1),
    multi=Bound("n ⌈log₂ n⌉", lambda n: n * levels(n)),
    space=Bound("2n … 4n", lambda n: 4 * n),
    depth="log",
    engine="numba",
    table="log(n) | log(n) | n·log(n) | 2n",
)


@Kernel
def kernel(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, the intervals of 2**j slices lie before those of half their length; the slices themselves come last."""
    mask, count, dense = size - 1, ranges.shape[0], hi.shape[0] == 0
    for key in range(seen.shape[0]):
        base, old = key * 2 * size, seen[key]
        inserted = old
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        for step in range(first, last + 1):
            end = end_of(dense, hi, ahead, step) if step < last else total
            while inserted < end:
                node, width = size + (inserted & mask), 1
                value = load(cells, shift + inserted)
                while node > 0:
                    if inserted & (width - 1):
                        store(values, base + node, combine(op, load(values, base + node), value))
                    else:
                        store(values, base + node, value)
                    node >>= 1
                    width <<= 1
                inserted += 1
            if step == last:
                break
            for r in range(count):
                begin = begin_of(dense, lo, ranges[r], end, step, r)
                fold = load(identity, 0)
                place = begin
                while place < end:
                    node, width = size + (place & mask), 1
                    while node > 1 and place & width == 0 and place + width < end:
                        node >>= 1
                        width <<= 1
                    part = load(values, base + node)
                    fold = combine(op, fold, part) if place > begin else part
                    place += width
                store(out, step * count + r, fold)
        seen[key] = inserted


def room(longest: int, ranges: int) -> Room:
    """Intervals of every length over the ring."""
    return Room(power(longest), 2 * power(longest), 0, 0)


b_int = Sequential(CARD, kernel, room)
