"""bit_and, bit_or and bit_xor of integers."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from weft.aggregates import operation
from weft.aggregates.monoids.base import Monoid
from weft.aggregates.monoids.lanes import Lane, plain_lane
from weft.aggregates.monoids.merge import merge_values
from weft.aggregates.operation import Operation


def bitwise(does: Operation) -> Monoid:
    """The monoid of one bitwise operation."""

    def encode(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        return plain_lane(columns[0], does)

    return Monoid(does.name, does, encode, merges=(f"{does.name}({{0}})",), merge=merge_values(encode), lends=True)


BIT_AND = bitwise(operation.BIT_AND)
BIT_OR = bitwise(operation.BIT_OR)
BIT_XOR = bitwise(operation.BIT_XOR)
