"""Decimals as integers: unscaled values of 128 bits in NumPy, exact in sums and in averages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

LIMB = 0xFFFFFFFF


def halves(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The low (unsigned) and high (signed) 64 bits of each unscaled value."""
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return words[0::2].astype(np.uint64), words[1::2]


def int64_of(column: pa.Array) -> np.ndarray | None:
    """The unscaled values as 64-bit integers, if every sum of them is one too."""
    if column.buffers()[1] is None:
        return np.zeros(len(column), np.int64)
    low, high = halves(column)
    signed = low.astype(np.int64)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    fits = np.where(valid, high == signed >> 63, True).all()
    return signed if fits and np.abs(np.where(valid, signed, 0).astype(np.float64)).sum() < 2.0**62 else None


def to_decimal(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    """A decimal array over 64-bit unscaled values."""
    words = np.empty((len(values), 2), np.int64)
    words[:, 0], words[:, 1] = values, values >> 63
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(words)])


def split_limbs(column: pa.Array) -> tuple[np.ndarray, ...]:
    """Four limbs of 32 bits, lowest first; the last one carries the sign."""
    low, high = halves(column)
    return ((low & LIMB).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), high & LIMB, high >> 32)


def integers(limbs: Sequence[np.ndarray]) -> list[int]:
    """The values of limbs (or of plain 64-bit integers) as Python integers."""
    columns = [limb.tolist() for limb in limbs]
    return [sum(digit << (32 * i) for i, digit in enumerate(digits)) for digits in zip(*columns, strict=True)]


def from_integers(values: Sequence[int], kind: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """A decimal array over unscaled Python integers, and which of them fit its precision (others become 0)."""
    limit = 10**kind.precision
    fits = np.fromiter((-limit < v < limit for v in values), bool, len(values))
    kept = b"".join((v if ok else 0).to_bytes(16, "little", signed=True) for v, ok in zip(values, fits, strict=True))
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(kept)]), fits


def join_limbs(limbs: Sequence[np.ndarray], kind: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """The decimals that summed limbs stand for, and which of them fit the type."""
    return from_integers(integers(limbs), kind)


def mean_of(total: Sequence[np.ndarray], count: np.ndarray, kind: pa.DataType,
            total_kind: pa.DataType) -> tuple[pa.Array, np.ndarray]:
    """total / count at the answer's scale, rounded half up (away from zero), and where sum and quotient fit."""
    shift = 10 ** (kind.scale - total_kind.scale)
    divisor = np.maximum(count, 1)
    if len(total) == 1 and np.abs(total[0]).max(initial=0) < 2**61 // shift and divisor.max(initial=1) < 2**61:
        doubled = 2 * np.abs(total[0]) * shift + divisor
        values = np.sign(total[0]) * (doubled // (2 * divisor))
        limit = min(10**kind.precision, 2**63 - 1)
        return to_decimal(values, kind), np.abs(values) < limit
    totals = integers(total)
    quotients = [
        (2 * abs(t) * shift + n) // (2 * n) * (1 if t >= 0 else -1)
        for t, n in zip(totals, divisor.tolist(), strict=True)
    ]
    values, fits = from_integers(quotients, kind)
    limit = 10**total_kind.precision
    return values, fits & np.fromiter((-limit < t < limit for t in totals), bool, len(totals))
