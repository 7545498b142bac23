"""Codes: values as numbers that sort as Spark sorts the values, and the distinct values behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.monoids.decimals import halves
from weft.aggregates.monoids.lanes import fixed_width_array, numpy_type, raw_values


@dataclass(frozen=True)
class Codes:
    """Value i is `terms[numbers[i]]`; terms are distinct and ascend."""

    numbers: np.ndarray
    terms: pa.Array

    def cut(self, span: slice) -> Codes:
        """A stretch of the values over the same terms."""
        return Codes(self.numbers[span], self.terms)


def codes_of(values: pa.Array) -> Codes:
    """The codes of values of which those are one that Spark groups as one: -0.0 and 0.0, and every NaN."""
    if pa.types.is_struct(values.type):
        return struct_codes(values)
    if pa.types.is_floating(values.type):
        plain = raw_values(values, np.dtype(values.type.to_pandas_dtype()))
        return order_of(fixed_width_array(values.type, plain + plain.dtype.type(0)))  # -0.0 + 0.0 is 0.0
    return order_of(values)


def order_of(values: pa.Array) -> Codes:
    """The codes of values in Spark's order; -0.0 comes before 0.0 here, as Spark's percentiles have it."""
    kind = numpy_type(values.type)
    if kind is None:
        return dictionary_codes(values)
    plain = raw_values(values, kind)
    if kind.kind != "f":
        terms, numbers = np.unique(plain, return_inverse=True)
        return Codes(numbers, fixed_width_array(values.type, terms))
    terms, numbers = np.unique(sortable_bits(plain), return_inverse=True)
    return Codes(numbers, fixed_width_array(values.type, from_sortable_bits(terms, kind)))


def sortable_bits(values: np.ndarray) -> np.ndarray:
    """Integers that sort as the floating values do, NaN last and all NaN alike."""
    whole = np.dtype(f"i{values.dtype.itemsize}")
    bits = np.where(np.isnan(values), values.dtype.type(np.nan), values).view(whole)
    bits = np.where(np.isnan(values), np.abs(bits), bits)  # NaN may bear a sign
    return np.where(bits < 0, bits ^ np.iinfo(whole).max, bits)


def from_sortable_bits(keys: np.ndarray, kind: np.dtype) -> np.ndarray:
    """The floating values behind such integers."""
    return np.where(keys < 0, keys ^ np.iinfo(keys.dtype).max, keys).view(kind)


def dictionary_codes(values: pa.Array) -> Codes:
    """The codes of values that NumPy does not sort as Spark does: strings and binary by bytes, decimals, booleans."""
    encoded = values.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    numbers = encoded.indices.to_numpy(zero_copy_only=False)
    return Codes(place[numbers], encoded.dictionary.take(pa.array(order)))


def struct_codes(values: pa.Array) -> Codes:
    """The codes of structs: those of their fields, one after another; nulls come first."""
    numbers = np.zeros(len(values), np.int64)
    for field in values.flatten():
        found, count = field_numbers(field)
        numbers = np.unique(numbers, return_inverse=True)[1] * count + found  # without holes, so that they stay small
    _, first, numbers = np.unique(numbers, return_index=True, return_inverse=True)
    return Codes(numbers, values.take(pa.array(first)))


def field_numbers(field: pa.Array) -> tuple[np.ndarray, int]:
    """A number per value of a struct's field, 0 for null, and how many numbers there are."""
    valid = field.is_valid().to_numpy(zero_copy_only=False)
    codes = codes_of(field.drop_null())
    numbers = np.zeros(len(field), np.int64)
    numbers[valid] = codes.numbers + 1
    return numbers, len(codes.terms) + 1


def take_terms(codes: Codes, numbers: np.ndarray) -> pa.Array:
    """The terms of some numbers; where there are no terms at all, whatever stands for nothing."""
    if len(codes.terms):
        return codes.terms.take(pa.array(numbers))
    return empty_values(codes.terms.type, len(numbers))


def empty_values(kind: pa.DataType, size: int) -> pa.Array:
    """Values that stand under marks of null: zeros where the type has a width, for Spark expects no nulls there."""
    width = numpy_type(kind)
    if pa.types.is_boolean(kind):
        return pa.array(np.zeros(size, bool))
    return pa.nulls(size, kind) if width is None else fixed_width_array(kind, np.zeros(size, width))


def doubles_of(terms: pa.Array) -> np.ndarray:
    """Numbers as doubles, rounded once as Java does."""
    kind = numpy_type(terms.type)
    if kind is not None:
        return raw_values(terms, kind).astype(np.float64)
    low, high = halves(terms) if len(terms) else (np.zeros(0, np.uint64), np.zeros(0, np.int64))
    whole = low.astype(np.int64)
    # A quotient of two exact doubles is rounded once; whatever is larger goes by its text.
    if terms.type.scale <= 22 and ((high == whole >> 63) & (np.abs(whole) < 2**53)).all():
        return whole / 10.0**terms.type.scale
    return np.array([float(value) for value in terms.to_pylist()], np.float64)
