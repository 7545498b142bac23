"""FlatFIT: each place remembers a fold and how far ahead it reaches, so that a look-up can skip (001 §2.2)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import begin_of, combine, end_of, load, peek, poke, store

CARD = Card(
    name="flat_fit",
    title="FlatFIT",
    about="A look-up jumps along pointers from the window's first slice to its last, folds the partials on the way "
          "and lets each of the places it visited point to the end.",
    paper="001 §2.2 [20]",
    single=CombineBound("3", lambda n: 3),
    worst=CombineBound("n", lambda n: n),
    multi=CombineBound("3n", lambda n: 3 * n),
    space=CombineBound("2n … 4n", lambda n: 4 * n),
    engine="numba",
    table="3 | n | 3n | 2n",
)


def fold_steps(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, place i holds the fold of slices i … links[i] − 1; `scratch` is the stack of visited places."""
    mask, count, dense = size - 1, ranges.shape[0], hi.shape[0] == 0
    for key in range(seen.shape[0]):
        base, old = key * size, seen[key]
        inserted, reach = old, links[key]
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        step = first
        while step <= last:
            end = end_of(dense, hi, ahead, step) if step < last else total
            while inserted < end:
                store(values, base + (inserted & mask), load(cells, shift + inserted))
                poke(reach, inserted & mask, inserted + 1)
                inserted += 1
            if step == last:
                break
            for r in range(count - 1, -1, -1):
                place, top = begin_of(dense, lo, ranges[r], end, step, r), 0
                if place == end:
                    store(out, step * count + r, load(identity, 0))
                    continue
                ahead_of = peek(reach, place & mask)
                while ahead_of < end:
                    poke(scratch, top, place)
                    top += 1
                    place = ahead_of
                    ahead_of = peek(reach, place & mask)
                fold = load(values, base + (place & mask))
                while top > 0:
                    top -= 1
                    place = peek(scratch, top) & mask
                    fold = combine(op, load(values, base + place), fold)
                    store(values, base + place, fold)
                    poke(reach, place, end)
                store(out, step * count + r, fold)
            step += 1
            if dense and count == 1 and 1 < ranges[0] <= end:
                inserted, step = two_jumps(op, values, base, mask, reach, cells, shift, inserted, ranges[0], step, last,
                                           out)
        seen[key] = inserted


def two_jumps(op, values, base, mask, reach, cells, shift, end, length, step, last, out):
    """One goes and one comes, for as long as a window is one place's fold and that of the place it points to."""
    begin = end - length + 1
    middle = peek(reach, begin & mask)
    if not begin < middle < end or peek(reach, middle & mask) != end:
        return end, step
    fold = load(values, base + (middle & mask))
    while step < last and peek(reach, begin & mask) == middle:
        value = load(cells, shift + end)
        store(values, base + (end & mask), value)
        poke(reach, end & mask, end + 1)
        end += 1
        fold = combine(op, fold, value)
        whole = combine(op, load(values, base + (begin & mask)), fold)
        store(values, base + (begin & mask), whole)
        poke(reach, begin & mask, end)
        store(out, step, whole)
        begin, step = begin + 1, step + 1
    store(values, base + (middle & mask), fold)
    poke(reach, middle & mask, end)
    return end, step


def room(longest: int, ranges: int) -> Room:
    """A ring of partials and one of pointers."""
    return Room(power(longest), power(longest), 0, power(longest))


flat_fit = Sequential(CARD, Kernel(fold_steps, two_jumps), room)
