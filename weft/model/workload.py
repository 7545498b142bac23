"""A workload: queries bound to the types of their sources, ready to plan."""

from __future__ import annotations

from dataclasses import dataclass

from weft.aggregates.component import Component, Lowered
from weft.model.query import Query


@dataclass(frozen=True)
class Bound:
    """A query whose keys, time, calls and outputs have Spark's types.

    `risky` says that a comparison of its WHERE might fail on rows where an earlier one is not true. `times` are the
    first and last time of a window that counts rows, as components; the slices of other windows tell theirs.
    """

    query: Query
    time_type: str
    key_types: tuple[str, ...]
    calls: tuple[Lowered, ...]
    risky: bool = False
    times: Lowered | None = None

    @property
    def components(self) -> tuple[Component, ...]:
        """The distinct components of the query's calls, and of its window's times, in order."""
        lowered = self.calls if self.times is None else (*self.calls, self.times)
        return tuple(dict.fromkeys(c for each in lowered for c in each.components))


Workload = tuple[Bound, ...]
