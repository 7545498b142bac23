"""Metrics: one listener a stream that turns Spark's progress into figures, for whoever watches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Condition
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from weft.spark.stream.progress import Figures, Labels, Reading, figures_of, recent, total

Observer = Callable[[Figures], None]
Clock = Callable[[], datetime]
# Spark tells listeners on a thread of its own; the last word of a stream that has ended is there within moments.
PATIENCE = 10.0


class Scan(Protocol):
    """What a meter needs to know of a running scan."""

    @property
    def name(self) -> str: ...
    @property
    def queries(self) -> Iterable[str]: ...
    @property
    def labels(self) -> Labels: ...
    @property
    def query(self) -> StreamingQuery: ...


@dataclass(frozen=True)
class Followed:
    """A scan with its reading, and the trigger that was counted last."""

    labels: Labels
    reading: Reading
    newest: tuple[str, int] = field(default=("", -1))


def utc_now() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)


class Meter(StreamingQueryListener):
    """Keeps the figures and totals of a stream's scans, and tells `observe` of every trigger.

    Spark calls it from a thread of its own; `readings` may be called from any.
    """

    def __init__(self, observe: Observer | None = None, clock: Clock = utc_now):
        self._observe, self._clock = observe, clock
        self._scans: dict[str, Followed] = {}
        self._changed = Condition()

    def follow(self, scans: Iterable[Scan]) -> None:
        """Count these scans too, with the triggers that they have made already."""
        with self._changed:  # until all of them are counted: a newer trigger in between would hide the older ones
            for scan in scans:
                key, reading = str(scan.query.id), Reading(scan.name, True, total((), scan.queries))
                self._scans[key] = Followed(scan.labels, reading)
                active = scan.query.isActive  # asked first: a query that has ended makes no further trigger
                for progress in scan.query.recentProgress:
                    self.take(json.loads(progress.json))
                if not active:
                    self.end(key)

    def take(self, progress: Mapping[str, Any]) -> None:
        """Count a trigger, unless it is of another stream or counted already."""
        with self._changed:
            key, now = str(progress.get("id")), self._clock()
            followed, mark = self._scans.get(key), mark_of(progress)
            if followed is None or mark <= followed.newest:
                return
            figures = figures_of(followed.reading.scan, progress, followed.labels, now)
            self._scans[key] = Followed(followed.labels, counted(followed.reading, figures, now), mark)
            if self._observe:  # within the lock, so that observers see the triggers of a scan in their order
                self._observe(figures)

    def end(self, key: str) -> None:
        """Note that a query has ended."""
        with self._changed:
            if followed := self._scans.get(key):
                self._scans[key] = replace(followed, reading=replace(followed.reading, active=False))
            self._changed.notify_all()

    def readings(self) -> tuple[Reading, ...]:
        """What is known of every scan now."""
        with self._changed:
            return tuple(followed.reading for followed in self._scans.values())

    def settle(self, timeout: float = PATIENCE) -> bool:
        """Wait until Spark has told of the end of every scan, which comes after all of its triggers."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(f.reading.active for f in self._scans.values()), timeout)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Spark's word that a query starts; `follow` knows it already."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Spark's word that a trigger is done."""
        self.take(json.loads(event.progress.json))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Spark's word that there is nothing to do; the pace falls by the clock."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Spark's word that a query has ended."""
        self.end(str(event.id))


def counted(reading: Reading, figures: Figures, now: datetime) -> Reading:
    """The reading after one more trigger."""
    kept = (*recent(reading.recent, now), figures)
    # A scan that failed may have been started again.
    return replace(reading, active=True, totals=reading.totals + total((figures,)), last=figures, recent=kept)


def mark_of(progress: Mapping[str, Any]) -> tuple[str, int]:
    """What orders the triggers of a query: when each began, and its batch."""
    batch = progress.get("batchId")
    return str(progress.get("timestamp") or ""), batch if isinstance(batch, int) else -1


@contextmanager
def watching(spark: SparkSession, meter: Meter, scans: Iterable[Scan]) -> Iterator[Meter]:
    """Lets Spark tell the meter of a running stream's triggers, until the body is done."""
    spark.streams.addListener(meter)
    try:
        meter.follow(scans)  # only now: what happens in between is told twice and counted once, none is missed
        yield meter
    finally:
        spark.streams.removeListener(meter)
