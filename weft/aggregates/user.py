"""What a user writes to add an aggregate: over arrays of all rows, or over one Python value at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from weft.aggregates.operation import State, Types

OBJECT = np.dtype(object)


@dataclass(frozen=True)
class Vectorized:
    """An aggregate over arrays, as kernels take it: `lift` takes a column of each argument, without nulls."""

    types: Types
    identity: tuple
    lift: Callable[[Sequence[pa.Array]], State]
    combine: Callable[[State, State], State]
    lower: Callable[[State], Any]
    inverse: Callable[[State, State], State] | None = None
    ufunc: np.ufunc | None = None


class Declared:
    """What both kinds of user-defined aggregates declare.

    `name` is what SQL calls it, `takes` the Spark types of its arguments, `returns` that of its answer. Spark's rows
    have no order, so an aggregate must be `commutative`. `idempotent` and `selective` open faster algorithms; so does
    an `inverse` where every field of the state is an integer, or where it is declared `exact`. `examples` are rows to
    check the laws on, where the aggregate does not take any value of its types.
    """

    name: str = ""
    takes: tuple[str, ...] = ()
    returns: str = ""
    commutative: bool = False
    idempotent: bool = False
    selective: bool = False
    exact: bool = False
    partials: tuple[str, ...] = ()
    examples: tuple[tuple, ...] = ()
    identity: Any = None
    inverse: Any = None

    def lift(self, *arguments: Any) -> Any:
        """The state of one row."""
        raise NotImplementedError("write lift")

    def combine(self, a: Any, b: Any) -> Any:
        """The state of the rows of a and of b together."""
        raise NotImplementedError("write combine")

    def lower(self, state: Any) -> Any:
        """The answer that a state stands for."""
        raise NotImplementedError("write lower")

    def vectorized(self) -> Vectorized:
        """The aggregate over arrays."""
        raise NotImplementedError


class UserAggregate(Declared):
    """An aggregate over NumPy arrays, one element a row.

    A state is a tuple of arrays, one for each of `fields`, which names their NumPy types; `identity` is a tuple of as
    many values. `lift(*columns)` gives the state of each row, `combine(a, b)` combines two states element by element,
    `lower(state)` gives an array of answers, NumPy's or Arrow's. Instead of `combine`, `ufunc` may name the NumPy
    function that combines each field. `partials` may give a Spark SQL aggregate for each field, `{0}` being the first
    argument: then no row leaves the JVM.
    """

    fields: tuple = ()
    ufunc: np.ufunc | None = None

    def combine(self, a: State, b: State) -> State:
        """The states of a and b together, element by element."""
        if self.ufunc is None:
            raise NotImplementedError("write combine, or name a ufunc")
        return tuple(self.ufunc(x, y) for x, y in zip(a, b, strict=True))

    def vectorized(self) -> Vectorized:
        """The aggregate as it is, with arguments as NumPy arrays."""
        types = tuple(np.dtype(field) for field in self.fields)

        def lift(columns: Sequence[pa.Array]) -> State:
            lifted = self.lift(*(column.to_numpy(zero_copy_only=False) for column in columns))
            return tuple(np.asarray(a, t) for a, t in zip(lifted, types, strict=True))

        return Vectorized(types, tuple(self.identity), lift, self.combine, self.lower, self.inverse, self.ufunc)


class PlainAggregate(Declared):
    """An aggregate over Python values: `lift(*values)` of one row, `combine(a, b)` of two states, `lower(state)`.

    A state may be any value that `combine` leaves unchanged; `identity` is the state of no rows.
    """

    def vectorized(self) -> Vectorized:
        """The aggregate over arrays of Python objects."""
        return Vectorized(
            (OBJECT,),
            (self.identity,),
            lambda columns: (objects(map(self.lift, *(column.to_pylist() for column in columns)), len(columns[0])),),
            pairwise(self.combine),
            lambda state: [self.lower(value) for value in state[0]],
            pairwise(self.inverse) if self.inverse else None,
        )


def objects(values: Any, size: int) -> np.ndarray:
    """Values as an array of objects, whatever they are."""
    found = np.empty(size, object)
    for i, value in enumerate(values):
        found[i] = value
    return found


def pairwise(function: Callable[[Any, Any], Any]) -> Callable[[State, State], State]:
    """A function of two values as one of two arrays of values."""
    each = np.frompyfunc(function, 2, 1)
    return lambda a, b: (each(a[0], b[0]),)
