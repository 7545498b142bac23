"""Groups of a workload: the queries of each bound, which a schedule runs together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weft.errors import PlanError
from weft.model.query import Query

NAMED = 6
HOW = ('say how fresh answers must be: every="5 minutes" in Python, every = "5 minutes" under [queries] in weft.toml, '
       "or /*+ EVERY('5 minutes') */ in the SQL")


@dataclass(frozen=True)
class QueryGroup:
    """Queries of one bound on the time between their answers, in µs."""

    bound: int
    queries: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its first query, and how many more there are."""
        more = len(self.queries) - 1
        return f"{self.queries[0]} +{more}" if more else self.queries[0]


def group_queries(queries: Iterable[Query]) -> tuple[QueryGroup, ...]:
    """The groups of queries, the shortest bound first; raises where one has no bound: nobody knows when it is due."""
    found: dict[int, list[str]] = {}
    missing = []
    for query in queries:
        if query.every is None:
            missing.append(query.name)
        else:
            found.setdefault(query.every, []).append(query.name)
    if missing and found:
        names = ", ".join(missing[:NAMED]) + (f" and {len(missing) - NAMED} more" if len(missing) > NAMED else "")
        raise PlanError(f"a schedule needs a bound for every query, and there is none for {names}: {HOW}, or leave "
                        "them out.")
    if not found:
        raise PlanError(f"there is nothing to schedule, for no query has a bound: {HOW}.")
    return tuple(QueryGroup(bound, tuple(found[bound])) for bound in sorted(found))
