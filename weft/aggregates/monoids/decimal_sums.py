"""decimal_sum and mean: exact sums of decimals beside their counts, which tell a sum that overflowed from none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.base import INTEGER, Monoid, Order
from weft.aggregates.monoids.decimals import int64_of, join_limbs, mean_of, split_limbs, to_decimal
from weft.aggregates.monoids.lanes import (
    HERE,
    NULL,
    OVERFLOW,
    Decoded,
    Lane,
    fill_identity,
    raw_values,
    validity,
)
from weft.aggregates.monoids.merge import masked
from weft.aggregates.operation import ADD, State


def unscaled_integers(column: pa.Array, valid: np.ndarray | None) -> State:
    """A decimal column's integers: of 64 bits where all of them add up within that, else of four limbs."""
    narrow = int64_of(column)
    return tuple(fill_identity(part, valid, 0) for part in ((narrow,) if narrow is not None else split_limbs(column)))


def lost_sums(columns: Sequence[pa.Array]) -> np.ndarray:
    """The slices that have values and yet no sum: without ANSI that is how Spark says that it overflowed."""
    counts = raw_values(columns[1], INTEGER)
    return (columns[0].is_null().to_numpy(zero_copy_only=False) & (counts > 0)).astype(np.int64)


def encode_decimal_sum(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
    """A decimal sum over unscaled integers, null or overflowed where one of its slices is or where it does not fit."""
    column, counts = columns[0], raw_values(columns[1], INTEGER)
    valid = None if counts.all() else counts > 0
    kind, gone = column.type, lost_sums(columns)
    parts = unscaled_integers(column, validity(column))
    if len(parts) == 1 and not gone.any():
        return Lane(ADD, parts, valid, lambda s: ([to_decimal(s[0], kind)], None))

    def decode(state: State) -> Decoded:
        values, fits = join_limbs(state[:-1], kind)
        return [values], np.where(fits & (state[-1] == 0), HERE, OVERFLOW if ansi else NULL).astype(np.int8)

    return Lane(ADD, (*parts, gone), valid, decode)


def encode_decimal_mean(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
    """A decimal average: the exact sum and count, divided and rounded half up once."""
    counts, total_kind = raw_values(columns[1], INTEGER), columns[0].type
    parts, gone = unscaled_integers(columns[0], validity(columns[0])), lost_sums(columns)
    valid = None if counts.all() else counts > 0

    def decode(state: State) -> Decoded:
        values, fits = mean_of(state[:-2], state[-2], answer, total_kind)
        fits &= state[-1] == 0
        return [values], None if fits.all() else np.where(fits, HERE, OVERFLOW if ansi else NULL).astype(np.int8)

    return Lane(ADD, (*parts, counts, gone), valid, decode)


def merge_decimals(columns: Sequence[pa.Array], order: Order, first: np.ndarray,
                   ansi: bool) -> list[pa.Array] | None:
    """Sums of decimals and the counts beside them, if every sum is there and fits."""
    if lost_sums(columns).any():
        return None
    valid = validity(columns[0])
    limbs = [np.add.reduceat(fill_identity(limb, valid, 0)[order], first) for limb in split_limbs(columns[0])]
    values, fits = join_limbs(limbs, columns[0].type)
    counts = np.add.reduceat(raw_values(columns[1], INTEGER)[order], first)
    return [masked(values, counts > 0), pa.array(counts)] if fits.all() else None


def always(kind: str) -> bool:
    """Any decimal may overflow."""
    return True


# Spark's sum of sums would be of a wider type: only workers merge these.
DECIMAL_SUM = Monoid("decimal_sum", ADD, encode_decimal_sum, merge=merge_decimals, overflows=always)
DECIMAL_MEAN = Monoid("mean", ADD, encode_decimal_mean, merge=merge_decimals, overflows=always)
