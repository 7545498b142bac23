"""Order statistics of windows by a wavelet matrix (Claude, Navarro and Ordóñez 2015).

Values are numbers in sorted order. Level by level, from the highest bit, the matrix knows how many of the values before
any place have a zero there; so the k-th smallest of any range of places is found in as many steps as numbers have
bits, for all windows at once and however much they overlap.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import Decoded, fixed_width_array, numpy_type, raw_values
from weft.final.bags.bag import Answering, Bag, BagKernel, BagPiece
from weft.final.bags.codes import Codes, take_terms

EXACT = 2.0**63


class Wavelet:
    """The matrix over numbers: per bit how many zeros lie before each place, and how many there are."""

    def __init__(self, numbers: np.ndarray):
        self.levels: list[tuple[int, np.ndarray]] = []
        for bit in reversed(range(int(numbers.max(initial=0)).bit_length())):
            ones = (numbers >> bit & 1).astype(bool)
            self.levels.append((bit, np.append(0, np.cumsum(~ones, dtype=np.int32))))
            numbers = np.concatenate((numbers[~ones], numbers[ones]))

    def smallest(self, low: np.ndarray, high: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """The number of that rank, from 0, among the places from `low` to `high`."""
        found = np.zeros(len(low), np.int64)
        for bit, zeros in self.levels:
            before, until = zeros[low], zeros[high]
            count = until - before
            right = rank >= count
            found |= right.astype(np.int64) << bit
            rank = np.where(right, rank - count, rank)
            low = np.where(right, low - before + zeros[-1], before)
            high = np.where(right, high - until + zeros[-1], until)
        return found


def here(low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """The marks of windows, of which those without values have no order statistic; None where all have."""
    return None if (high > low).all() else (high > low).astype(np.int8)


def make_percentile(piece: BagPiece, parameters: tuple) -> Answering:
    """Spark's percentile: between the two neighbours of position (n − 1) · p, as far as the position is between."""
    (percentage,) = parameters
    order = piece.order
    matrix, terms = Wavelet(order.numbers), piece.bag.doubles

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        position = np.maximum(high - low - 1, 0) * percentage
        below, above = np.floor(position), np.ceil(position)
        left = matrix.smallest(low, high, below.astype(np.int64))
        right = matrix.smallest(low, high, above.astype(np.int64))
        if not len(terms):
            return [fixed_width_array(pa.float64(), np.zeros(len(low)))], here(low, high)
        left, right = np.where(high > low, left, 0), np.where(high > low, right, 0)
        a, b = terms[left], terms[right]
        with np.errstate(invalid="ignore"):
            between = a + (position - below) * (b - a)
        zeros = (a == 0) & (b == 0)  # 0.0 and -0.0 are equal, though not one term
        return [fixed_width_array(pa.float64(), np.where((left == right) | zeros, a, between))], here(low, high)

    return answer


def make_rank(piece: BagPiece, parameters: tuple) -> Answering:
    """Spark's percentile_approx where that is exact: the value of rank ⌈p · n⌉, or an end within 1 / accuracy of it."""
    percentage, accuracy = parameters
    order = piece.order
    matrix = Wavelet(order.numbers)
    codes = Codes(order.numbers, as_double(order.terms, piece.bag))

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        size = high - low
        rank = np.ceil(percentage * size).astype(np.int64) - 1
        if percentage <= 1 / accuracy:
            rank = np.zeros_like(size)
        elif percentage >= 1 - 1 / accuracy:
            rank = size - 1
        found = matrix.smallest(low, high, np.clip(rank, 0, np.maximum(size - 1, 0)))
        return [take_terms(codes, np.where(size > 0, found, 0))], here(low, high)

    return answer


def as_double(terms: pa.Array, bag: Bag) -> pa.Array:
    """Values as they come back from doubles, which is how Spark keeps them; decimals as the doubles themselves."""
    kind = numpy_type(terms.type)
    if pa.types.is_decimal(terms.type):
        return fixed_width_array(pa.float64(), bag.doubles)
    if kind != np.int64:
        return terms
    rounded = raw_values(terms, np.dtype(np.int64)).astype(np.float64)
    whole = np.where(rounded < EXACT, rounded, 0).astype(np.int64)
    return fixed_width_array(terms.type, np.where(rounded < EXACT, whole, np.iinfo(np.int64).max))


wavelet_percentile = BagKernel("wavelet", "percentile", make_percentile)
wavelet_rank = BagKernel("wavelet", "rank", make_rank)
