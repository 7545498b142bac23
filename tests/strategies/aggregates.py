"""User-defined aggregates for tests: one of each kind, over arrays, over Python values, and by partials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from weft.aggregates.operation import State
from weft.aggregates.user import PlainAggregate, UserAggregate


class Spread(PlainAggregate):
    """The largest value without the smallest, over Python values; null where there are none."""

    name = "spread"
    takes = ("double",)
    returns = "double"
    commutative = idempotent = True
    identity = None

    def lift(self, x: float) -> tuple[float, float]:
        """A row is its own least and greatest."""
        return x, x

    def combine(self, a: Any, b: Any) -> Any:
        """The least of both and the greatest of both."""
        if a is None or b is None:
            return b if a is None else a
        return min(a[0], b[0]), max(a[1], b[1])

    def lower(self, state: Any) -> float | None:
        """How far they are apart."""
        return None if state is None else state[1] - state[0]


class Weighted(UserAggregate):
    """The mean of a first argument weighted by a second, whose sums Spark itself makes."""

    name = "weighted"
    takes = ("double", "bigint")
    returns = "double"
    fields = ("float64", "int64")
    identity = (0.0, 0)
    ufunc = np.add
    commutative = True
    partials = ("sum({0} * {1})", "sum(IF({0} IS NULL, 0L, {1}))")

    def lift(self, x: np.ndarray, weight: np.ndarray) -> State:
        """A row's part of both sums."""
        return x * weight, weight

    def lower(self, state: State) -> pa.Array:
        """Their quotient, null where all weights add up to nothing."""
        return pa.array(state[0] / np.where(state[1] == 0, 1, state[1]), mask=state[1] == 0)


class Parity(UserAggregate):
    """The number of odd and of even values, which may be taken away again."""

    name = "parity"
    takes = ("bigint",)
    returns = "struct<odd:bigint,even:bigint>"
    fields = ("int64", "int64")
    identity = (0, 0)
    commutative = True

    def lift(self, n: np.ndarray) -> State:
        """One of the two counts."""
        return (n % 2).astype(np.int64), (1 - n % 2).astype(np.int64)

    def combine(self, a: State, b: State) -> State:
        """Both counts of both."""
        return a[0] + b[0], a[1] + b[1]

    def inverse(self, a: State, b: State) -> State:
        """What is left of both counts."""
        return a[0] - b[0], a[1] - b[1]

    def lower(self, state: State) -> pa.Array:
        """The counts by their names."""
        return pa.StructArray.from_arrays([pa.array(state[0]), pa.array(state[1])], names=["odd", "even"])


class Longest(PlainAggregate):
    """The longest text, the first in order among equals."""

    name = "longest"
    takes = ("string",)
    returns = "string"
    commutative = idempotent = selective = True
    identity = None

    def lift(self, text: str) -> str:
        """The text itself."""
        return text

    def combine(self, a: str | None, b: str | None) -> str | None:
        """The longer of the two."""
        if a is None or b is None:
            return b if a is None else a
        return min(a, b, key=lambda text: (-len(text), text))

    def lower(self, state: str | None) -> str | None:
        """The text itself."""
        return state
