"""DABA: TwoStacks with the turning over spread evenly, so that no slide is slow (001 §2.2)."""

from __future__ import annotations

from weft.final.algorithms.base import Card, CombineBound
from weft.final.algorithms.jit import Kernel
from weft.final.algorithms.sequential import Room, Sequential, power
from weft.final.algorithms.values import begin_of, combine, end_of, load, store

CARD = Card(
    name="daba",
    title="DABA",
    about="Six pointers cut the queue into parts whose suffix folds are completed one slice at a time, so that every "
          "slide costs about the same.",
    paper="001 §2.2 [21]",
    single=CombineBound("5", lambda n: 5),
    worst=CombineBound("8", lambda n: 8),
    multi=None,
    space=CombineBound("2n", lambda n: 2 * n),
    engine="numba",
    table="5 | 8 | – | 2n",
)

# Marks: f ≤ l ≤ r ≤ a ≤ b ≤ e, of which e is `seen`. With ⊕ for combine, the fold kept at place i spans
#   [f, l) and [a, b): i … b − 1     [l, r): i … r − 1     [r, a): r … i     [b, e): b … i


def fold_steps(op, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch, out):
    """Per key, slices lie in the first `size` places and folds in the next."""
    mask, dense, reach = size - 1, hi.shape[0] == 0, ranges[0]
    for key in range(seen.shape[0]):
        base, old = key * 2 * size, seen[key]
        folds = base + size
        f, le, r, a, b, e = marks[key, 0], marks[key, 1], marks[key, 2], marks[key, 3], marks[key, 4], old
        shift, first, last = keys[key] - old, steps[key], steps[key + 1]
        ahead = old + 1 - first
        total = old + keys[key + 1] - keys[key]
        step = first
        while step <= last:
            end = end_of(dense, hi, ahead, step) if step < last else total
            begin = begin_of(dense, lo, reach, end, step, 0) if step < last else f
            if begin >= e:
                f, le, r, a, b, e = begin, begin, begin, begin, begin, begin
            while f < begin:
                f += 1
                le, r, a, b = turn(op, values, base, folds, mask, f, le, r, a, b, e)
            while e < end:
                value = load(cells, shift + e)
                store(values, base + (e & mask), value)
                if b < e:
                    value = combine(op, load(values, folds + ((e - 1) & mask)), value)
                store(values, folds + (e & mask), value)
                e += 1
                le, r, a, b = turn(op, values, base, folds, mask, f, le, r, a, b, e)
            if step < last:
                if f == e:
                    store(out, step, load(identity, 0))
                elif b == e:
                    store(out, step, load(values, folds + (f & mask)))
                else:
                    front = load(values, folds + (f & mask))
                    store(out, step, combine(op, front, load(values, folds + ((e - 1) & mask))))
            step += 1
            if dense and reach <= end and step < last and b < e and (le == r or a < b):  # one goes, one comes
                slides = min(last - step, (r - le if le < r else b - le) // 2)
                back, alpha = load(values, folds + ((e - 1) & mask)), load(values, folds + (a & mask))
                for i in range(slides):
                    if le < r:
                        alpha = shrink(op, values, base, folds, mask, le + 2 * i, a - 2 * i, alpha)
                    value = load(cells, shift + e + i)
                    back = combine(op, back, value)
                    store(values, base + ((e + i) & mask), value)
                    store(values, folds + ((e + i) & mask), back)
                    if le < r:
                        alpha = shrink(op, values, base, folds, mask, le + 2 * i + 1, a - 2 * i - 1, alpha)
                    store(out, step + i, combine(op, load(values, folds + ((f + i + 1) & mask)), back))
                if le == r:
                    r, a = r + 2 * slides, a + 2 * slides
                else:
                    a -= 2 * slides
                f, le, e, step = f + slides, le + 2 * slides, e + slides, step + slides
        marks[key, 0], marks[key, 1], marks[key, 2], marks[key, 3], marks[key, 4] = f, le, r, a, b
        seen[key] = e


def turn(op, values, base, folds, mask, f, le, r, a, b, e):
    """One step of the turning over, after every slice that came or went."""
    if f == b:
        return e, e, e, e
    if le == b:
        le, r, a, b = f, b, e, e
    if le == r:
        return le + 1, r + 1, a + 1, b
    if a < b:
        shrink(op, values, base, folds, mask, le, a, load(values, folds + (a & mask)))
    else:
        fold = combine(op, load(values, folds + (le & mask)), load(values, folds + ((a - 1) & mask)))
        store(values, folds + (le & mask), fold)
        store(values, folds + ((a - 1) & mask), load(values, base + ((a - 1) & mask)))
    return le + 1, r, a - 1, b


def shrink(op, values, base, folds, mask, le, a, alpha):
    """Complete the fold at `le` and begin the one before `a`, whose own is `alpha`; the new one of these."""
    fold = combine(op, load(values, folds + (le & mask)), load(values, folds + ((a - 1) & mask)))
    store(values, folds + (le & mask), combine(op, fold, alpha))
    alpha = combine(op, load(values, base + ((a - 1) & mask)), alpha)
    store(values, folds + ((a - 1) & mask), alpha)
    return alpha


def room(longest: int, ranges: int) -> Room:
    """Two rings."""
    return Room(power(longest), 2 * power(longest), 5, 0)


daba = Sequential(CARD, Kernel(fold_steps, turn, shrink), room)
