"""The most frequent value of windows as the upper envelope of steps.

How often a value lies in a window is a step function along the windows: one up where a window first reaches it, one
down after the last that holds it. The mode is the highest step at each window. A step covers its windows by two
overlapping stretches whose lengths are the same power of two, and stretches hand their best down to their halves, so
time is linear in values and n log n in windows, however much these overlap.
"""

from __future__ import annotations

import numpy as np

from weft.aggregates.monoids.lanes import Decoded
from weft.final.bags.bag import Answering, BagKernel, BagPiece, count_up_to
from weft.final.bags.codes import take_terms
from weft.final.bags.wavelet import here


def steps_of(numbers: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
    """The steps of every number: its first window, one past its last, the number, and how often it is there."""
    size, windows = len(numbers), len(low) + 1
    first, stop = count_up_to(high, size)[:-1], count_up_to(low, size)[:-1]  # of the windows that hold each value
    inside = stop > first
    base = numbers[inside].astype(np.int64) * windows
    events = np.concatenate((base + first[inside], base + stop[inside]))
    order = np.argsort(events, kind="stable")
    change = np.ones(len(events), np.int64)
    change[len(base) :] = -1
    events, count = events[order], np.cumsum(change[order])
    last = np.flatnonzero(np.append(events[1:] != events[:-1], True)) if len(events) else order
    events, count = events[last], count[last]
    lasting = np.flatnonzero(count)  # a number's last event leaves none of it, so the next event is its own
    number, begin = np.divmod(events[lasting], windows)
    return begin, events[lasting + 1] % windows, number, count[lasting]


def highest(begin: np.ndarray, end: np.ndarray, value: np.ndarray, size: int) -> np.ndarray:
    """The greatest value of the stretches that cover each of `size` places; 0 where none does."""
    level = np.frexp(end - begin)[1] - 1  # the greatest power of two that is not longer
    best = np.zeros(size, np.int64)
    for j in range(int(level.max(initial=0)), -1, -1):
        half = 1 << j
        if j < level.max(initial=0):  # what covers twice this length covers both halves
            lower = best.copy()
            np.maximum(best[half:], lower[: size - half], out=best[half:])
        mine = np.flatnonzero(level == j)
        np.maximum.at(best, begin[mine], value[mine])
        np.maximum.at(best, end[mine] - half, value[mine])
    return best


def make(piece: BagPiece, _: tuple) -> Answering:
    """The least of the most frequent values of each window."""
    codes = piece.codes
    kinds = max(len(codes.terms), 1)

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        begin, end, number, count = steps_of(codes.numbers, low, high)
        best = highest(begin, end, count * kinds + (kinds - 1 - number), len(low))
        return [take_terms(codes, np.where(best > 0, kinds - 1 - best % kinds, 0))], here(low, high)

    return answer


envelope = BagKernel("envelope", "mode", make)
