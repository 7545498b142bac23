"""Marks of slices: in few numbers which predicates their rows pass.

`price > 100` and `price > 500` contain one another, `exchange = 1` and `exchange = 2` exclude each other: both are
intervals of places among the numbers that an expression is compared with, and one search finds a row's place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Scale:
    """An expression and the numbers it is compared with, ascending.

    A value has place 2i + 2 where it equals number i, 2i + 1 where it lies before it, and 0 where it is null. A scale
    of equalities only gives other values place 0 too: they pass nothing.
    """

    expression: str
    numbers: tuple[str, ...]
    equalities: bool = False

    @property
    def top(self) -> int:
        """The place of values beyond all numbers."""
        return 2 * len(self.numbers) + 1

    def interval(self, operator: str, number: str) -> tuple[int, int]:
        """The places of values that a comparison lets pass."""
        at = 2 * self.numbers.index(number) + 2
        return {"<": (1, at - 1), "<=": (1, at), "=": (at, at), ">=": (at, self.top), ">": (at + 1, self.top)}[operator]


class Field(NamedTuple):
    """Some bits of a mark: a place on a scale, or whether a row passes a predicate."""

    what: Scale | str
    mark: int
    shift: int
    width: int


class Test(NamedTuple):
    """What a predicate asks of a mark: its bits from `shift` on, as a number, lie between `low` and `high`."""

    mark: int
    shift: int
    width: int
    low: int
    high: int


@dataclass(frozen=True)
class Marking:
    """The fields of the marks, and for each predicate, by its number, what it asks of them."""

    fields: tuple[Field, ...] = ()
    tests: tuple[tuple[Test, ...], ...] = ()

    @property
    def size(self) -> int:
        """How many marks there are."""
        return max((field.mark + 1 for field in self.fields), default=0)


UNMARKED = Marking()
