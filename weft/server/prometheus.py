"""Figures in Prometheus's text format, and those of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any

from weft.spark.stream.progress import ScanMetrics, TriggerMetrics, trigger_load, watermark_lag

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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


def answers(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """The answers of every query."""
    for one in readings:
        yield from (({"query": query}, count) for query, count in one.totals.answers.items())


def up(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """Whether each scan runs."""
    yield from ((scan(one), float(one.active)) for one in readings)


def shortest_trigger(readings: Sequence[ScanMetrics], now: datetime) -> Iterator[Sample]:
    """The shortest trigger of each scan that recent ones show to be sustainable."""
    for one in readings:
        load = trigger_load(one.recent)
        if load is not None and isfinite(load.shortest):
            yield scan(one), load.shortest


def scan(reading: ScanMetrics) -> dict[str, str]:
    """The label of a scan."""
    return {"scan": reading.scan}


METRICS = (
    Metric("weft_up", "gauge", "Whether the scan runs: 1 or 0.", up),
    Metric("weft_rows_total", "counter", "Rows that the scan has read since the process started.",
           of_totals("rows")),
    Metric("weft_answers_total", "counter", "Answers that the query has got since the process started.", answers),
    Metric("weft_late_rows_total", "counter", "What Spark dropped because it came after the watermark.",
           of_totals("late")),
    Metric("weft_dead_letters_total", "counter", "Rows that could not be used and are dead letters.",
           of_totals("dead")),
    Metric("weft_watermark_seconds", "gauge", "The watermark in event time, in seconds since 1970.",
           of_last(lambda f, now: f.watermark.timestamp() if f.watermark else None)),
    Metric("weft_lag_seconds", "gauge", "Seconds by which the watermark is behind the clock now.",
           of_last(lambda f, now: watermark_lag(f.watermark, now))),
    Metric("weft_trigger_seconds", "gauge", "Seconds that the last trigger took.",
           of_last(lambda f, now: f.trigger_seconds)),
    Metric("weft_shortest_trigger_seconds", "gauge", "The shortest trigger that can be sustained, by recent triggers.",
           shortest_trigger),
    Metric("weft_state_rows", "gauge", "Rows in the scan's state after the last trigger.",
           of_last(lambda f, now: f.state_rows)),
    Metric("weft_state_bytes", "gauge", "Bytes of memory that the scan's state takes after the last trigger.",
           of_last(lambda f, now: f.state_bytes)),
)


def render(readings: Any, now: datetime, metrics: Sequence[Metric] = METRICS) -> str:
    """Every metric of what is read with its help, its type and its samples."""
    return "".join(f"{line}\n" for metric in metrics for line in lines(metric, readings, now))


def lines(metric: Metric, readings: Any, now: datetime) -> Iterator[str]:
    """The lines of one metric."""
    yield f"# HELP {metric.name} {escaped_help(metric.help)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in metric.samples(readings, now):
        marks = ",".join(f'{name}="{escaped(text)}"' for name, text in labels.items())
        yield f"{metric.name}{{{marks}}} {shown(value)}"


def escaped(text: str) -> str:
    """A label's value as the format wants it."""
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def escaped_help(text: str) -> str:
    """A help text as the format wants it: quotes stand as they are."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def shown(value: float) -> str:
    """A number without a needless point."""
    return str(int(value)) if value == int(value) else repr(float(value))
