"""count and add: numbers that add up. Integers that would overflow are added in halves and checked at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.base import INTEGER, REAL, Monoid
from weft.aggregates.monoids.lanes import (
    HERE,
    OVERFLOW,
    Decoded,
    Lane,
    fill_identity,
    fixed_width_array,
    numpy_type,
    plain_lane,
    raw_values,
    validity,
)
from weft.aggregates.monoids.merge import merge_values
from weft.aggregates.operation import ADD, State, Types

FLOATING = ("double", "float")


def encode_count(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
    """Counts, which are never null."""
    return plain_lane(columns[0], ADD)


def encode_sum(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
    """A sum: exact for integers, of doubles otherwise."""
    column = columns[0]
    values = raw_values(column, numpy_type(column.type) or INTEGER)
    if ansi and values.dtype.kind == "i" and np.abs(values.astype(np.float64)).sum() >= 2.0**62:
        return wide_sum_lane(column)
    return plain_lane(column, ADD)


def wide_sum_lane(column: pa.Array) -> Lane:
    """A bigint sum that may overflow: halves of 32 bits add up exactly, and the whole is checked at the end."""
    valid = validity(column)
    values = fill_identity(raw_values(column, INTEGER), valid, 0)

    def decode(state: State) -> Decoded:
        high, low = state[1] + (state[0] >> 32), state[0] & 0xFFFFFFFF
        fits = (high >= -(2**31)) & (high < 2**31)
        return [fixed_width_array(pa.int64(), (high << 32) | low)], np.where(fits, HERE, OVERFLOW).astype(np.int8)

    return Lane(ADD, (values & 0xFFFFFFFF, values >> 32), valid, decode)


def sum_types(kind: str, columns: int) -> Types:
    """Doubles are added as they are, and so are integers."""
    return (REAL if kind in FLOATING else INTEGER,)


def is_exact(kind: str) -> bool:
    """Integers may overflow; doubles become infinite, as Spark's do."""
    return kind not in FLOATING


COUNT = Monoid("count", ADD, encode_count, merges=("sum({0})",), merge=merge_values(encode_count), counts=True)
SUM = Monoid("add", ADD, encode_sum, sum_types, ("sum({0})",), merge_values(encode_sum), overflows=is_exact,
             starts_at_zero=True)
