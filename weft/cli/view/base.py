"""What every view can do, and the words that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import reduce
from operator import add
from typing import Protocol

from weft.cli.tables import counted
from weft.spark.stream.progress import ScanMetrics, Totals, TriggerMetrics

Read = Callable[[], Sequence[ScanMetrics]]
UNITS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))
SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


class View(Protocol):
    """Shows a stream from its begin to its end."""

    def open(self, read: Read) -> AbstractContextManager[None]:
        """Shows what `read` gives while the body runs."""
        ...

    def tell(self, figures: TriggerMetrics) -> None:
        """Takes the figures of a trigger, in the order of triggers."""
        ...

    def end(self, readings: Sequence[ScanMetrics]) -> None:
        """Shows the totals of a stream that has ended well."""
        ...


def summary(readings: Sequence[ScanMetrics]) -> str:
    """The totals of a stream as a sentence."""
    sums = totals(readings)
    parts = [f"{counted(sums.rows, 'row')} read", counted(sum(sums.answers.values()), "answer")]
    parts += [f"{counted(sums.late, 'late row')} dropped"] if sums.late else []
    parts += [counted(sums.dead, "dead letter")] if sums.dead else []
    scans = f" of {counted(len(readings), 'scan')}" if len(readings) > 1 else ""
    return f"Ended after {counted(sums.triggers, 'trigger')}{scans}: {', '.join(parts)}."


def totals(readings: Sequence[ScanMetrics]) -> Totals:
    """The totals of all scans."""
    return reduce(add, (one.totals for one in readings), Totals())


def clock(when: datetime | None) -> str:
    """A time to the second, in UTC."""
    return "–" if when is None else when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def length(seconds: float | None) -> str:
    """A length of time in its two largest units: 12 s, 10 min, 2 h 5 min."""
    if seconds is None:
        return "–"
    if seconds < 0:  # the clocks of those who write the rows are ahead
        return f"−{length(-seconds)}"
    for size, unit, small, smaller in UNITS:
        if seconds >= size:
            whole, rest = divmod(int(seconds), size)
            return f"{whole:,} {unit} {rest // small} {smaller}" if rest // small else f"{whole:,} {unit}"
    return f"{seconds:.1f} s" if seconds % 1 else f"{seconds:.0f} s"


def size(count: int) -> str:
    """A number of bytes with three digits and a unit."""
    value, unit = float(count), SIZES[0]
    for unit in SIZES:
        if value < 1000 or unit == SIZES[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == SIZES[0] or value >= 100 else f"{value:.3g} {unit}"


def speed(value: float) -> str:
    """A number a second."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2g}"
