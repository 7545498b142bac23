"""Figures and totals from what Spark reports, whatever is missing of it; no Spark is started here."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from weft.spark.stream.metrics import MetricsListener, listen_to
from weft.spark.stream.progress import (
    KEYS,
    Totals,
    TriggerMetrics,
    current_rates,
    last_minute,
    sum_triggers,
    trigger_metrics,
)

NOW = datetime(2024, 5, 1, 12, 10, tzinfo=UTC)
LABELS = {"t": (("vwap", "vwap_again"), ("high",))}
PROGRESS: dict[str, Any] = {
    "id": "q0",
    "timestamp": "2024-05-01T12:09:58.000Z",
    "batchId": 7,
    "numInputRows": 2000,
    "processedRowsPerSecond": 500.0,
    "durationMs": {"addBatch": 1500, "triggerExecution": 2000},
    "eventTime": {"watermark": "2024-05-01T12:00:00.000Z", "max": "2024-05-01T12:09:00.000Z"},
    "stateOperators": [
        {"numRowsTotal": 10, "memoryUsedBytes": 1000, "numRowsDroppedByWatermark": 3, "customMetrics": {}},
        {"numRowsTotal": 5, "memoryUsedBytes": 24},
    ],
    "observedMetrics": {"weft": {"dead": 2, "rows": 1000}, "answers": {"counts": ["t 30,0", "t 10", "unknown 9*2"]}},
}


def trigger(number: int, **changes: Any) -> dict[str, Any]:
    began = datetime(2024, 5, 1, 12, 0, tzinfo=UTC) + timedelta(seconds=number)
    return {**PROGRESS, "batchId": number, "timestamp": began.isoformat(timespec="milliseconds"), **changes}


def test_a_whole_report() -> None:
    found = trigger_metrics("scan-0", PROGRESS, LABELS, NOW)
    assert found == TriggerMetrics(
        scan="scan-0", at=datetime(2024, 5, 1, 12, 9, 58, tzinfo=UTC), batch=7, rows=1000, rows_per_second=500.0,
        answers={"vwap": 40, "vwap_again": 40}, answers_per_second=40.0,
        watermark=datetime(2024, 5, 1, 12, tzinfo=UTC), lag_seconds=600.0, trigger_seconds=2.0, state_rows=15,
        state_bytes=1024, late=3, dead=2,
    )


@pytest.mark.parametrize("missing", sorted(PROGRESS))
def test_whatever_is_missing(missing: str) -> None:
    for progress in ({k: v for k, v in PROGRESS.items() if k != missing}, {**PROGRESS, missing: None}):
        found = trigger_metrics("scan-0", progress, LABELS, NOW)
        assert tuple(found.to_dict()) == KEYS and json.dumps(found.to_dict(), allow_nan=False)


def test_nothing_at_all_and_nonsense() -> None:
    assert trigger_metrics("s", {}, {}, NOW) == TriggerMetrics("s", NOW)
    nonsense = {"numInputRows": float("nan"), "batchId": 0, "durationMs": {"triggerExecution": "x"}, "timestamp": "?",
                "stateOperators": [None, {"numRowsTotal": -1}], "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert trigger_metrics("s", nonsense, {}, NOW) == TriggerMetrics("s", NOW, batch=0)


def test_rows_are_sparks_where_weft_observed_none() -> None:
    assert trigger_metrics("s", {**PROGRESS, "observedMetrics": {}}, LABELS, NOW).rows == 2000


def test_a_query_of_several_labels_gets_their_sum() -> None:
    progress = {"observedMetrics": {"answers": {"counts": ["x 1,2"]}}}
    assert trigger_metrics("s", progress, {"x": (("q",), ("q", "r"))}, NOW).answers == {"q": 3, "r": 2}


def test_machines_get_times_in_utc() -> None:
    data = trigger_metrics("scan-0", PROGRESS, LABELS, NOW).to_dict()
    assert (data["at"], data["watermark"]) == ("2024-05-01T12:09:58.000Z", "2024-05-01T12:00:00.000Z")
    assert data["answers"] == {"vwap": 40, "vwap_again": 40}


def test_totals_keep_a_place_for_every_query() -> None:
    one = trigger_metrics("s", PROGRESS, LABELS, NOW)
    sums = sum_triggers((), ("vwap", "vwap_again", "high")) + sum_triggers((one, one))
    assert sums == Totals(2, 2000, {"vwap": 80, "vwap_again": 80, "high": 0}, 6, 4)


def test_the_pace_falls_while_nothing_happens() -> None:
    one = TriggerMetrics("s", NOW - timedelta(seconds=10), rows=1000, answers={"q": 20}, trigger_seconds=1.0)
    assert (current_rates((one,), NOW).rows, current_rates((one,), NOW).answers) == (100.0, {"q": 2.0})
    assert current_rates((one,), NOW + timedelta(seconds=10)).rows == 50.0
    assert current_rates((one,), NOW + timedelta(seconds=60)).rows == 0.0
    assert last_minute((one,), NOW + timedelta(seconds=60)) == ()


def scan(*triggers: dict[str, Any], active: bool = True, id: str = "q0") -> Any:
    done = [SimpleNamespace(json=json.dumps(one)) for one in triggers]
    query = SimpleNamespace(id=id, isActive=active, recentProgress=done)
    name = id.replace("q", "scan-")
    return SimpleNamespace(name=name, queries=("vwap", "vwap_again", "high"), labels=LABELS, query=query)


def test_a_meter_counts_every_trigger_once() -> None:
    seen: list[TriggerMetrics] = []
    meter = MetricsListener(seen.append)
    meter.take(trigger(0))  # told before the meter knows the scan
    meter.follow([scan(trigger(0), trigger(1))])
    meter.take(trigger(1))  # told once more
    meter.take(trigger(2))
    meter.take({**trigger(3), "id": "another"})
    (reading,) = meter.readings()
    assert (reading.totals.triggers, reading.totals.rows, reading.totals.answers["vwap"]) == (3, 3000, 120)
    assert reading.totals.answers["high"] == 0 and reading.last and reading.last.batch == 2
    assert [one.batch for one in seen] == [0, 1, 2]


def test_a_trigger_that_is_told_after_its_query_was_dropped_counts() -> None:
    meter, changed = MetricsListener(), scan()
    meter.follow([scan()])
    changed.labels = {"another": (("new",),)}
    meter.follow([changed])
    meter.take(trigger(0))
    assert meter.readings()[0].totals.answers["vwap"] == 40


def test_a_scan_that_is_gone_is_forgotten_but_for_its_sums() -> None:
    meter = MetricsListener()
    meter.follow([scan(trigger(0)), scan(id="q1")])
    meter.end("q0")
    meter.follow_stream(SimpleNamespace(scans=[scan(id="q1")]))
    meter.take(trigger(1))  # of the one that is gone, told late
    meter.take({**trigger(1), "id": "q1"})
    assert [(one.scan, one.active) for one in meter.readings()] == [("scan-1", True)]
    assert meter.totals() == Totals(3, 3000, {"vwap": 120, "vwap_again": 120, "high": 0}, 9, 6)
    meter.end("q1")
    assert meter.settle(0.01)  # nobody waits for the other


def test_a_scan_that_was_started_again_is_the_same() -> None:
    meter = MetricsListener()
    meter.follow([scan(trigger(0))])
    meter.end("q0")  # it failed
    meter.follow([scan(trigger(0), trigger(1))])
    meter.take(trigger(1))
    (reading,) = meter.readings()
    assert reading.active and meter.totals() == reading.totals and reading.totals.triggers == 2


def test_a_meter_keeps_a_minute() -> None:
    clock = iter(datetime(2024, 5, 1, 12, *after, tzinfo=UTC) for after in ((0, 2), (0, 3), (1, 31)))
    meter = MetricsListener(clock=lambda: next(clock))
    meter.follow([scan()])
    for number in (0, 1):
        meter.take(trigger(number))
    assert len(meter.readings()[0].recent) == 2
    meter.take(trigger(90))
    (reading,) = meter.readings()
    assert [one.batch for one in reading.recent] == [90] and reading.totals.triggers == 3


def test_a_meter_waits_for_the_end() -> None:
    meter = MetricsListener()
    meter.follow([scan()])
    assert not meter.settle(0.01)
    meter.onQueryTerminated(SimpleNamespace(id="q0"))  # type: ignore[arg-type]
    assert meter.settle(0.01) and not meter.readings()[0].active


def test_a_query_that_ended_before_is_not_waited_for() -> None:
    meter = MetricsListener()
    meter.follow([scan(trigger(0), active=False)])
    assert meter.settle(0.01) and meter.readings()[0].totals.triggers == 1


def test_the_listener_is_removed_at_the_end() -> None:
    listeners: list[MetricsListener] = []
    streams = SimpleNamespace(addListener=listeners.append, removeListener=listeners.remove)
    with pytest.raises(ValueError), listen_to(SimpleNamespace(streams=streams), MetricsListener(),
                                              [scan()]) as meter:  # type: ignore[arg-type]
        assert listeners == [meter]
        raise ValueError
    assert not listeners


def test_a_join_tells_each_sources_watermark_and_the_rows_it_holds() -> None:
    """A source that brings nothing stays where it was and holds the others back."""
    def told(latest: int | None) -> dict[str, Any]:
        return {**PROGRESS, "stateOperators": [{"operatorName": "symmetricHashJoin", "numRowsTotal": 8}, {}],
                "observedMetrics": {"weft source a": {"latest": latest, "delay": 5000}, "answers": {}}}

    before = TriggerMetrics("s", NOW, watermarks={"b": datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)})
    first = trigger_metrics("s", told(20_000), {}, NOW, before)
    assert (first.join_rows, first.slowest) == (8, "b")
    assert first.watermarks["a"] == datetime(1970, 1, 1, 0, 0, 15, tzinfo=UTC)
    assert trigger_metrics("s", told(None), {}, NOW, first).watermarks == first.watermarks
    assert trigger_metrics("s", told(1), {}, NOW, first).watermarks == first.watermarks
    assert first.to_dict()["watermarks"] == {"a": "1970-01-01T00:00:15.000Z", "b": "1970-01-01T00:00:09.000Z"}


def held_rows(batch: int, added: int, removed: int, before: TriggerMetrics | None = None) -> TriggerMetrics:
    """The figures of a trigger whose join Spark does not count the rows of."""
    operator = {"operatorName": "symmetricHashJoin", "numRowsTotal": 0, "numRowsUpdated": added,
                "numRowsRemoved": removed}
    return trigger_metrics("s", {"batchId": batch, "stateOperators": [operator, {"numRowsTotal": 3}]}, {}, NOW, before)


def test_rows_that_a_join_holds_are_counted_by_what_triggers_add_and_remove() -> None:
    first = held_rows(0, 10, 0)
    second = held_rows(1, 5, 8, first)
    assert [(one.join_rows, one.join_rows_at_least) for one in (first, second)] == [(10, False), (7, False)]
    assert second.state_rows == 10  # those of others beside
    assert not trigger_metrics("s", {"batchId": 7}, {}, NOW).join_rows_at_least


def test_a_join_that_goes_on_from_a_checkpoint_holds_at_least_what_came_since() -> None:
    first = held_rows(7, 10, 30)
    second = held_rows(8, 4, 1, first)
    assert [(one.join_rows, one.join_rows_at_least) for one in (first, second)] == [(0, True), (3, True)]
