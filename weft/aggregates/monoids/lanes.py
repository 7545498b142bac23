"""Lanes: a component's slices as arrays to fold, and its folded arrays as Arrow values to send.

A monoid's `encode` turns the Arrow columns of one component into a `Lane`, whose `decode` turns folded states back.
Every answer value has a mark: 1 it is there, 0 it is null, 2 it overflowed and Spark shall raise; no marks means all
are 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.operation import Operation, State

Decoded = tuple[list[pa.Array], np.ndarray | None]
NULL, HERE, OVERFLOW = 0, 1, 2


@dataclass(frozen=True)
class Lane:
    """One component ready to fold: its operation, its state, which slices have a value, and the way back."""

    operation: Operation
    state: State
    valid: np.ndarray | None
    decode: Callable[[State], Decoded]

    def ordered(self, order: np.ndarray | slice) -> Lane:
        """The lane with its slices in another order."""
        state = tuple(a[order] for a in self.state)
        return replace(self, state=state, valid=None if self.valid is None else self.valid[order])

    def decode_present(self, state: State, present: np.ndarray | None) -> Decoded:
        """The values and marks of folds, given how many of their slices have a value, if some have none."""
        values, marks = self.decode(state)
        if present is None:
            return values, marks
        there = present > 0
        return values, there.astype(np.int8) if marks is None else np.where(there, marks, NULL).astype(np.int8)


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


def plain_lane(column: pa.Array, operation: Operation) -> Lane:
    """A lane over the values themselves."""
    kind = column.type
    valid = validity(column)
    if pa.types.is_boolean(kind):  # Arrow packs booleans into bits
        values, back = column.fill_null(False).to_numpy(zero_copy_only=False), pa.array
    else:
        values, back = raw_values(column, numpy_type(kind) or np.dtype(np.int64)), partial(fixed_width_array, kind)
    state = (fill_identity(values, valid, operation.identity((values.dtype,))[0]),)
    return Lane(operation, state, valid, lambda s: ([back(s[0])], None))


def ranked_lane(values: pa.Array, order: pa.Array, operation: Operation) -> Lane:
    """A lane over row numbers ranked by `order`: the chosen row lends its value. Serves any type that sorts."""
    valid = validity(order)
    rank = pc.rank(order, sort_keys="ascending", tiebreaker="dense")
    size = max(len(order), 1)
    key = rank.to_numpy(zero_copy_only=False).astype(np.int64) * size + np.arange(len(order))
    key = fill_identity(key, valid, operation.identity((key.dtype,))[0])

    def decode(state: State) -> Decoded:
        # A window without a value holds the identity: any row serves, for its mark says null.
        chosen = values.take(pa.array(state[0] % size))
        if chosen.null_count == 0:
            return [chosen], None
        return [chosen], chosen.is_valid().to_numpy(zero_copy_only=False).astype(np.int8)

    return Lane(operation, (key,), valid, decode)
