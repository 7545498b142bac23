"""A workload: queries bound to the types of their sources, ready to plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from weft.aggregates.component import Component, Lowered
from weft.errors import QueryError
from weft.model.query import Query


@dataclass(frozen=True)
class BoundQuery:
    """A query whose keys, time, calls and outputs have Spark's types.

    `risky` says that a comparison of its WHERE might fail on rows where an earlier one is not true. `times` are the
    first and last time of a window that counts rows, as components; the slices of other windows tell theirs. `weighted`
    are the calls over rows behind a drop box, None where no row may be dropped.
    """

    query: Query
    time_type: str
    key_types: tuple[str, ...]
    calls: tuple[Lowered, ...]
    risky: bool = False
    times: Lowered | None = None
    weighted: tuple[Lowered, ...] | None = None

    @property
    def components(self) -> tuple[Component, ...]:
        """The distinct components of the query's calls, and of its window's times, in order."""
        lowered = self.calls if self.times is None else (*self.calls, self.times)
        return tuple(dict.fromkeys(c for each in lowered for c in each.components))


Workload = tuple[BoundQuery, ...]


def choose(known: Mapping[str, BoundQuery], names: Iterable[str] | None) -> list[BoundQuery]:
    """The queries of some names, each once, or all; raises where there is none of a name."""
    wanted = list(known) if names is None else list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean '{near[0]}'?" if near else "Add it with loom.query(name, sql)."
            raise QueryError(name, "there is no query of this name.", hint=hint)
    return [known[name] for name in wanted]
