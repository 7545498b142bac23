"""Metrics: one listener a stream that turns Spark's progress into figures, for whoever watches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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

from weft.spark.stream.answer_counts import Labels
from weft.spark.stream.progress import (
    ScanMetrics,
    Totals,
    TriggerMetrics,
    last_minute,
    sum_totals,
    sum_triggers,
    trigger_metrics,
)

Observer = Callable[[TriggerMetrics], None]
Clock = Callable[[], datetime]
# Spark tells listeners on a thread of its own; the last word of a stream that has ended is there within moments.
PATIENCE = 10.0


class WatchedScan(Protocol):
    """What a meter needs to know of a running scan."""

    @property
    def name(self) -> str: ...
    @property
    def queries(self) -> Iterable[str]: ...
    @property
    def labels(self) -> Labels: ...
    @property
    def query(self) -> StreamingQuery: ...


class WatchedStream(Protocol):
    """What a meter needs to know of a running stream."""

    @property
    def scans(self) -> Sequence[WatchedScan]: ...


@dataclass(frozen=True)
class FollowedScan:
    """A scan with its reading, the trigger that was counted last, and whether the stream has it no more."""

    labels: Labels
    reading: ScanMetrics
    newest: tuple[str, int] = field(default=("", -1))
    gone: bool = False


def utc_now() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)


class MetricsListener(StreamingQueryListener):
    """Keeps the figures and totals of a stream's scans, and tells `observe` of every trigger.

    Spark calls it from a thread of its own; `readings` may be called from any.
    """

    def __init__(self, observe: Observer | None = None, clock: Clock = utc_now):
        self._observe, self._clock = observe, clock
        self._scans: dict[str, FollowedScan] = {}
        self._changed = Condition()

    def follow(self, scans: Iterable[WatchedScan]) -> None:
        """Count these scans, which are all of a stream, with the triggers that they have made already; where queries of
        the stream have changed it is called once more. Of scans that are gone only the sums stay."""
        with self._changed:  # until all of them are counted: a newer trigger in between would hide the older ones
            found = {str(scan.query.id): scan for scan in scans}
            for key, scan in found.items():
                self._follow_scan(key, scan)
            for key in self._scans.keys() - found.keys():
                known = self._scans[key]
                self._scans[key] = replace(known, gone=True, reading=replace(known.reading, recent=()))

    def follow_stream(self, stream: WatchedStream) -> None:
        """Count the scans that a stream has now. Whoever changes it may call this: the last to come counts what the
        last has left."""
        with self._changed:
            self.follow(stream.scans)

    def _follow_scan(self, key: str, scan: WatchedScan) -> None:
        if known := self._scans.get(key):  # its queries may have changed, its triggers are counted already
            labels = {**known.labels, **scan.labels}  # a trigger from before may be told late
            reading = replace(known.reading, active=True)
            self._scans[key] = replace(known, labels=labels, reading=reading, gone=False)
            return
        self._scans[key] = FollowedScan(scan.labels, ScanMetrics(scan.name, True, sum_triggers((), scan.queries)))
        active = scan.query.isActive  # asked first: a query that has ended makes no further trigger
        for progress in scan.query.recentProgress:
            self.take(json.loads(progress.json))
        if not active:
            self.end(key)

    def take(self, progress: Mapping[str, Any]) -> None:
        """Count a trigger, unless it is of another stream or counted already."""
        with self._changed:
            key, now = str(progress.get("id")), self._clock()
            followed, mark = self._scans.get(key), trigger_order(progress)
            if followed is None or mark <= followed.newest:
                return
            figures = trigger_metrics(followed.reading.scan, progress, followed.labels, now, followed.reading.last)
            self._scans[key] = replace(followed, reading=add_trigger(followed.reading, figures, now), newest=mark)
            if self._observe:  # within the lock, so that observers see the triggers of a scan in their order
                self._observe(figures)

    def end(self, key: str) -> None:
        """Note that a query has ended."""
        with self._changed:
            if followed := self._scans.get(key):
                self._scans[key] = replace(followed, reading=replace(followed.reading, active=False))
            self._changed.notify_all()

    def readings(self) -> tuple[ScanMetrics, ...]:
        """What is known of every scan now."""
        with self._changed:
            return tuple(followed.reading for followed in self._scans.values() if not followed.gone)

    def totals(self) -> Totals:
        """What all scans have in sum, those that are gone too: no count falls when a query moves to another scan."""
        with self._changed:
            return sum_totals(followed.reading for followed in self._scans.values())

    def settle(self, timeout: float = PATIENCE) -> bool:
        """Wait until Spark has told of the end of every scan, which comes after all of its triggers."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(one.active for one in self.readings()), timeout)

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


def add_trigger(reading: ScanMetrics, figures: TriggerMetrics, now: datetime) -> ScanMetrics:
    """The reading after one more trigger."""
    kept = (*last_minute(reading.recent, now), figures)
    # A scan that failed may have been started again.
    return replace(reading, active=True, totals=reading.totals + sum_triggers((figures,)), last=figures, recent=kept)


def trigger_order(progress: Mapping[str, Any]) -> tuple[str, int]:
    """What orders the triggers of a query: when each began, and its batch."""
    batch = progress.get("batchId")
    return str(progress.get("timestamp") or ""), batch if isinstance(batch, int) else -1


@contextmanager
def listen_to(spark: SparkSession, meter: MetricsListener, scans: Iterable[WatchedScan]) -> Iterator[MetricsListener]:
    """Lets Spark tell the meter of a running stream's triggers, until the body is done."""
    spark.streams.addListener(meter)
    try:
        meter.follow(scans)  # only now: what happens in between is told twice and counted once, none is missed
        yield meter
    finally:
        spark.streams.removeListener(meter)
