"""The controller of a stream at work: loads of triggers, decisions that restart, and what goes on without one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException, PySparkException

from weft.errors import SourceError
from weft.io.drop_boxes import DropBox, Step, by_time, drop_box, sampled_sql, weight_sql
from weft.optimize.shed.controller import ControllerPolicy, Decision, Reading
from weft.optimize.shed.load import ScanLoad, SheddableQuery, StreamLoad, StreamSettings
from weft.spark.stream.shed_control import (
    Looked,
    SeenTrigger,
    ShedControl,
    arrival_rate,
    measure_load,
    more_rows,
    share_at,
)

POLICY = ControllerPolicy(act_after=20, dwell=2, recover_after=40)


def seen(rows, seconds, share=1.0, every=10.0):
    return [SeenTrigger(i * every, i * every + s, s, r, r * share)
            for i, (r, s) in enumerate(zip(rows, seconds, strict=True))]


def test_shares_hold_from_a_moment_on():
    steps = (Step(0, 1.0), Step(5_000, 0.5), Step(9_000, 0.25))
    assert [share_at(steps, at) for at in (0, 4.999, 5, 8.9, 9, 100)] == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    assert DropBox(steps).share == 0.25 and drop_box(0.3).steps == (Step(0, 0.3),)
    assert by_time(steps[:1], sampled_sql) == "false"
    assert by_time(steps[:2], sampled_sql) == (
        "CASE WHEN current_timestamp() >= timestamp_millis(5000L) THEN true ELSE false END")


@pytest.mark.parametrize(("share", "sql"), [
    (1.0, "1L"),
    (0.5, "CASE WHEN __weft_row < 0L THEN 2L ELSE 0L END"),
    (0.75, "CASE WHEN __weft_row < 0L THEN 1L WHEN __weft_row < 4611686018427387904L THEN 2L ELSE 0L END"),
])
def test_weights_by_hash(share, sql):
    assert weight_sql(share) == sql


def test_a_line_through_triggers_tells_their_load():
    rows = [1000, 3000, 2000, 5000, 4000]
    load = measure_load("t", seen(rows, [1 + r / 1000 for r in rows]))
    assert load.fixed == pytest.approx(1.0)
    (scan,) = load.scans
    assert scan.rate == pytest.approx(9000 / 20) and scan.seconds + scan.read == pytest.approx(0.001)
    half = measure_load("t", seen(rows, [1 + r * (0.1 + 0.45) / 1000 for r in rows], share=0.5))
    assert half.scans[0].seconds == pytest.approx(0.0009) and half.scans[0].read == pytest.approx(0.0001)
    assert measure_load("t", seen([5, 5], [1, 1])) is None
    even = measure_load("t", seen([1000] * 5, [2.0] * 5))
    assert even.fixed == 1.0 and even.scans[0].seconds == pytest.approx(0.0009)


def test_of_a_trigger_that_does_not_keep_up_it_alone_tells_how_many_rows_come():
    """A calm second brings 100 rows, then 400: what was read in five seconds came in five seconds. The first trigger
    after a start brings rows like any other, and its seconds tell nothing."""
    calm = [SeenTrigger(at, at + 1, 1.0, 300, 300) for at in (0.0, 3.0, 6.0)]
    assert arrival_rate(calm) == pytest.approx(100)
    assert arrival_rate([*calm[1:], SeenTrigger(11.0, 20.0, 9.0, 2000, 2000)]) == pytest.approx(400)
    slow = SeenTrigger(9.0, 29.0, 20.0, 300, 300, first=True)
    load = measure_load("t", [*calm, slow, SeenTrigger(29.0, 31.0, 2.0, 2000, 2000)])
    assert load.fixed <= 1.0 and load.scans[0].rate == pytest.approx(2300 / 23)


class FakeScan:
    """A scan whose triggers the test makes."""

    def __init__(self):
        self.name = "scan-0"
        self.query = SimpleNamespace(lastProgress=None, recentProgress=[], status={"isTriggerActive": True})
        self.batch = 0

    def trigger(self, at: float, rows: int, seconds: float) -> None:
        self.batch += 1
        told = {"batchId": self.batch, "timestamp": datetime.fromtimestamp(at, UTC).isoformat(), "numInputRows": rows,
                "durationMs": {"triggerExecution": seconds * 1000, "commitOffsets": 20}}
        self.tell(told)

    def tell(self, told: dict) -> None:
        self.query.lastProgress = SimpleNamespace(json=json.dumps(told))
        self.query.recentProgress.append(self.query.lastProgress)


class FakeStream:
    """A stream that is started again at once."""

    def __init__(self):
        self.scans, self.decisions, self.ending, self.down = (FakeScan(),), [], False, False

    isActive = property(lambda self: not self.down)

    def restart(self, start) -> bool:
        if not self.down:
            start()
        return not self.down


def control(queries, trigger=10.0, steps=None):
    stream, done = FakeStream(), []
    made = ShedControl(stream, steps or {"t": (Step(0, 1.0),)}, trigger, {"scan-0": "t"}, lambda newest: queries,
                       lambda now, seconds, decision: done.append((dict(now), seconds, decision)), POLICY)
    return made, stream.scans[0], done


def feed(made, scan, rates, trigger=10.0, fixed=1.0, row=0.001, start=0.0):
    """Triggers of so many rows a second, which take as long as their kept rows do."""
    at = start
    for rate in rates:
        rows = int(rate * trigger)
        scan.trigger(at, rows, fixed + rows * share_at(made.steps["t"], at) * row)
        made.take(scan)
        at += trigger
    return at


def test_rows_are_dropped_when_too_many_come_and_not_before():
    query = SheddableQuery("q", "t", rows=1e6, bound=0.02)
    made, scan, done = control([query])
    at = feed(made, scan, [300, 310, 290, 305, 300, 310])
    assert not done
    feed(made, scan, [1500, 1600, 1550, 1500, 1600], start=at)
    assert len(done) == 1 and [d.kind for d in made.stream.decisions] == ["shed"]
    now, seconds, decision = done[0]
    assert seconds == 10.0 and 0.2 < now["t"][-1].share < 0.6 and now["t"][0] == Step(0, 1.0)
    assert "t keeps" in decision.reason and "Utilisation was above 85 %" in decision.reason


def test_a_decision_while_a_scan_is_down_is_made_again():
    made, scan, done = control([SheddableQuery("q", "t", rows=1e6, bound=0.02)])
    at = feed(made, scan, [300, 310, 290, 305, 300, 310])
    made.stream.down = True
    at = feed(made, scan, [1500, 1600, 1550, 1500, 1600], start=at)
    assert not done and not made.stream.decisions and not made.state.settings.shares
    made.stream.down = False
    feed(made, scan, [1550], start=at)
    assert [d.kind for d in made.stream.decisions] == ["shed"] and done[0][0]["t"][-1].share < 0.6


def test_what_was_not_known_yet_is_looked_up_again(monkeypatch):
    """No window was over at first; what all is known of is left alone until it matters and is old."""
    monkeypatch.setattr("weft.spark.stream.shed_control.UNKNOWN_FOR", -1.0)
    found = [[SheddableQuery("q", "t", rows=1)], [SheddableQuery("q", "t", rows=1e6, bound=0.02)]]
    asked = []
    made, scan, done = control(())
    made._look = lambda newest: asked.append(newest) or found[min(len(asked), 2) - 1]
    at = feed(made, scan, [300, 310, 290, 305, 300, 310])
    assert len(asked) == 2
    feed(made, scan, [1500, 1600, 1550, 1500, 1600], start=at)
    assert len(asked) == 2 and len(done) == 1


def test_what_is_never_known_is_looked_up_less_and_less_often(monkeypatch):
    asked, clock = [], [0.0]
    monkeypatch.setattr("weft.spark.stream.shed_control.monotonic", lambda: clock[0])
    made, _, _ = control(())
    made._look = lambda newest: asked.append(clock[0]) or [SheddableQuery("q", "t", rows=1)]
    for second in range(300):
        clock[0] = float(second)
        made._queries(Reading(clock[0], 0.5, StreamLoad(0.0, ())))
    waits = [later - before for before, later in pairwise(asked)]
    assert waits == [4, 7, 13, 25, 49, 61, 61, 61]


@pytest.mark.parametrize("error", [AnalysisException("[DELTA] torn"), SourceError("other columns"), OSError("gone")])
def test_a_look_that_fails_is_tried_again_and_told_once(monkeypatch, caplog, error):
    """A file of the source was torn for a while: the stream goes on, and is controlled all the same."""
    asked, clock, good = [], [0.0], []

    def look(newest):
        asked.append(clock[0])
        if not good:
            raise error
        return good

    monkeypatch.setattr("weft.spark.stream.shed_control.monotonic", lambda: clock[0])
    made, _, _ = control(())
    made._look = look
    told = [made._queries(Reading(clock[0], 0.9, StreamLoad(0.0, ()))) for clock[0] in map(float, range(40))]
    assert told == [None] * 40 and [later - before for before, later in pairwise(asked)] == [3, 6, 12]
    assert len(caplog.records) == 1 and "is tried again" in caplog.text
    good.append(SheddableQuery("q", "t", rows=1e6, bound=0.02))
    clock[0] = 50.0
    assert made._queries(Reading(50.0, 0.9, StreamLoad(0.0, ()))) == tuple(good)
    found, clock[0] = good.pop(), 150.0  # what was known stays where a later look fails
    assert made._queries(Reading(150.0, 0.9, StreamLoad(0.0, ()))) == (found,) and asked[-1] == 150.0
    assert len(caplog.records) == 2


@pytest.mark.parametrize("down", [False, True])
def test_the_controller_ends_with_the_stream_and_not_with_an_error_of_spark(monkeypatch, down):
    made, _, _ = control(())
    made.stream.down, seen = down, []

    def take(scan):
        seen.append(scan)
        made.stream.ending = len(seen) == 3
        raise PySparkException("busy")

    monkeypatch.setattr("weft.spark.stream.shed_control.POLL", 0.0)
    made.take = take
    made._run()
    assert len(seen) == (1 if down else 3)


def test_a_trigger_that_runs_much_too_long_is_decided_on_before_the_next_one_begins(monkeypatch):
    """The stream is stopped while it runs; what it took then tells how much is kept of what waits."""
    made, scan, done = control([SheddableQuery("q", "t", rows=1e6, bound=0.02)])
    made.policy = ControllerPolicy(act_after=0, dwell=2, recover_after=40)
    at = feed(made, scan, [300, 310, 290, 305, 300, 310])

    def clock(seconds: float) -> None:
        monkeypatch.setattr("weft.spark.stream.shed_control.utc_now", lambda: datetime.fromtimestamp(seconds, UTC))

    clock(at + 19)
    assert not made.is_late(scan)
    clock(at + 21)
    assert made.is_late(scan)
    made.policy = POLICY  # a policy that waits for twenty seconds of this does nothing yet
    assert not made.is_late(scan)
    made.policy = ControllerPolicy(act_after=0, dwell=2, recover_after=40)
    scan.trigger(at, 20_000, 21.0)
    made.settle(None, made.state)
    (now, _, decision), = done
    assert decision.kind == "shed" and now["t"][-1].share < 0.25
    made.settle(None, made.state)  # nothing new was seen: it goes on as it was
    assert done[-1][2] is None and made.state.triggers == 0 and not made.is_late(scan)


def test_what_bounds_do_not_allow_is_told_and_not_done():
    made, scan, done = control([SheddableQuery("q", "t", rows=100, bound=0.02), SheddableQuery("x", "t", rows=1)])
    feed(made, scan, [1500 + 10 * i for i in range(12)])
    assert not done and {d.kind for d in made.stream.decisions} == {"overloaded"}
    assert "What has no error bound is not touched: x." in made.stream.decisions[0].reason
    assert "the lag grows" in made.stream.decisions[0].reason


def test_shares_of_the_checkpoint_are_gone_on_with_and_given_back():
    query = SheddableQuery("q", "t", rows=1e6, bound=0.02)
    made, scan, done = control([query], steps={"t": (Step(0, 1.0), Step(1, 0.25))})
    assert made.state.settings.share_of("t") == 0.25
    feed(made, scan, [200 + 10 * (i % 3) for i in range(12)])
    assert done and done[0][0]["t"][-1].share == pytest.approx(0.5) and done[0][2].kind == "recover"


def test_a_trigger_that_was_cut_short_tells_nothing_and_hides_none():
    """Spark tells of it when it stops: of a part of its rows, or of none, in a part of its time, and of no commit."""
    made, scan, _ = control([])
    scan.trigger(0.0, 1000, 2.0)
    made.read(scan)
    scan.trigger(10.0, 2000, 3.0)
    for rows in (10, 0):
        scan.tell({"batchId": 3, "timestamp": f"1970-01-01T00:00:2{rows % 9}Z", "numInputRows": rows,
                   "durationMs": {"triggerExecution": 100}})
    made.read(scan)
    assert [each.rows for each in made._seen["scan-0"]] == [1000, 2000, 0]
    assert made.read(scan) is None


@pytest.mark.parametrize(("done", "since"), [(0, 1), (59_000, 59_001), (None, 61_000)])
def test_another_share_holds_for_a_trigger_of_which_nothing_is_delivered(monkeypatch, done, since):
    made, scan, _ = control([SheddableQuery("q", "t", rows=1e6, bound=0.02)])
    monkeypatch.setattr("weft.spark.stream.shed_control.utc_now", lambda: datetime.fromtimestamp(61.0, UTC))
    made._last_done = lambda each: done if each is scan else None
    settings = StreamSettings(10.0, (("t", 0.5),))
    made._start(Decision(61.0, "shed", settings, 1.0, 0.7, "so"))
    assert made.steps["t"] == (Step(0, 1.0), Step(since, 0.5))


def test_more_rows_a_second_make_answers_of_more_rows_but_never_of_more_than_four_times_as_many():
    assert [more_rows(growth) for growth in (0.5, 1, 2, 4, 1e9)] == pytest.approx([0.5, 1, 2, 3, 4])
    for growth in (2, 3, 8, 50):
        parts = [i / 1000 for i in range(1, 1001)]
        worst = max(f * growth / (1 + f * (growth - 1)) ** 2 for f in parts)
        assert 1 / worst == pytest.approx(more_rows(growth), rel=1e-3)


def test_what_is_known_of_queries_is_scaled_to_what_comes_now():
    known = Looked(0.0, (SheddableQuery("q", "t", 100.0, 0.02), SheddableQuery("r", "u", 7.0, 0.02)), {"t": 10.0})
    now = Reading(1.0, 1.0, StreamLoad(0.0, (ScanLoad("t", 40.0, 1e-3),)))
    assert [query.rows for query in known.now(now)] == [300.0, 7.0]


def test_what_comes_while_the_stream_stops_is_measured_under_the_settings_that_it_ran_with():
    """More and more rows come: the decision is that of the last trigger, not of the one before."""
    made, scan, done = control([SheddableQuery("q", "t", rows=1e7, bound=0.02)])
    made.policy = ControllerPolicy(act_after=0, dwell=2, recover_after=40)
    at = feed(made, scan, [300, 310, 290, 305])

    def restart(start):
        scan.trigger(at + 10, 40_000, 1 + 40.0)  # 4,000 a second, which a millisecond each takes
        start()
        return True

    made.stream.restart = restart
    scan.trigger(at, 12_000, 1 + 12.0)
    made.take(scan)
    (share,) = [steps["t"][-1].share for steps, _, _ in done]
    assert 4_000 * 0.001 * share < 0.7
    assert made.state.settings.share_of("t") == share
