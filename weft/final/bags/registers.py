"""Spark's approximate count of distinct values: HyperLogLog++ (Heule, Nunkesser and Hall, EDBT 2013).

A slice keeps numbers `register · 64 + rank`, made by Spark from its own hashes. The greatest rank of each register in a
window makes the estimate. How many registers reach a rank is a count of distinct registers among the numbers of at
least that rank, of which each rank leaves half; so all windows are answered in time linear in values and windows.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import Decoded, fixed_width_array, raw_values
from weft.final.bags.bag import Answering, BagKernel, BagPiece
from weft.final.bags.repeats import count_distinct, pairs_of

NEIGHBOURS = 6  # of an estimate, whose biases are averaged
ALPHA = {4: 0.673, 5: 0.697, 6: 0.709}


@cache
def tables() -> dict[str, list]:
    """The published constants, a list for each number of registers from 2⁴ on."""
    return json.loads(files("weft.final.bags").joinpath("hyperloglog.json").read_text())


def make(piece: BagPiece, parameters: tuple) -> Answering:
    """Per rank the values that reach it and their repeats, once; then an estimate per window."""
    bits = int(parameters[0])
    register, rank = np.divmod(raw_values(piece.values, np.dtype(np.int64)), 64)
    reached = [np.flatnonzero(rank >= least) for least in range(1, int(rank.max(initial=1)) + 1)]
    levels = [(places, pairs_of(register[places])) for places in reached]

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        filled = [count_distinct(len(places), pairs, np.searchsorted(places, low), np.searchsorted(places, high))
                  for places, pairs in levels]
        # A register of rank r counts 2⁻ʳ, which is 1 − 2⁻¹ − … − 2⁻ʳ.
        inverse = (1 << bits) - np.sum([count * 2.0**-least for least, count in enumerate(filled, 1)], axis=0)
        return [fixed_width_array(pa.int64(), estimate(bits, inverse, (1 << bits) - filled[0]))], None

    return answer


def estimate(bits: int, inverse: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """How many distinct values 2^bits registers tell of: by linear counting while few are filled, else unbiased."""
    size = 1 << bits
    alpha = ALPHA.get(bits) or 0.7213 / (1.0 + 1.079 / size)
    whole = alpha * size * size / inverse
    linear = size * np.log(size / np.maximum(empty, 1))
    # The second bound is that of the first HyperLogLog; Spark heeds both.
    few = (empty > 0) & ((linear <= tables()["thresholds"][bits - 4]) | (whole <= 2.5 * size))
    unbiased = np.where(whole < 5.0 * size, whole - bias(bits, whole), whole)
    return np.floor(np.where(few, linear, unbiased) + 0.5).astype(np.int64)


def bias(bits: int, whole: np.ndarray) -> np.ndarray:
    """The mean bias of the published estimates nearest to each."""
    known, biases = (np.array(tables()[name][bits - 4]) for name in ("estimates", "biases"))
    low = np.maximum(halved(known, whole) - NEIGHBOURS + 1, 0)
    while True:
        high = low + NEIGHBOURS
        beyond = known[np.minimum(high, len(known) - 1)]
        nearer = (high < len(known)) & ((whole - beyond) ** 2 < (whole - known[np.minimum(low, len(known) - 1)]) ** 2)
        if not nearer.any():
            break
        low = low + nearer
    total = np.zeros(len(whole))
    count = np.minimum(low + NEIGHBOURS, len(known)) - low
    for i in range(NEIGHBOURS):
        total += np.where(i < count, biases[np.minimum(low + i, len(biases) - 1)], 0.0)
    return total / count


def halved(known: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each number is found or would go, by halving as Java does: the published estimates are not quite sorted."""
    low, high = np.zeros(len(wanted), np.int64), np.full(len(wanted), len(known) - 1)
    found = np.full(len(wanted), -1)
    while (open_ := (low <= high) & (found < 0)).any():
        middle = (low + high) >> 1
        value = known[np.clip(middle, 0, len(known) - 1)]
        found = np.where(open_ & (value == wanted), middle, found)
        low = np.where(open_ & (value < wanted), middle + 1, low)
        high = np.where(open_ & (value > wanted), middle - 1, high)
    return np.where(found < 0, low, found)


registers = BagKernel("registers", "registers", make)
