"""What monitoring is told of a runner of schedules: how old answers are, which are late, and how busy it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from weft.runner.reading import SECOND, QueryReading, RunnerReading, moment_text
from weft.server.prometheus import Metric, Sample, Samples


def of_runner(value: Callable[[RunnerReading], float | None]) -> Samples:
    """A sample of the runner as a whole, if it has a value."""
    def samples(reading: RunnerReading, now: datetime) -> Iterator[Sample]:
        found = value(reading)
        if found is not None:
            yield {"policy": reading.policy}, found

    return samples


def of_queries(value: Callable[[QueryReading, int], float | None]) -> Samples:
    """A sample of each query that has a value."""
    def samples(reading: RunnerReading, now: datetime) -> Iterator[Sample]:
        for one in reading.queries:
            found = value(one, reading.now)
            if found is not None:
                yield {"query": one.query}, found

    return samples


METRICS = (
    Metric("weft_schedule_up", "gauge", "Whether the runner runs: 1 or 0.", of_runner(lambda r: float(r.active))),
    Metric("weft_schedule_runs_total", "counter", "Runs since the runner started.", of_runner(lambda r: r.runs)),
    Metric("weft_schedule_failed_runs_total", "counter", "Runs since the runner started in which a query failed.",
           of_runner(lambda r: r.failed_runs)),
    Metric("weft_schedule_run_seconds", "gauge", "Seconds that the last run took.",
           of_runner(lambda r: r.recent[-1].seconds if r.recent else None)),
    Metric("weft_schedule_utilisation", "gauge", "The part of the last ten minutes in which something ran.",
           of_runner(lambda r: r.utilisation)),
    Metric("weft_schedule_planned_utilisation", "gauge", "The part of the time in which something should run.",
           of_runner(lambda r: r.planned)),
    Metric("weft_answer_age_seconds", "gauge", "Seconds since the run started that the query's answers are of.",
           of_queries(lambda one, now: one.age(now))),
    Metric("weft_answer_late_seconds", "gauge", "Seconds by which the query's answers are older than its bound.",
           of_queries(lambda one, now: one.lateness(now))),
    Metric("weft_query_bound_seconds", "gauge", "The longest time between two answers of the query.",
           of_queries(lambda one, now: one.bound / SECOND)),
    Metric("weft_query_runs_total", "counter", "Runs of the query since the runner started.",
           of_queries(lambda one, now: one.runs)),
    Metric("weft_query_late_runs_total", "counter", "Runs of the query that started after its bound had run out.",
           of_queries(lambda one, now: one.late_runs)),
    Metric("weft_query_failures_total", "counter", "Runs since the runner started in which the query failed.",
           of_queries(lambda one, now: one.failed_runs)),
)


def health(reading: RunnerReading, now: datetime) -> dict[str, Any]:
    """Whether the runner runs, and how each query is."""
    return {"ok": reading.active, "policy": reading.policy, "runs": reading.runs,
            "queries": [query_health(one, reading.now) for one in reading.queries]}


def query_health(one: QueryReading, now: int) -> dict[str, Any]:
    """How old one query's answers are, and when it runs next."""
    return {"query": one.query, "age_seconds": one.age(now), "late_seconds": one.lateness(now),
            "failures": one.failures, "due": moment_text(one.due)}
