"""Which bounds on the freshness of answers a stream keeps, by what its triggers take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from weft.cli.tables import few
from weft.cli.view.base import length
from weft.errors import PlanError
from weft.model.window import duration
from weft.spark.stream.progress import ScanMetrics, trigger_load

NAMED = 4
SECOND = 1_000_000


def bound_lines(readings: Sequence[ScanMetrics], bounds: Mapping[str, int]) -> Iterator[str]:
    """For each scan whose queries have bounds the shortest sustainable trigger, T* = F / (1 − U), and what it keeps."""
    for one in readings:
        mine = {query: bounds[query] for query in one.totals.answers if query in bounds}
        load = trigger_load(one.recent)
        if not mine or load is None:
            continue
        if not isfinite(load.shortest):
            yield f"{one.scan}: no trigger is long enough, for rows alone take {load.rows:.0%} of the time."
            continue
        kept = [name for name, bound in mine.items() if load.shortest * SECOND <= bound]
        missed = [name for name in mine if name not in kept]
        yield (f"{one.scan}: the shortest trigger that it can sustain is {length(round(load.shortest, 1))} "
               f"({load.fixed:.2g} s each, {load.rows:.0%} of the time for rows): {verdict(kept, missed, mine)}.")


def trigger_lines(trigger: str | None, bounds: Mapping[str, int]) -> Iterator[str]:
    """A sentence where a trigger is longer than bounds allow; one that is no length of time is for Spark to refuse."""
    # The SQL reader takes a while to import, and few streams have bounds.
    from weft.sql.freshness import parse_bound

    try:
        every = parse_bound(trigger) if trigger and bounds else 0
    except PlanError:
        return
    missed = [f"{name} (every {duration(bound)})" for name, bound in bounds.items() if bound < every]
    if missed:
        yield f"The trigger of {duration(every)} is longer than answers may wait: it misses {few(missed, NAMED)}."


def verdict(kept: Sequence[str], missed: Sequence[str], bounds: Mapping[str, int]) -> str:
    """Whose bounds it keeps and whose it misses."""
    parts = [(word, [f"{name} (every {duration(bounds[name])})" for name in names])
             for word, names in (("keeps", kept), ("misses", missed)) if names]
    return ", ".join(f"{word} {few(names, NAMED)}" for word, names in parts)
