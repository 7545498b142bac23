"""What a monoid is: how slices of a component are merged, encoded and folded, and how its answers are sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.lanes import Lane
from weft.aggregates.operation import Operation, Types

INTEGER, REAL = np.dtype(np.int64), np.dtype(np.float64)
# A component's columns, the Arrow type of a decimal answer (else null) and ANSI mode in; a lane out.
Encode = Callable[[Sequence[pa.Array], pa.DataType, bool], Lane]
# An order of slices: their places, or AS_IS.
Order = np.ndarray | slice
AS_IS = slice(None)
# A component's columns, an order of its slices, the first of each run in that order, ANSI mode in; columns with one
# value a run out, or None where a sum would not fit its type.
Merge = Callable[[Sequence[pa.Array], Order, np.ndarray, bool], list[pa.Array] | None]


def never(kind: str) -> bool:
    """The rule of monoids whose answers always fit."""
    return False


def one_integer(kind: str, columns: int) -> Types:
    """A state of one integer: numbers, or ranks of what is no number."""
    return (INTEGER,)


@dataclass(frozen=True, eq=False, repr=False)
class Monoid:
    """What folds the slices of a component, from Spark's columns to what Spark reads of an answer.

    `operation` is what kernels fold and `encode` makes lanes for it out of a component's columns; `types` gives the
    types of a state's fields by the component's type and number of columns, so that a plan knows which algorithms are
    legal. `merges` are Spark aggregates that make one slice of several, `{0}` being the first column, and `merge` does
    so in a worker; None where slices are kept apart.

    `lends` says that an answer is a value of a slice, of the column's own type. What `counts` rows is never null, and
    is not sent where it equals the number of rows. `overflows` says for which types of answers the mark OVERFLOW makes
    Spark raise its own error. What `starts_at_zero` gives 0.0 for -0.0 alone.

    A monoid of bags has no operation: a `kernel` of `final/bags` answers from the values that slices keep, one that
    brings it along or the one that bears its name there. `keeps_rows` says that a bag is as large as its rows are many.
    `made_by` is a function and its arguments that make the monoid in a worker, where its parts cannot be sent.
    """

    name: str
    operation: Operation | None = None
    encode: Encode | None = None
    types: Callable[[str, int], Types] = one_integer
    merges: tuple[str, ...] | None = None
    merge: Merge | None = None
    lends: bool = False
    counts: bool = False
    overflows: Callable[[str], bool] = never
    starts_at_zero: bool = False
    bag: bool = False
    kernel: Any = None
    keeps_rows: bool = False
    made_by: tuple[Callable[..., Monoid], tuple] | None = None

    def __reduce__(self) -> tuple:
        """Workers know Weft's own by name; others travel with the stage, or as what makes them anew."""
        from weft.aggregates.monoids import find_monoid, is_own

        if is_own(self):
            return find_monoid, (self.name,)
        return self.made_by or (Monoid, tuple(getattr(self, field.name) for field in fields(self)))

    def __eq__(self, other: object) -> bool:
        """The name is what it is known by: a loom takes no two of one name."""
        return isinstance(other, Monoid) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return repr(self.name)

    def __str__(self) -> str:
        return self.name
