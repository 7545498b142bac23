"""The times of windows that count rows: those of their first and last row, as components."""

from __future__ import annotations

from weft.aggregates.component import ROWS, Component, Lowered
from weft.aggregates.monoids.choices import MAX, MIN

# What a query needs that does not ask for its window: the number of rows, which tells whole windows from others.
UNASKED = Lowered((ROWS,), "NULL")


def instant(time: str, kind: str) -> tuple[str, str]:
    """Spark SQL for an event time as the timestamp that Spark's own window() makes of it, and its type."""
    return (time, kind) if kind in ("timestamp", "timestamp_ntz") else (f"CAST({time} AS TIMESTAMP_LTZ)", "timestamp")


def lower_times(time: str, kind: str) -> Lowered:
    """The window as Spark SQL over the number of rows and their least and greatest time."""
    at, plain = instant(time, kind)
    first, last = Component(MIN, (f"min({at})",), plain), Component(MAX, (f"max({at})",), plain)
    return Lowered((*UNASKED.components, first, last), "named_struct('start', {1}, 'end', {2})")
