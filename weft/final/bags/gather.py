"""The values of windows themselves, as lists: all of them, or each once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import Decoded
from weft.final.bags.bag import Answering, BagKernel, BagPiece
from weft.final.bags.repeats import pairs_of


def spread(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every place of every window, and the window it is in."""
    size = high - low
    window = np.repeat(np.arange(len(low)), size)
    return np.arange(len(window)) - np.repeat(np.cumsum(size) - size - low, size), window


def listed(values: pa.Array, places: np.ndarray, sizes: np.ndarray) -> Decoded:
    """The values at those places, cut into lists of those sizes."""
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return [pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(places)))], None


def make_lists(piece: BagPiece, _: tuple) -> Answering:
    """All values of each window, in the order of slices."""
    values = piece.values

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        return listed(values, spread(low, high)[0], high - low)

    return answer


def make_sets(piece: BagPiece, _: tuple) -> Answering:
    """The values of each window that have no equal before them in it."""
    values = piece.values
    earlier, later = pairs_of(piece.codes.numbers)
    before = np.full(piece.size, -1, np.int64)
    before[later] = earlier

    def answer(low: np.ndarray, high: np.ndarray) -> Decoded:
        places, window = spread(low, high)
        new = before[places] < low[window]
        return listed(values, places[new], np.bincount(window[new], minlength=len(low)))

    return answer


gather_lists = BagKernel("gather", "list", make_lists, spreads=True)
gather_sets = BagKernel("gather", "set", make_sets, spreads=True)
