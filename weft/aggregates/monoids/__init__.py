"""The monoids that components are folded by: one value each, which owns all that others ask of it.

A slice's columns as Spark made them come in; arrays for the kernels, merged slices and answers for Spark go out. To
add one: one value and one line, or from outside a value that a component brings along.
"""

from __future__ import annotations

from difflib import get_close_matches

from weft.aggregates.monoids.bags import DISTINCT, LIST, MODE, PERCENTILE, RANK, REGISTERS, SET
from weft.aggregates.monoids.base import Monoid
from weft.aggregates.monoids.bits import BIT_AND, BIT_OR, BIT_XOR
from weft.aggregates.monoids.choices import MAX, MAX_BY, MIN, MIN_BY
from weft.aggregates.monoids.decimal_sums import DECIMAL_MEAN, DECIMAL_SUM
from weft.aggregates.monoids.moments import COMOMENTS, MOMENTS
from weft.aggregates.monoids.sums import COUNT, SUM
from weft.errors import PlanError

MONOIDS: tuple[Monoid, ...] = (
    COUNT,
    SUM,
    DECIMAL_SUM,
    DECIMAL_MEAN,
    MIN,
    MAX,
    MIN_BY,
    MAX_BY,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    MOMENTS,
    COMOMENTS,
    PERCENTILE,
    RANK,
    MODE,
    LIST,
    DISTINCT,
    SET,
    REGISTERS,
)
_BY_NAME = {monoid.name: monoid for monoid in MONOIDS}


def find_monoid(name: str) -> Monoid:
    """The monoid of a name, or an error that says which there are."""
    if name not in _BY_NAME:
        near = get_close_matches(name, _BY_NAME, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the monoids are {', '.join(_BY_NAME)}."
        raise PlanError(f"there is no monoid '{name}': {hint}")
    return _BY_NAME[name]


def is_own(monoid: Monoid) -> bool:
    """Whether a monoid is one of Weft's, which workers know by its name."""
    return _BY_NAME.get(monoid.name) is monoid


__all__ = ["MONOIDS", "Monoid", "find_monoid", "is_own"]
