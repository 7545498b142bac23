"""Lanes: a component's slices as arrays to fold, and its folded arrays as Arrow values to send.

`encode` turns the Arrow columns of one component into a `Lane`; `decode` turns folded states back. Every answer
value has a mark: 1 it is there, 0 it is null, 2 it overflowed and Spark shall raise; no marks means all are 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.component import Component
from weft.aggregates.defined import Definition
from weft.aggregates.monoid import ADD, BIT_AND, BIT_OR, BIT_XOR, COMOMENTS, MAX, MIN, MOMENTS, Monoid, State
from weft.final.fold.decimals import int64_of, join_limbs, mean_of, split_limbs, to_decimal

Decoded = tuple[list[pa.Array], np.ndarray | None]
NULL, HERE, OVERFLOW = 0, 1, 2


@dataclass(frozen=True)
class Lane:
    """One component ready to fold: its monoid, its state, which slices have a value, and the way back."""

    monoid: Monoid
    state: State
    valid: np.ndarray | None
    decode: Callable[[State], Decoded]

    def ordered(self, order: np.ndarray) -> Lane:
        """The lane with its slices in another order."""
        state = tuple(a[order] for a in self.state)
        return replace(self, state=state, valid=None if self.valid is None else self.valid[order])


def validity(column: pa.Array) -> np.ndarray | None:
    """Which elements are non-null; None when all are."""
    return None if column.null_count == 0 else column.is_valid().to_numpy(zero_copy_only=False)


def fill_identity(values: np.ndarray, valid: np.ndarray | None, identity: object) -> np.ndarray:
    """The values with the identity wherever there is none."""
    return values if valid is None else np.where(valid, values, np.asarray(identity, values.dtype))


def raw_values(column: pa.Array, dtype: np.dtype) -> np.ndarray:
    """The values buffer of a fixed-width column, nulls as whatever lies there."""
    buffer = column.buffers()[1]
    if buffer is None:
        return np.zeros(len(column), dtype)
    return np.frombuffer(buffer, dtype)[column.offset : column.offset + len(column)]


def numpy_type(kind: pa.DataType) -> np.dtype | None:
    """The NumPy type that holds an Arrow type's values as they lie in memory."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.dtype(kind.to_pandas_dtype())
    if pa.types.is_timestamp(kind):
        return np.dtype(np.int64)
    return np.dtype(np.int32) if pa.types.is_date32(kind) else None


def fixed_width_array(kind: pa.DataType, values: np.ndarray) -> pa.Array:
    """A fixed-width Arrow array over a NumPy array."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def plain_lane(column: pa.Array, monoid: Monoid) -> Lane:
    """A lane over the values themselves."""
    kind = column.type
    valid = validity(column)
    if pa.types.is_boolean(kind):  # Arrow packs booleans into bits
        values, back = column.fill_null(False).to_numpy(zero_copy_only=False), pa.array
    else:
        values, back = raw_values(column, numpy_type(kind) or np.dtype(np.int64)), partial(fixed_width_array, kind)
    state = (fill_identity(values, valid, monoid.identity((values.dtype,))[0]),)
    return Lane(monoid, state, valid, lambda s: ([back(s[0])], None))


def ranked_lane(values: pa.Array, order: pa.Array, monoid: Monoid) -> Lane:
    """A lane over row numbers ranked by `order`: the chosen row lends its value. Serves any type that sorts."""
    valid = validity(order)
    rank = pc.rank(order, sort_keys="ascending", tiebreaker="dense")
    size = max(len(order), 1)
    key = rank.to_numpy(zero_copy_only=False).astype(np.int64) * size + np.arange(len(order))
    key = fill_identity(key, valid, monoid.identity((key.dtype,))[0])

    def decode(state: State) -> Decoded:
        # A window without a value holds the identity: any row serves, for its mark says null.
        chosen = values.take(pa.array(state[0] % size))
        if chosen.null_count == 0:
            return [chosen], None
        return [chosen], chosen.is_valid().to_numpy(zero_copy_only=False).astype(np.int8)

    return Lane(monoid, (key,), valid, decode)


def extremum_lane(columns: Sequence[pa.Array], monoid: Monoid) -> Lane:
    """min or max: of the values where NumPy orders them as Spark does, else by rank."""
    column = columns[0]
    if pa.types.is_boolean(column.type) or numpy_type(column.type) is not None:
        return plain_lane(column, monoid)
    return ranked_lane(column, column, monoid)


def wide_sum_lane(column: pa.Array) -> Lane:
    """A bigint sum that may overflow: halves of 32 bits add up exactly, and the whole is checked at the end."""
    valid = validity(column)
    values = fill_identity(raw_values(column, np.dtype(np.int64)), valid, 0)

    def decode(state: State) -> Decoded:
        high, low = state[1] + (state[0] >> 32), state[0] & 0xFFFFFFFF
        fits = (high >= -(2**31)) & (high < 2**31)
        return [fixed_width_array(pa.int64(), (high << 32) | low)], np.where(fits, HERE, OVERFLOW).astype(np.int8)

    return Lane(ADD, (values & 0xFFFFFFFF, values >> 32), valid, decode)


def sum_lane(columns: Sequence[pa.Array], ansi: bool) -> Lane:
    """A sum: exact for integers and decimals, of doubles otherwise."""
    column = columns[0]
    if pa.types.is_decimal(column.type):
        return decimal_sum_lane(columns, ansi)
    values = raw_values(column, numpy_type(column.type) or np.dtype(np.int64))
    if ansi and values.dtype.kind == "i" and np.abs(values.astype(np.float64)).sum() >= 2.0**62:
        return wide_sum_lane(column)
    return plain_lane(column, ADD)


def unscaled_integers(column: pa.Array, valid: np.ndarray | None) -> State:
    """A decimal column's integers: of 64 bits where all of them add up within that, else of four limbs."""
    narrow = int64_of(column)
    return tuple(fill_identity(part, valid, 0) for part in ((narrow,) if narrow is not None else split_limbs(column)))


def lost_sums(columns: Sequence[pa.Array]) -> np.ndarray:
    """The slices that have values and yet no sum: without ANSI that is how Spark says that it overflowed."""
    counts = raw_values(columns[1], np.dtype(np.int64))
    return (columns[0].is_null().to_numpy(zero_copy_only=False) & (counts > 0)).astype(np.int64)


def decimal_sum_lane(columns: Sequence[pa.Array], ansi: bool) -> Lane:
    """A decimal sum over unscaled integers, null or overflowed where one of its slices is or where it does not fit."""
    column, counts = columns[0], raw_values(columns[1], np.dtype(np.int64))
    valid = None if counts.all() else counts > 0
    kind, gone = column.type, lost_sums(columns)
    parts = unscaled_integers(column, validity(column))
    if len(parts) == 1 and not gone.any():
        return Lane(ADD, parts, valid, lambda s: ([to_decimal(s[0], kind)], None))

    def decode(state: State) -> Decoded:
        values, fits = join_limbs(state[:-1], kind)
        return [values], np.where(fits & (state[-1] == 0), HERE, OVERFLOW if ansi else NULL).astype(np.int8)

    return Lane(ADD, (*parts, gone), valid, decode)


def decimal_mean_lane(columns: Sequence[pa.Array], kind: pa.DataType, ansi: bool) -> Lane:
    """A decimal average: the exact sum and count, divided and rounded half up once."""
    counts, total_kind = raw_values(columns[1], np.dtype(np.int64)), columns[0].type
    parts, gone = unscaled_integers(columns[0], validity(columns[0])), lost_sums(columns)
    valid = None if counts.all() else counts > 0

    def decode(state: State) -> Decoded:
        values, fits = mean_of(state[:-2], state[-2], kind, total_kind)
        fits &= state[-1] == 0
        return [values], None if fits.all() else np.where(fits, HERE, OVERFLOW if ansi else NULL).astype(np.int8)

    return Lane(ADD, (*parts, counts, gone), valid, decode)


def moments_lane(columns: Sequence[pa.Array], monoid: Monoid, sent: slice) -> Lane:
    """Central moments: a slice without values is the identity."""
    counts = raw_values(columns[0], np.dtype(np.int64))
    valid = None if (counts > 0).all() else counts > 0
    arrays = [counts.astype(np.float64), *(raw_values(c, np.dtype(np.float64)) for c in columns[1:])]
    state = tuple(fill_identity(a, valid, 0.0) for a in arrays)
    return Lane(monoid, state, valid, lambda s: ([fixed_width_array(pa.float64(), a) for a in s[sent]], None))


def user_lane(definition: Definition, columns: Sequence[pa.Array]) -> Lane:
    """A user's aggregate: a slice without rows is the identity, and any answer may be null."""

    def decode(state: State) -> Decoded:
        values = definition.answers(state)
        valid = validity(values)
        return [values], None if valid is None else valid.astype(np.int8)

    return Lane(definition.monoid, definition.slices(columns), None, decode)


def encode_lane(component: Component, columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
    """The lane of a component, by its monoid and the type of its columns."""
    if component.defined:
        return user_lane(component.defined, columns)
    match component.monoid:
        case "count":
            return plain_lane(columns[0], ADD)
        case "add":
            return sum_lane(columns, ansi)
        case "mean":
            return decimal_mean_lane(columns, answer, ansi)
        case "min" | "max" as name:
            return extremum_lane(columns, MIN if name == "min" else MAX)
        case "min_by" | "max_by" as name:
            return ranked_lane(columns[0], columns[1], MIN if name == "min_by" else MAX)
        case "comoments":
            return moments_lane(columns, COMOMENTS, slice(3, 6))
        case "bit_and" | "bit_or" | "bit_xor" as name:
            return plain_lane(columns[0], {"bit_and": BIT_AND, "bit_or": BIT_OR, "bit_xor": BIT_XOR}[name])
        case _:
            return moments_lane(columns, MOMENTS, slice(2, 5))
