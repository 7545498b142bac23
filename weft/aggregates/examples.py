"""Example rows for the laws: finite values of every type, which repeat so that ties occur."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from weft.aggregates.defined import Definition


def example_columns(definition: Definition, size: int = 40, seed: int = 0) -> list[pa.Array]:
    """Rows to check laws on: those that the aggregate lists, else finite values of every argument's type."""
    listed = definition.aggregate.examples
    if listed:
        return [pa.array([row[i] for row in listed], kind) for i, kind in enumerate(definition.arguments)]
    rng = np.random.default_rng(seed)
    return [pa.array([example(kind, rng) for _ in range(size)], kind) for kind in definition.arguments]


def example(kind: pa.DataType, rng: np.random.Generator) -> Any:
    """A value of a type: small ones that repeat, now and then a larger one."""
    if pa.types.is_list(kind):
        return [example(kind.value_type, rng) for _ in range(int(rng.integers(0, 4)))]
    if pa.types.is_struct(kind):
        return {field.name: example(field.type, rng) for field in kind}
    if pa.types.is_floating(kind):
        real = float(rng.choice([float(rng.integers(-4, 5)), rng.normal(0, 10), rng.normal(0, 1e4)]))
        return float(np.float32(real)) if kind.bit_width == 32 else real
    whole = int(rng.choice([rng.integers(-4, 5), rng.integers(-100, 100), rng.integers(-30000, 30000)]))
    if pa.types.is_integer(kind):
        return whole % 100 if kind.bit_width == 8 else whole
    return other_example(kind, whole)


def other_example(kind: pa.DataType, whole: int) -> Any:
    """A value of a type that is no number, made of a whole number."""
    if pa.types.is_boolean(kind):
        return whole % 2 == 0
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        text = ("", "a", "b", "ab", "zz", "Zürich")[whole % 6]
        return text if pa.types.is_string(kind) else text.encode()
    if pa.types.is_decimal(kind):
        return Decimal(whole % 10 ** min(kind.precision, 4)).scaleb(-kind.scale)
    return pa.scalar(whole, pa.int32() if pa.types.is_date(kind) else pa.int64()).cast(kind).as_py()
