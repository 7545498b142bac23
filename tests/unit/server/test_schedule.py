"""What monitoring is told of a runner."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from urllib.request import urlopen

from weft.runner.reading import SECOND, QueryReading, RunnerReading, ScheduledRun
from weft.server.endpoint import serving
from weft.server.prometheus import render
from weft.server.schedule import METRICS, health

NOW = 1_700_000_000 * SECOND
WHEN = datetime(2024, 5, 1, tzinfo=UTC)
RUN = ScheduledRun(NOW - 20 * SECOND, NOW - 15 * SECOND, 5.0, ("vwap",), {"bad": "no"}, {"vwap": 2.5}, 3, NOW,
                   ("vwap",))
READING = RunnerReading("hybrid", NOW - 50 * SECOND, NOW, True, (
    QueryReading("vwap", 10 * SECOND, NOW - 20 * SECOND, NOW, 0, 4, 0, 1),
    QueryReading("bad", 60 * SECOND, None, NOW, 2, 2, 2)), 6, 2, (RUN,), 0.25)


def samples(text: str) -> dict[str, float]:
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def test_every_metric_is_there() -> None:
    text = render(READING, WHEN, METRICS).decode()
    found = samples(text)
    assert found == {
        'weft_schedule_up{policy="hybrid"}': 1, 'weft_schedule_runs_total{policy="hybrid"}': 6,
        'weft_schedule_failed_runs_total{policy="hybrid"}': 2, 'weft_schedule_run_seconds{policy="hybrid"}': 5,
        'weft_schedule_utilisation{policy="hybrid"}': 0.1, 'weft_schedule_planned_utilisation{policy="hybrid"}': 0.25,
        'weft_answer_age_seconds{query="vwap"}': 20, 'weft_answer_late_seconds{query="vwap"}': 10,
        'weft_answer_late_seconds{query="bad"}': 0, 'weft_query_bound_seconds{query="vwap"}': 10,
        'weft_query_bound_seconds{query="bad"}': 60, 'weft_query_runs_total{query="vwap"}': 4,
        'weft_query_runs_total{query="bad"}': 2, 'weft_query_late_runs_total{query="vwap"}': 1,
        'weft_query_late_runs_total{query="bad"}': 0, 'weft_query_failures_total{query="vwap"}': 0,
        'weft_query_failures_total{query="bad"}': 2,
    }
    assert all(f"# TYPE {metric.name} {metric.kind}\n" in text for metric in METRICS)


def test_health() -> None:
    with serving(0, lambda: READING, metrics=METRICS, healthy=health) as address, urlopen(f"{address}/health") as reply:
        found = json.loads(reply.read())
    assert found["ok"] and found["runs"] == 6
    assert found["queries"][0] == {"query": "vwap", "age_seconds": 20.0, "late_seconds": 10.0, "failures": 0,
                                   "due": "2023-11-14T22:13:20.000Z"}
