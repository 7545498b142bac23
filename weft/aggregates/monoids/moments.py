"""moments and comoments: a slice's count, means and central moments, merged by Chan's formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates import operation
from weft.aggregates.monoids.base import INTEGER, REAL, Encode, Merge, Monoid, Order
from weft.aggregates.monoids.lanes import Lane, fill_identity, fixed_width_array, raw_values
from weft.aggregates.operation import Operation, Types


def encode_moments(does: Operation, sent: slice) -> Encode:
    """The first column counts the values, and a slice without any is the identity; answers carry the fields `sent`."""

    def encode(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        counts = raw_values(columns[0], INTEGER)
        valid = None if (counts > 0).all() else counts > 0
        arrays = [counts.astype(np.float64), *(raw_values(c, REAL) for c in columns[1:])]
        state = tuple(fill_identity(a, valid, 0.0) for a in arrays)
        return Lane(does, state, valid, lambda s: ([fixed_width_array(pa.float64(), a) for a in s[sent]], None))

    return encode


Sums = Callable[[Sequence[np.ndarray], np.ndarray], list[np.ndarray]]


def merge_moments(encode: Encode, of_rows: Sums) -> Merge:
    """Counts, means and central moments of runs; where every slice is a single row, `of_rows` has a shorter way."""

    def merge(columns: Sequence[pa.Array], order: Order, first: np.ndarray, ansi: bool) -> list[pa.Array]:
        lane = encode(columns, pa.null(), ansi).ordered(order)
        size = len(columns[0])
        if lane.valid is None and len(first) < size and (lane.state[0] == 1).all():
            count: np.ndarray = np.diff(np.append(first, size))
            moments = of_rows(lane.state[1:], first)
        else:
            count, *moments = lane.operation.reduce_runs(lane.state, first)
        return [pa.array(count.astype(np.int64)), *map(pa.array, moments)]

    return merge


def row_moments(state: Sequence[np.ndarray], first: np.ndarray) -> list[np.ndarray]:
    """The mean and the central moments of each run of single values, in two passes."""
    mean, apart = centre(state[0], first)
    powers, found = apart, [mean]
    for _ in state[1:]:
        powers = powers * apart
        found.append(np.add.reduceat(powers, first))
    return found


def row_comoments(state: Sequence[np.ndarray], first: np.ndarray) -> list[np.ndarray]:
    """The means and the second moments of each run of single pairs."""
    (mean_x, x), (mean_y, y) = (centre(values, first) for values in state[:2])
    return [mean_x, mean_y, *(np.add.reduceat(product, first) for product in (x * y, x * x, y * y))]


def centre(values: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each run, and how far its values are apart from it; equal values have that very value as mean."""
    runs = np.diff(np.append(first, len(values)))
    with np.errstate(invalid="ignore"):  # an infinity makes the moments NaN, as Spark has it
        head = values[first]
        mean = head + np.add.reduceat(values - np.repeat(head, runs), first) / runs
        return mean, values - np.repeat(mean, runs)


def moment_types(kind: str, columns: int) -> Types:
    """A double a column."""
    return (REAL,) * columns


def moments_of(does: Operation, sent: slice, of_rows: Sums) -> Monoid:
    """The monoid of one operation on moments."""
    encode = encode_moments(does, sent)
    return Monoid(does.name, does, encode, moment_types, merge=merge_moments(encode, of_rows))


MOMENTS = moments_of(operation.MOMENTS, slice(2, 5), row_moments)
COMOMENTS = moments_of(operation.COMOMENTS, slice(3, 6), row_comoments)
