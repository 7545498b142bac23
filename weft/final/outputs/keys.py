"""The keys of answers: taken once a row of answers and repeated along it, texts as dictionaries of distinct ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import fixed_width_array, numpy_type, raw_values
from weft.final.project import Take

# The places of the slices whose keys some answers have, and how many answers have each; what takes their keys out.
KeyTaker = Callable[[np.ndarray, np.ndarray], Take]


def key_takers(keys: Sequence[pa.Array]) -> list[KeyTaker]:
    """For each key column, what takes the keys of answers."""
    return [key_taker(key) for key in keys]


def key_taker(key: pa.Array) -> KeyTaker:
    """Takes texts from a dictionary of the distinct ones, all else, which expressions may compute with, as it is."""
    if pa.types.is_string(key.type) or pa.types.is_binary(key.type):
        key = key.dictionary_encode()
    plain = key.indices if isinstance(key, pa.DictionaryArray) else key
    kind = numpy_type(plain.type)
    if kind is None or key.null_count:
        return lambda slices, counts: lambda rows: key.take(pa.array(repeat(slices, counts, rows)))
    values = raw_values(plain, kind)

    def take(slices: np.ndarray, counts: np.ndarray) -> Take:
        return lambda rows: like(key, repeat(values[slices], counts, rows))

    return take


def repeat(values: np.ndarray, counts: np.ndarray, rows: np.ndarray | None) -> np.ndarray:
    """Each value as often as is said, or what lies at some places then."""
    return np.repeat(values, counts) if rows is None else np.repeat(values, counts)[rows]


def like(key: pa.Array, values: np.ndarray) -> pa.Array:
    """Values, or places in the dictionary, as an array of the key's type."""
    if isinstance(key, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(fixed_width_array(key.indices.type, values), key.dictionary)
    return fixed_width_array(key.type, values)
