"""Figures in Prometheus's text format, and those of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric as PrometheusMetric
from prometheus_client.registry import Collector

from weft.spark.stream.progress import ScanMetrics, Totals, TriggerMetrics, sum_totals, trigger_load, watermark_lag

Sample = tuple[dict[str, str], float]
Samples = Callable[[Any, datetime], Iterable[Sample]]


@dataclass(frozen=True)
class Metric:
    """A metric: its name, its type, what it says, and how its samples are read."""

    name: str
    kind: str
    help: str
    samples: Samples


def of_totals(name: str) -> Samples:
    """Samples of a sum, one a scan."""
    return lambda readings, now: [(scan(one), getattr(one.totals, name)) for one in readings]


def of_last(value: Callable[[TriggerMetrics, datetime], float | None]) -> Samples:
    """Samples of the last trigger, one a scan that has a value."""
    def samples(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
        for one in readings:
            found = value(one.last, now) if one.last else None
            if found is not None:
                yield scan(one), found

    return samples


def answers(totals: Totals, now: datetime) -> Iterator[Sample]:
    """The answers of every query."""
    yield from (({"query": query}, count) for query, count in totals.answers.items())


def answers_of_scans(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """The answers of every query, of which some were given by one scan and some by another."""
    return answers(sum_totals(readings), now)


def up(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """Whether each scan runs."""
    yield from ((scan(one), float(one.active)) for one in readings)


def source_watermarks(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """The watermark of every stream that a scan joins."""
    for one in readings:
        for source, watermark in one.last.watermarks.items() if one.last else ():
            yield {**scan(one), "source": source}, watermark.timestamp()


def join_rows(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """The rows that joins hold, of scans that have any."""
    yield from ((scan(one), one.last.join_rows) for one in readings if one.last and one.last.watermarks)


def shortest_trigger(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """The shortest trigger of each scan that recent ones show to be sustainable."""
    for one in readings:
        load = trigger_load(one.recent)
        if load is not None and isfinite(load.shortest):
            yield scan(one), load.shortest


def scan(reading: ScanMetrics) -> dict[str, str]:
    """The label of a scan."""
    return {"scan": reading.scan}


ANSWERS = Metric("weft_answers_total", "counter", "Answers that the query has got since the process started.", answers)
# Of the scans of a stream; and, by the totals of a stream whose scans come and go, of its queries.
SCAN_METRICS = (
    Metric("weft_up", "gauge", "Whether the scan runs: 1 or 0.", up),
    Metric("weft_rows_total", "counter", "Rows that the scan has read since the process started.",
           of_totals("rows")),
    Metric("weft_late_rows_total", "counter", "What Spark dropped because it came after the watermark.",
           of_totals("late")),
    Metric("weft_shed_rows_total", "counter", "Rows that a drop box dropped for queries that accept an error.",
           of_totals("shed")),
    Metric("weft_dead_letters_total", "counter", "Rows that could not be used and are dead letters.",
           of_totals("dead")),
    Metric("weft_watermark_seconds", "gauge", "The watermark in event time, in seconds since 1970.",
           of_last(lambda f, now: f.watermark.timestamp() if f.watermark else None)),
    Metric("weft_lag_seconds", "gauge", "Seconds by which the watermark is behind the clock now.",
           of_last(lambda f, now: watermark_lag(f.watermark, now))),
    Metric("weft_source_watermark_seconds", "gauge", "The watermark of a stream that the scan joins: the least of them "
           "counts.", source_watermarks),
    Metric("weft_join_rows", "gauge", "Rows that the scan's joins hold after the last trigger.", join_rows),
    Metric("weft_trigger_seconds", "gauge", "Seconds that the last trigger took.",
           of_last(lambda f, now: f.trigger_seconds)),
    Metric("weft_shortest_trigger_seconds", "gauge", "The shortest trigger that can be sustained, by recent triggers.",
           shortest_trigger),
    Metric("weft_state_rows", "gauge", "Rows in the scan's state after the last trigger.",
           of_last(lambda f, now: f.state_rows)),
    Metric("weft_state_bytes", "gauge", "Bytes of memory that the scan's state takes after the last trigger.",
           of_last(lambda f, now: f.state_bytes)),
)
QUERY_METRICS = (ANSWERS,)
# Of a stream whose scans stay.
METRICS = (*SCAN_METRICS, replace(ANSWERS, samples=answers_of_scans))


class Readings(Collector):
    """What is read at one moment, as Prometheus's client wants it."""

    def __init__(self, readings: Any, now: datetime, metrics: Sequence[Metric]):
        self._readings, self._now, self._metrics = readings, now, metrics

    def collect(self) -> Iterator[PrometheusMetric]:
        """Every metric with its samples."""
        for metric in self._metrics:
            family = PrometheusMetric(metric.name.removesuffix("_total"), metric.help, metric.kind)
            for labels, value in metric.samples(self._readings, self._now):
                family.add_sample(metric.name, labels, value)
            yield family


def render(readings: Any, now: datetime, metrics: Sequence[Metric] = METRICS) -> bytes:
    """Every metric of what is read with its help, its type and its samples."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Readings(readings, now, metrics))
    return generate_latest(registry)
