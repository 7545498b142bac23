"""A hash of keys that is the same in every process and version: it decides in which bucket a key's state lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

ODD = np.uint64(0x9E3779B97F4A7C15)
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
NULL = np.uint64(0x5851F42D4C957F2D)


def hash_keys(columns: Sequence[pa.Array], size: int) -> np.ndarray:
    """A number of 64 bits for each key; equal keys have equal bytes, and so equal numbers."""
    total = np.zeros(size, np.uint64)
    for column in columns:
        words = words_of(column)
        if column.null_count:
            words = np.where(column.is_valid().to_numpy(zero_copy_only=False), words, NULL)
        total = mixed(total * ODD + words)
    return total


def mixed(words: np.ndarray) -> np.ndarray:
    """Words whose every bit hangs on every bit before: the finish of SplitMix64."""
    for shift, factor in STEPS:
        words = (words ^ words >> np.uint64(shift)) * np.uint64(factor)
    return words


def words_of(column: pa.Array) -> np.ndarray:
    """A word for each value; anything for a null."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return words_of_texts(column)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        pairs = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)
        return (pairs[:, 0] + pairs[:, 1] * ODD)[column.offset : column.offset + len(column)]
    width = column.type.bit_width // 8
    held = np.frombuffer(column.buffers()[1], f"u{width}")[column.offset : column.offset + len(column)]
    return held.astype(np.uint64)


def words_of_texts(column: pa.Array) -> np.ndarray:
    """A word for each text: its bytes as the digits of a number, modulo 2⁶⁴."""
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    held = np.frombuffer(data, np.uint8)[first:last] if last > first else np.zeros(0, np.uint8)
    sizes = np.diff(offsets)
    place = np.arange(last - first) - np.repeat(offsets[:-1] - first, sizes)
    powers = np.multiply.accumulate(np.full(int(sizes.max(initial=0)) + 1, ODD))
    totals = np.append(np.uint64(0), np.cumsum((held.astype(np.uint64) + np.uint64(1)) * powers[place]))
    return totals[offsets[1:] - first] - totals[offsets[:-1] - first] + sizes.astype(np.uint64)
