"""moments and comoments: a slice's count, means and central moments, merged by Chan's formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates import operation
from weft.aggregates.monoids.base import INTEGER, REAL, Encode, Merge, Monoid
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


def merge_moments(encode: Encode) -> Merge:
    """Counts, means and central moments of runs."""

    def merge(columns: Sequence[pa.Array], order: np.ndarray, first: np.ndarray, ansi: bool) -> list[pa.Array]:
        lane = encode(columns, pa.null(), ansi).ordered(order)
        count, *moments = lane.operation.reduce_runs(lane.state, first)
        return [pa.array(count.astype(np.int64)), *map(pa.array, moments)]

    return merge


def moment_types(kind: str, columns: int) -> Types:
    """A double a column."""
    return (REAL,) * columns


def moments_of(does: Operation, sent: slice) -> Monoid:
    """The monoid of one operation on moments."""
    encode = encode_moments(does, sent)
    return Monoid(does.name, does, encode, moment_types, merge=merge_moments(encode))


MOMENTS = moments_of(operation.MOMENTS, slice(2, 5))
COMOMENTS = moments_of(operation.COMOMENTS, slice(3, 6))
