"""SlickDeque (Non-Inv): only the slices that can still be an answer, in a deque (001 §2.2)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import beats, begin_of, end_of, load, peek, poke, store

CARD = Card(
    name="slick_deque",
    title="SlickDeque (Non-Inv)",
    about="A new slice drives out all older ones that it beats, so the deque holds the answers of all ranges, longest "
          "first; a range reads the first slice that is not too old.",
    paper="001 §2.2 [22]",
    single=CombineBound("2", lambda n: 2),
    worst=CombineBound("n", lambda n: n),
    multi=CombineBound("n", lambda n: n),
    space=CombineBound("2 … 4n", lambda n: 4 * n),
    needs=("selective",),
    depth="log",
    engine="numba",
    table="< 2 | n | n | 2 to 2n",
)


@Kernel
def kernel(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, `head` … `tail` are the entries of the deque; `links` says which slice each one is."""
    mask, count, dense = size - 1, ranges.shape[0], hi.shape[0] == 0
    reach = ranges[count - 1]
    for key in range(seen.shape[0]):
        base, old = key * size, seen[key]
        inserted, head, tail, which = old, marks[key, 0], marks[key, 1], links[key]
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        newest = load(values, base + ((tail - 1) & mask))
        for step in range(first, last + 1):
            end = end_of(dense, hi, ahead, step) if step < last else total
            begin = begin_of(dense, lo, reach, end, step, count - 1) if step < last else 0
            while head < tail and peek(which, head & mask) < begin:
                head += 1
            if begin > inserted:
                inserted = begin
            while inserted < end:
                value = load(cells, shift + inserted)
                while head < tail and beats(op, newest, value):
                    tail -= 1
                    newest = load(values, base + ((tail - 1) & mask))
                newest = value
                store(values, base + (tail & mask), value)
                poke(which, tail & mask, inserted)
                tail += 1
                inserted += 1
            if step == last:
                break
            oldest = load(values, base + (head & mask)) if begin < end else load(identity, 0)
            store(out, step * count + count - 1, oldest)
            entry = head
            for r in range(count - 2, -1, -1):
                begin = begin_of(dense, lo, ranges[r], end, step, r)
                while entry < tail and peek(which, entry & mask) < begin:
                    entry += 1
                if begin == end:
                    store(out, step * count + r, load(identity, 0))
                else:
                    store(out, step * count + r, load(values, base + (entry & mask)))
        seen[key], marks[key, 0], marks[key, 1] = inserted, head, tail


def room(longest: int, ranges: int) -> Room:
    """A ring of entries and of their places."""
    return Room(power(longest), power(longest), 2, power(longest))


slick_deque = Sequential(CARD, kernel, room)
