"""A component: one shared partial column set over a monoid, and the fields its answers carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Component:
    """What a slice keeps for some aggregate: `columns` are Spark aggregates, folded by `monoid`.

    `type` is the Spark type of an answer's value; `fields` names the values an answer carries.
    Equal components of different aggregates and queries are one component.
    """

    monoid: str
    columns: tuple[str, ...]
    type: str
    fields: tuple[str, ...] = ("value",)
    label: str = field(default="", compare=False)

    @property
    def nullable(self) -> bool:
        """Counts are never null; everything else is null where no value was."""
        return self.monoid != "count"

    def __str__(self) -> str:
        return self.label or self.columns[0]


def columns_of(components: Iterable[Component]) -> tuple[str, ...]:
    """The distinct columns that the components' states are made of, in order."""
    return tuple(dict.fromkeys(column for component in components for column in component.columns))


ROWS = Component("count", ("count(1)",), "bigint")


@dataclass(frozen=True)
class Lowered:
    """An aggregate as components plus Spark SQL over them: `{0}` is the first one, `{0.m2}` its field m2."""

    components: tuple[Component, ...]
    sql: str = "{0}"
