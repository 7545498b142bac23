"""TwoStacks: a queue as a front stack of suffix folds and a back stack with its running fold (001 §2.2)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import begin_of, combine, end_of, load, store

CARD = Card(
    name="two_stacks",
    title="TwoStacks",
    about="Keeps suffix folds of the older slices and one running fold of the newer ones; when the older are used up, "
          "turns the newer into suffix folds in one go.",
    paper="001 §2.2 [21]",
    single=CombineBound("3", lambda n: 3),
    worst=CombineBound("n + 1", lambda n: n + 1),
    multi=None,
    space=CombineBound("n", lambda n: n),
    engine="numba",
    table="3 | n | – | 2n",
)


@Kernel
def kernel(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, the ring holds suffix folds up to `split` and from there to `count` slices, whose fold is `back`."""
    mask, dense, reach = size - 1, hi.shape[0] == 0, ranges[0]
    for key in range(seen.shape[0]):
        base, old = key * (size + 1), seen[key]
        split, count = marks[key, 0], old
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        back = load(values, base + size)
        step = first
        while step < last:
            end = end_of(dense, hi, ahead, step)
            begin = begin_of(dense, lo, reach, end, step, 0)
            if begin >= count:
                split, count = begin, begin
            elif begin > split:
                split = count
                suffix = load(values, base + ((count - 1) & mask))
                for i in range(count - 2, begin - 1, -1):
                    suffix = combine(op, load(values, base + (i & mask)), suffix)
                    store(values, base + (i & mask), suffix)
            while count < end:
                value = load(cells, shift + count)
                store(values, base + (count & mask), value)
                back = combine(op, back, value) if count > split else value
                count += 1
            if begin < split and split < count:
                store(out, step, combine(op, load(values, base + (begin & mask)), back))
            elif begin == count:
                store(out, step, load(identity, 0))
            elif split == count:
                store(out, step, load(values, base + (begin & mask)))
            else:
                store(out, step, back)
            step += 1
            if dense and end >= reach and begin < split < count:  # one comes, one goes, until the older are used up
                for front in range(begin + 1, min(split, begin + 1 + last - step)):
                    value = load(cells, shift + count)
                    store(values, base + (count & mask), value)
                    back = combine(op, back, value)
                    store(out, step, combine(op, load(values, base + (front & mask)), back))
                    count += 1
                    step += 1
        while shift + count < keys[key + 1]:
            value = load(cells, shift + count)
            store(values, base + (count & mask), value)
            back = combine(op, back, value) if count > split else value
            count += 1
        store(values, base + size, back)
        marks[key, 0], seen[key] = split, count


def room(longest: int, ranges: int) -> Room:
    """A ring, and the running fold."""
    return Room(power(longest), power(longest) + 1, 1, 0)


two_stacks = Sequential(CARD, kernel, room)
