"""FlatFAT: a binary tree of folds in one array, its leaves a ring of slices (001 §2.2)."""

from __future__ import annotations

from math import ceil, log2

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential
from weft.final.algorithms.values import begin_of, combine, commutes, end_of, load, store


def levels(n: int) -> int:
    """The height of a tree of n leaves."""
    return ceil(log2(n)) if n > 1 else 0


CARD = Card(
    name="flat_fat",
    title="FlatFAT",
    about="Every inner node of a binary tree holds the fold of its two children; a new slice replaces the oldest leaf "
          "and the folds above it, and a window is the root or the few nodes that cover it.",
    paper="001 §2.2 [37]",
    single=CombineBound("⌈log₂ n⌉", lambda n: levels(n)),
    worst=CombineBound("⌈log₂ n⌉", lambda n: levels(n)),
    multi=CombineBound("n ⌈log₂ n⌉", lambda n: n * levels(n)),
    space=CombineBound("2n", lambda n: 2 * n),
    depth="log",
    engine="numba",
    table="log(n) | log(n) | n·log(n) | 2n",
)


def fold_steps(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, node 1 is the root, node i has the children 2i and 2i + 1, and leaf j is node size + j."""
    count, dense = ranges.shape[0], hi.shape[0] == 0
    for key in range(seen.shape[0]):
        base, old = key * 2 * size, seen[key]
        inserted, leaf = old, marks[key, 0]
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        for step in range(first, last + 1):
            end = end_of(dense, hi, ahead, step) if step < last else total
            while inserted < end:
                node = size + leaf
                value = load(cells, shift + inserted)
                store(values, base + node, value)
                while node > 1:
                    beside = load(values, base + (node ^ 1))
                    first_child = commutes(op) or node & 1 == 0
                    value = combine(op, value, beside) if first_child else combine(op, beside, value)
                    node >>= 1
                    store(values, base + node, value)
                inserted += 1
                leaf = leaf + 1 if leaf + 1 < size else 0
            if step == last:
                break
            for r in range(count):
                begin = begin_of(dense, lo, ranges[r], end, step, r)
                if begin == end:
                    store(out, step * count + r, load(identity, 0))
                elif commutes(op) and (end - begin == size or (begin == 0 and end <= size)):
                    store(out, step * count + r, load(values, base + 1))
                else:
                    store(out, step * count + r, cover(op, values, base, size, leaf, end - begin))
        seen[key], marks[key, 0] = inserted, leaf


def cover(op, values, base, size, leaf, length):
    """The fold of the last `length` leaves before `leaf`, in order, though they may lie around the ring's end."""
    begin = leaf - length
    if begin >= 0:
        return between(op, values, base, size + begin, size + leaf)
    older = between(op, values, base, 2 * size + begin, 2 * size)
    return combine(op, older, between(op, values, base, size, size + leaf)) if leaf > 0 else older


def between(op, values, base, low, high):
    """The fold of the leaves low … high − 1 from as few nodes as cover them, left and right ends meeting."""
    left = load(values, base + low)
    right = left
    some_left, some_right = False, False
    while low < high:
        if low & 1:
            node = load(values, base + low)
            left = combine(op, left, node) if some_left else node
            some_left = True
            low += 1
        if high & 1:
            high -= 1
            node = load(values, base + high)
            right = combine(op, node, right) if some_right else node
            some_right = True
        low >>= 1
        high >>= 1
    if some_left and some_right:
        return combine(op, left, right)
    return left if some_left else right


def room(longest: int, ranges: int) -> Room:
    """A tree with as many leaves as a window has slices."""
    return Room(longest, 2 * longest, 1, 0)


flat_fat = Sequential(CARD, Kernel(fold_steps, cover, between), room)
