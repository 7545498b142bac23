"""What an aggregate is: its spellings, its arity, and how it becomes components."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from weft.aggregates.component import Lowered

INTEGRAL = ("tinyint", "smallint", "int", "bigint")
FRACTIONAL = ("float", "double")


@dataclass(frozen=True)
class Argument:
    """An argument's SQL and its Spark type."""

    sql: str
    type: str

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal argument."""
        found = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", self.type)
        return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function; `lower(args, only)` gives its components, `only` the FILTER clause or ''.

    `defined` tells those that a user defined. `weigh` does the same over rows behind a drop box, each of which stands
    for several; None where a part of the rows does not tell the value of all."""

    name: str
    lower: Callable[[tuple[Argument, ...], str], Lowered]
    synonyms: tuple[str, ...] = ()
    arity: tuple[int, int] = (1, 1)
    defined: bool = False
    weigh: Callable[[tuple[Argument, ...], str], Lowered] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every spelling of the function, the canonical one first."""
        return (self.name, *self.synonyms)


class BadArgument(Exception):
    """An argument that Spark may take and Weft does not: why, and what to write instead."""

    def __init__(self, reason: str, hint: str):
        super().__init__(reason)
        self.reason, self.hint = reason, hint


class UnsupportedType(Exception):
    """The argument's type is one that Spark aggregates and Weft does not (yet), and what to write instead."""

    def __init__(self, kind: str, hint: str = "Cast the argument to a number, string, date or timestamp."):
        super().__init__(kind)
        self.hint = hint


def decimal_type(precision: int, scale: int) -> str:
    """A decimal type bounded to 38 digits as Spark bounds it."""
    return f"decimal({min(precision, 38)},{min(scale, 38)})"
