"""min, max, min_by and max_by: a slice lends its value, chosen by its own order or by another column's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates import operation
from weft.aggregates.monoids.base import Encode, Merge, Monoid
from weft.aggregates.monoids.lanes import Lane, numpy_type, plain_lane, ranked_lane
from weft.aggregates.monoids.merge import merge_values
from weft.aggregates.monoids.sums import sum_types
from weft.aggregates.operation import Operation


def encode_extremum(chooses: Operation) -> Encode:
    """min or max: of the values where NumPy orders them as Spark does, else by rank."""

    def encode(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        column = columns[0]
        if pa.types.is_boolean(column.type) or numpy_type(column.type) is not None:
            return plain_lane(column, chooses)
        return ranked_lane(column, column, chooses)

    return encode


def encode_by(chooses: Operation) -> Encode:
    """min_by or max_by: the second column chooses."""

    def encode(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        return ranked_lane(columns[0], columns[1], chooses)

    return encode


def merge_by(chooses: Operation) -> Merge:
    """The rows that min_by and max_by choose."""

    def merge(columns: Sequence[pa.Array], order: np.ndarray, first: np.ndarray, ansi: bool) -> list[pa.Array]:
        lane = ranked_lane(columns[0], columns[1], chooses)
        chosen = chooses.reduce_runs((lane.state[0][order],), first)[0] % max(len(order), 1)
        if lane.valid is not None:
            chosen = np.where(np.logical_or.reduceat(lane.valid[order], first), chosen, order[first])
        return [column.take(pa.array(chosen)) for column in columns]

    return merge


def extremum(name: str, chooses: Operation) -> Monoid:
    """min or max."""
    encode = encode_extremum(chooses)
    return Monoid(name, chooses, encode, sum_types, (f"{name}({{0}})",), merge_values(encode), lends=True)


def extremum_by(name: str, chooses: Operation) -> Monoid:
    """min_by or max_by."""
    merges = (f"{name}_by({{0}}, {{1}})", f"{name}({{1}})")
    return Monoid(f"{name}_by", chooses, encode_by(chooses), merges=merges, merge=merge_by(chooses), lends=True)


MIN = extremum("min", operation.MIN)
MAX = extremum("max", operation.MAX)
MIN_BY = extremum_by("min", operation.MIN)
MAX_BY = extremum_by("max", operation.MAX)
