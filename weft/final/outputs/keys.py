"""The keys of answers: those of wide types as dictionaries, so that no text is copied for each answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from weft.final.project import Take

# The places of the answers' slices in, what takes the keys of some answers out.
KeyTaker = Callable[[np.ndarray], Take]


def key_takers(keys: Sequence[pa.Array]) -> list[KeyTaker]:
    """For each key column, what takes the keys of answers."""
    return [key_taker(key) for key in keys]


def key_taker(key: pa.Array) -> KeyTaker:
    """Takes texts from a dictionary of the distinct ones, all else, which expressions may compute with, as it is."""
    if not (pa.types.is_string(key.type) or pa.types.is_binary(key.type)):
        return lambda slices: lambda rows: key.take(pa.array(slices if rows is None else slices[rows]))
    encoded = key.dictionary_encode()

    def take(slices: np.ndarray) -> Take:
        return lambda rows: encoded.take(pa.array(slices if rows is None else slices[rows]))

    return take
