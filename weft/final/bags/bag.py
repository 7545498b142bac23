"""A bag: the values of slices as they came, and what a kernel sees of them.

A holistic aggregate does not fold. Its slices keep their values, and a window is a range of them: slices lie in the
order of key and start, so the values of any window lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.monoids.lanes import Decoded
from weft.errors import RunError
from weft.final.bags.codes import Codes, codes_of, doubles_of, order_of

# Answers from windows: window i sees the values `low[i]` up to `high[i]`; neither of the two ever falls.
Answering = Callable[[np.ndarray, np.ndarray], Decoded]


class Bag:
    """The values of slices in a row: slice i holds those from `offsets[i]` to `offsets[i + 1]`."""

    def __init__(self, values: pa.Array, offsets: np.ndarray):
        self.values, self.offsets = values, offsets

    @classmethod
    def of(cls, column: pa.Array) -> Bag:
        """The bag of a column of lists."""
        lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
        return cls(column.flatten(), np.append(0, np.cumsum(lengths, dtype=np.int64)))

    @cached_property
    def codes(self) -> Codes:
        """A number per value, the same for values that are equal to Spark's grouping: -0.0 is 0.0 there."""
        return codes_of(self.values)

    @cached_property
    def order(self) -> Codes:
        """A number per value in the order of Spark's sorting."""
        return order_of(self.values)

    @cached_property
    def doubles(self) -> np.ndarray:
        """The terms of the order as doubles."""
        return doubles_of(self.order.terms)

    def cut(self, slices: slice) -> BagPiece:
        """The values of some neighbouring slices."""
        return BagPiece(self, slice(int(self.offsets[slices.start]), int(self.offsets[slices.stop])))


@dataclass(frozen=True)
class BagPiece:
    """A stretch of a bag's values."""

    bag: Bag
    span: slice

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.span.stop - self.span.start

    @property
    def values(self) -> pa.Array:
        """The values themselves."""
        return self.bag.values.slice(self.span.start, self.size)

    @property
    def codes(self) -> Codes:
        """The numbers of the values, and what they stand for."""
        return self.bag.codes.cut(self.span)

    @property
    def order(self) -> Codes:
        """The places of the values in order, and what they stand for."""
        return self.bag.order.cut(self.span)


@dataclass(frozen=True)
class BagKernel:
    """A way from bags to answers: its name, the monoid it stands for, and what makes it ready for a piece.

    `spreads` says that an answer is as large as the window's values, so that few windows may be answered at a time.
    """

    name: str
    monoid: str
    make: Callable[[BagPiece, tuple], Answering]
    spreads: bool = False


@dataclass(frozen=True)
class BagLane:
    """One holistic component of a partition: its kernel, the kernel's parameters, and the bag."""

    kernel: BagKernel
    parameters: tuple
    bag: Bag

    def over(self, slices: slice) -> Answering:
        """The answers of windows over these slices, whose numbers count from the first of them."""
        piece = self.bag.cut(slices)
        answer = self.kernel.make(piece, self.parameters)
        offsets = self.bag.offsets[slices.start : slices.stop + 1] - piece.span.start

        def answering(low: np.ndarray, high: np.ndarray) -> Decoded:
            return answer(offsets[low], offsets[high])

        return answering

    def held(self, slices: slice, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """How many values each window holds."""
        offsets = self.bag.offsets[slices.start : slices.stop + 1]
        return offsets[high] - offsets[low]


def check_size(name: str, column: pa.Array, most: int) -> None:
    """Raises where a column of a partition holds more values than a worker may hold."""
    held = pc.sum(pc.list_value_length(column)).as_py() or 0
    if held > most:
        raise RunError(
            f"{name} keeps {held:,} values of one partition in a worker, and the bound is {most:,} (max_bag_values). "
            f"Raise spark.sql.shuffle.partitions so that a partition has fewer keys, group by more keys or filter "
            f"rows, or set max_bag_values higher if the workers have the memory."
        )


def count_up_to(bounds: np.ndarray, size: int) -> np.ndarray:
    """For each of the numbers up to `size`, how many of the ascending bounds are not above it."""
    return np.cumsum(np.bincount(bounds, minlength=size + 1))
