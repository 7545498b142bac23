"""A workload: queries bound to the types of their sources, ready to plan."""

from __future__ import annotations

from dataclasses import dataclass

from weft.aggregates.component import Component, Lowered
from weft.model.query import Query


@dataclass(frozen=True)
class Bound:
    """A query whose keys, time, calls and outputs have Spark's types."""

    query: Query
    time_type: str
    key_types: tuple[str, ...]
    calls: tuple[Lowered, ...]

    @property
    def components(self) -> tuple[Component, ...]:
        """The distinct components of the query's calls, in order."""
        return tuple(dict.fromkeys(c for call in self.calls for c in call.components))


Workload = tuple[Bound, ...]
