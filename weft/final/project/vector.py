"""A column of computed values: NumPy arrays with what is null and where Spark would raise an error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import fixed_width_array, raw_values, validity

# The kinds that expressions compute with, each as it lies in memory; any other kind is only passed on.
DTYPES = {"boolean": np.dtype(np.bool_), "int": np.dtype(np.int32), "bigint": np.dtype(np.int64),
          "double": np.dtype(np.float64)}
ARROW = {"boolean": pa.bool_(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}
INTEGRAL = ("int", "bigint")
LEAST = {"int": -(2**31), "bigint": -(2**63)}


class NeedsSpark(Exception):
    """Spark raises an error on some of the answers, or may: only Spark itself can say which and in which words."""


class Vector(NamedTuple):
    """Values, which of them are not null (None: all), and those whose evaluation raises an error (None: none does).

    A constant's arrays have no dimension. Whatever lies where a value is null or raises means nothing.
    """

    values: np.ndarray
    valid: np.ndarray | None = None
    errors: np.ndarray | None = None

    @property
    def true(self) -> np.ndarray:
        """Where a boolean is true, not false or null."""
        return self.values if self.valid is None else self.values & self.valid

    @property
    def false(self) -> np.ndarray:
        """Where a boolean is false, not true or null."""
        return ~self.values if self.valid is None else ~self.values & self.valid

    def take(self, rows: np.ndarray) -> Vector:
        """The vector of some rows only."""
        parts = [part if part is None or np.ndim(part) == 0 else part[rows] for part in self[1:]]
        return Vector(self.values if np.ndim(self.values) == 0 else self.values[rows], *parts)


def both(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    """Where two masks hold, None being one that holds everywhere."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def either(one: np.ndarray | None, other: np.ndarray | None) -> np.ndarray | None:
    """Where any of two masks holds, None being one that holds nowhere."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def null(kind: str) -> Vector:
    """The null of a kind, as a constant."""
    return Vector(np.zeros((), DTYPES[kind]), np.zeros((), np.bool_))


def from_arrow(array: pa.Array, kind: str) -> Vector:
    """An Arrow array of a kind that can be computed with."""
    if kind == "boolean":  # Arrow packs booleans into bits
        return Vector(array.fill_null(False).to_numpy(zero_copy_only=False), validity(array))
    return Vector(raw_values(array, DTYPES[kind]), validity(array))


def to_arrow(vector: Vector, kind: str, size: int) -> pa.Array:
    """The vector as an Arrow array of so many values."""
    if vector.valid is None and kind != "boolean" and np.ndim(vector.values):
        return fixed_width_array(ARROW[kind], vector.values.astype(DTYPES[kind], copy=False))
    values = np.broadcast_to(np.asarray(vector.values, DTYPES[kind]), size)
    nulls = None if vector.valid is None else np.broadcast_to(~np.asarray(vector.valid), size)
    return pa.array(values, ARROW[kind], mask=nulls, from_pandas=False)
