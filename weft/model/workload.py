"""A workload: queries bound to the types of their sources, ready to plan."""

from __future__ import annotations

from dataclasses import dataclass

from weft.aggregates.component import Component, Lowered
from weft.model.query import Query


@dataclass(frozen=True)
class Bound:
    """A query whose keys, time, calls and outputs have Spark's types.

    `risky` says that a comparison of its WHERE might fail on rows where an earlier one is not true.
    """

    query: Query
    time_type: str
    key_types: tuple[str, ...]
    calls: tuple[Lowered, ...]
    risky: bool = False

    @property
    def components(self) -> tuple[Component, ...]:
        """The distinct components of the query's calls, in order."""
        return tuple(dict.fromkeys(c for call in self.calls for c in call.components))


Workload = tuple[Bound, ...]
