"""A component: one shared partial column set over a monoid, and the fields its answers carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import uuid4

from weft.aggregates.monoids import MONOIDS, Monoid, find_monoid, is_own
from weft.aggregates.monoids.sums import COUNT
from weft.errors import PlanError


class Lift(NamedTuple):
    """What a row brings to a column: the value of `sql`; or, if it `counts`, one where that is not null and else none.
    """

    sql: str
    counts: bool = False

    def under(self, condition: str | None) -> Lift:
        """What a row brings that meets a condition, or any row where there is none: then IF around it is left out."""
        whole = f"IF({GUARD}, "
        if condition is None and self.sql.startswith(whole):
            return Lift(self.sql.removeprefix(whole).removesuffix(", NULL)"), self.counts)
        if condition is None:
            return Lift(self.sql.replace(f" AND ({GUARD})", "").replace(GUARD, "true"), self.counts)
        return Lift(self.sql.replace(GUARD, condition), self.counts)


@dataclass(frozen=True)
class Component:
    """What a slice keeps for some aggregate: `columns` are Spark aggregates, folded by `monoid`, a value or the name of
    one of MONOIDS.

    `type` is the Spark type of an answer's value; `fields` names the values an answer carries.
    Equal components of different aggregates and queries are one component. `guarded` are the same columns over the rows
    that meet the condition GUARD stands for, and `lifts` what a single such row brings to each column, none where only
    Spark's aggregate can tell. `parameters` are constants of its answers, such as a percentage. `meanings` are the
    columns with their arguments in canonical form, if those differ: two spellings of a column have the same.
    """

    monoid: Monoid
    columns: tuple[str, ...]
    type: str
    fields: tuple[str, ...] = ("value",)
    label: str = field(default="", compare=False)
    guarded: tuple[str, ...] = field(default=(), compare=False)
    lifts: tuple[Lift, ...] = field(default=(), compare=False)
    parameters: tuple[float, ...] = ()
    meanings: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Look up a name; a monoid from outside must not pass for one of Weft's."""
        if isinstance(self.monoid, str):
            object.__setattr__(self, "monoid", find_monoid(self.monoid))
        elif not is_own(self.monoid) and self.monoid.name in NAMES:
            raise PlanError(f"'{self.monoid}' is the name of one of Weft's monoids: choose another for your own.")

    @property
    def nullable(self) -> bool:
        """Counts are never null; everything else is null where no value was."""
        return not self.monoid.counts

    @property
    def fixed_width(self) -> bool:
        """Whether all values take the same space: arrays of them travel without nulls, and a mark covers the gaps."""
        return self.type in FIXED_WIDTH

    @property
    def merges(self) -> tuple[str, ...] | None:
        """Spark aggregates that make one state of several, `{0}` being the first column; None where only a kernel can.
        """
        return self.monoid.merges

    def __str__(self) -> str:
        return self.label or self.columns[0]


FIXED_WIDTH = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "date", "timestamp",
               "timestamp_ntz")
GUARD = f"__weft_guard_{uuid4().hex}"  # no text of a user's can hold it
FILTER = " FILTER (WHERE "
NAMES = {monoid.name for monoid in MONOIDS}
MAX_BAG_VALUES = 10_000_000  # of one column of bags in one partition


def lifted(only: str, value: str, counts: bool = False) -> Lift:
    """What a row brings if it meets a FILTER clause."""
    return Lift(f"IF({only.removeprefix(FILTER)[:-1]}, {value}, NULL)" if only else value, counts)


def guarded_columns(components: Iterable[Component]) -> dict[str, str]:
    """Each column under GUARD, where it may raise an error on rows that nobody gave it."""
    return {plain: guarded for c in components for plain, guarded in zip(c.columns, c.guarded, strict=False)}


def lifted_columns(components: Iterable[Component]) -> dict[str, Lift]:
    """What a row brings to each column under GUARD, where that can be told."""
    return {plain: lift for c in components for plain, lift in zip(c.columns, c.lifts, strict=False)}


def meanings_of(components: Iterable[Component]) -> dict[str, str]:
    """Each column by what it means, however its arguments are spelled."""
    return {plain: meaning for c in components
            for plain, meaning in zip(c.columns, c.meanings or c.columns, strict=True)}


def merging(components: Iterable[Component]) -> dict[str, tuple[str, tuple[str, ...]]] | None:
    """How Spark makes one slice of several, None where it cannot: for each column an aggregate and what it reads."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for component in components:
        if component.merges is None:
            return None
        found |= {c: (sql, component.columns) for c, sql in zip(component.columns, component.merges, strict=True)}
    return found


def columns_of(components: Iterable[Component]) -> tuple[str, ...]:
    """The distinct columns that the components' states are made of, in order."""
    return tuple(dict.fromkeys(column for component in components for column in component.columns))


ROWS = Component(COUNT, ("count(1)",), "bigint", guarded=(f"count(1){FILTER}{GUARD})",),
                 lifts=(Lift(f"IF({GUARD}, 1, NULL)", True),))


def add_row_count(components: tuple[Component, ...]) -> tuple[Component, ...]:
    """The components with the row count first if any count, or nothing else, is asked: counts may refer to it."""
    if components and not any(c.monoid.counts for c in components):
        return components
    return (ROWS, *(c for c in components if c != ROWS))


@dataclass(frozen=True)
class Lowered:
    """An aggregate as components plus Spark SQL over them: `{0}` is the first one, `{0.m2}` its field m2."""

    components: tuple[Component, ...]
    sql: str = "{0}"
