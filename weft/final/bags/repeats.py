"""Distinct values of windows, counted by their repeats.

A value that is not the window's first of its kind has the one before it in the window as well. Such a pair lies in the
windows from the first that ends after the later one to the last that begins not after the earlier one, so it is a step
up and a step down along the windows. All of them are counted in time linear in values and windows, however much
windows overlap.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import Decoded, fixed_width_array
from weft.final.bags.bag import Answering, BagKernel, BagPiece, count_up_to


def pairs_of(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours of equal number: the place of the earlier and of the later one."""
    order = np.argsort(numbers, kind="stable")
    same = np.flatnonzero(numbers[order][1:] == numbers[order][:-1])
    return order[same], order[same + 1]


def count_distinct(size: int, pairs: tuple[np.ndarray, np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How many distinct values each window holds: its values without those that repeat one of them."""
    earlier, later = pairs
    first, stop = count_up_to(high, size)[later], count_up_to(low, size)[earlier]
    inside = stop > first
    steps = np.bincount(first[inside], minlength=len(low) + 1) - np.bincount(stop[inside], minlength=len(low) + 1)
    return high - low - np.cumsum(steps)[:-1]


def make(piece: BagPiece, _: tuple) -> Answering:
    """Pairs once, then a count per window."""
    size, pairs = piece.size, pairs_of(piece.codes.numbers)

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        return [fixed_width_array(pa.int64(), count_distinct(size, pairs, low, high))], None

    return answer


repeats = BagKernel("repeats", "distinct", make)
