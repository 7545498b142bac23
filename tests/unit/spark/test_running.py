"""How a stream is stopped, and what is said of one that failed; no Spark is started here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from weft.errors import RunError, StreamWarning
from weft.spark.stream.failures import error_sentence
from weft.spark.stream.handle import RESTARTS, RunningScan, Stream, Unchanged

PLAN = "\n\n=== Streaming Query ===\nIdentifier: weft scan-0\nLogical Plan:\nSomeError: not this\n"
CASES = {
    "a sink in Python": (
        "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n"
        '  File "sinks.py", line 41, in take\n    raise converted from None\n'
        "pyspark.errors.exceptions.captured.ArithmeticException: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\n"
        "== SQL (line 1, position 5) ==\nsum(1 DIV x)\n",
        "[DIVIDE_BY_ZERO] Division by zero.",
    ),
    "causes of Java": (
        "[STREAM_FAILED] Query terminated: Job aborted. SQLSTATE: XXKST\n\tat org.apache.X.run(X.scala:1)\n"
        "Caused by: org.apache.spark.SparkException: Job aborted.\n\tat a.b(c)\n"
        "Caused by: java.io.FileNotFoundException: File a.json does not exist\n\tat a.b(c)\n",
        "File a.json does not exist.",
    ),
    "nothing but a line": ("[STREAM_FAILED] Query terminated.", "[STREAM_FAILED] Query terminated."),
    "nothing": ("", "Exception."),
}


@pytest.mark.parametrize("case", CASES)
def test_the_innermost_error_is_told(case: str) -> None:
    text, said = CASES[case]
    assert error_sentence(Exception(text + PLAN if text else text)) == said


class FakeQuery:
    """A Spark query that is in the middle of a trigger for so many looks; `busy` ones begin the next at once."""

    def __init__(self, looks: int, busy: bool = False):
        self.looks, self.busy, self.isActive, self.stopped_at = looks, busy, True, -1

    @property
    def status(self) -> dict[str, Any]:
        self.looks -= 1
        return {"isTriggerActive": self.busy or self.looks > 0}

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        return {"batchId": 1, "timestamp": "t"} if self.looks <= 0 else None

    def stop(self) -> None:
        self.isActive, self.stopped_at = False, self.looks


def stream_of(*queries: FakeQuery) -> Stream:
    plan: Any = SimpleNamespace()
    return Stream(plan, [RunningScan(f"scan-{i}", (), {}, query) for i,
                         query in enumerate(queries)])  # type: ignore[arg-type]


@pytest.mark.parametrize("busy", [False, True])
def test_every_scan_stops_when_its_trigger_has_ended(busy: bool) -> None:
    queries = [FakeQuery(3, busy), FakeQuery(1, busy), FakeQuery(6, busy)]
    stream_of(*queries).stop(float("inf"))
    assert [query.stopped_at for query in queries] == [0, 0, 0]


def test_patience_ends() -> None:
    query = FakeQuery(10**9)
    stream_of(query).stop(0.1)
    assert not query.isActive
    stream_of(query).stop()  # once more is nothing


BUSY = "[STREAM_FAILED] Ended.\nCaused by: org.apache.spark.SparkException: Python worker failed to connect back."


class FailingQuery:
    """A Spark query that fails with a text at once, or ends well without one; with or without a trigger before."""

    def __init__(self, text: str | None, progress: bool = False):
        self.text, self.isActive = text, False
        self.lastProgress = {"batchId": 1, "timestamp": "t"} if progress else None

    def exception(self) -> Exception | None:
        return Exception(self.text) if self.text else None

    def processAllAvailable(self) -> None:
        raise PySparkException(self.text)


def failing(monkeypatch: pytest.MonkeyPatch, *queries: FailingQuery) -> tuple[Stream, list[float]]:
    """A stream of one scan, each start of which is the next query, and how long it waited before each."""
    left, waits = list(queries), []  # type: list[FailingQuery], list[float]
    monkeypatch.setattr("weft.spark.stream.handle.time.sleep",
                        lambda s: waits.append(s) if s > 1 else None)  # not polls
    scan: Any = RunningScan("scan-0", (), {}, left.pop(0), lambda: left.pop(0))  # type: ignore[arg-type,return-value]
    return Stream(SimpleNamespace(), [scan]), waits  # type: ignore[arg-type]


def test_a_scan_for_which_the_machine_was_too_busy_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = FailingQuery(BUSY)
    stream, waits = failing(monkeypatch, busy, busy, FailingQuery(BUSY, progress=True), FailingQuery(None))
    with pytest.warns(StreamWarning, match=r"could not start a Python process .* scan-0 .*the machine is busy"):
        assert stream.awaitTermination()
    assert waits == [2.0, 4.0, 2.0]  # one that got on begins to count anew


def test_a_scan_is_not_started_again_for_ever_nor_after_other_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, waits = failing(monkeypatch, *[FailingQuery(BUSY)] * (RESTARTS + 1))
    with pytest.warns(StreamWarning), pytest.raises(RunError, match=r"connect back\. .*when the machine is less busy"):
        stream.awaitTermination()
    assert len(waits) == RESTARTS
    stream, waits = failing(monkeypatch, FailingQuery("Caused by: java.io.IOException: disk full"))
    with pytest.raises(RunError, match=r"disk full.*when the cause is mended"):
        stream.awaitTermination()
    assert waits == []


def busy_stream(monkeypatch: pytest.MonkeyPatch, meanwhile: Any) -> tuple[Stream, list[int]]:
    """A stream of two scans, for the second of which the machine was too busy; what happens while that is waited for,
    once, and the starts of the second."""
    started: list[int] = []

    def start() -> FakeQuery:
        started.append(1)
        return running()

    scans: list[Any] = [RunningScan("scan-0", (), {}, running()),
                        RunningScan("scan-1", (), {}, FailingQuery(BUSY), start)]  # type: ignore[arg-type]
    stream, calls = Stream(SimpleNamespace(), scans), [meanwhile]  # type: ignore[arg-type]
    monkeypatch.setattr("weft.spark.stream.handle.time.sleep",
                        lambda s: calls.pop()(stream) if calls and s > 1 else None)
    return stream, started


def running() -> Any:
    """A query between two triggers."""
    query: Any = FakeQuery(0)
    query.exception, query.processAllAvailable = lambda: None, lambda: None
    return query


def test_a_scan_is_not_started_again_in_a_stream_that_was_stopped_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, started = busy_stream(monkeypatch, lambda stream: stream.stop())
    assert stream.awaitTermination(5) and not started


def test_a_scan_is_started_again_where_it_is_after_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop_first(stream: Stream) -> None:
        stream.scans = stream.scans[1:]

    stream, started = busy_stream(monkeypatch, drop_first)
    with pytest.warns(StreamWarning, match="scan-1"):
        assert not stream.require_healthy()
    assert started == [1] and [scan.name for scan in stream.scans] == ["scan-1"] and stream.isActive


def test_a_scan_that_a_change_has_replaced_is_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    other = RunningScan("scan-1", ("new",), {}, running())
    stream, started = busy_stream(monkeypatch, lambda stream: setattr(stream, "scans", (stream.scans[0], other)))
    assert not stream.require_healthy()
    assert not started and stream.scans[1] is other


def test_a_scan_waits_to_be_started_again_while_the_stream_is_being_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is neither lost nor taken for the end of the stream."""
    held, done = Event(), Event()

    def change(stream: Stream) -> None:
        def hold() -> None:
            with stream._changing:
                held.set()
                done.wait(10)

        Thread(target=hold).start()
        assert held.wait(10)

    stream, started = busy_stream(monkeypatch, change)
    stream.scans = stream.scans[1:]
    try:
        assert stream.goes_on() and not started
    finally:
        done.set()
    with pytest.warns(StreamWarning, match="scan-1"):
        stream.processAllAvailable()
    assert started == [1] and stream.isActive


def test_what_has_come_is_answered_by_the_scans_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, _ = busy_stream(monkeypatch, lambda stream: None)
    first, second = running(), running()
    scans = tuple(RunningScan(f"scan-{i}", (), {}, query) for i, query in enumerate((first, second)))
    first.processAllAvailable = lambda: setattr(stream, "scans", scans[:1])  # the other one goes meanwhile
    stream.scans = scans
    stream.processAllAvailable()
    waited: list[str] = []
    again = replace(scans[0], query=running())
    again.query.processAllAvailable = lambda: waited.append("again")  # type: ignore[method-assign]
    first.processAllAvailable = lambda: setattr(stream, "scans", (again,))  # stopped for a change, and started again
    stream.scans = scans[:1]
    stream.processAllAvailable()
    assert waited == ["again"]


def test_a_restart_says_whether_it_was_done() -> None:
    stream = stream_of(FakeQuery(0))
    assert stream.restart(lambda: stream_of(FakeQuery(0)))
    stream.scans[0].query.stop()
    assert not stream.restart(lambda: stream_of(FakeQuery(0)))  # a scan is down


class Held:
    """Plans of a scan that note when they are held and left."""

    def __init__(self, log: list[str]):
        self.log = log

    @contextmanager
    def at_boundary(self, is_committed: Any, goes_on: Any) -> Iterator[None]:
        assert is_committed(4) and goes_on()
        self.log.append("held")
        yield
        self.log.append("left")


def held_stream(log: list[str]) -> Stream:
    """A stream of a scan that can be held and one that must be stopped."""
    scans: list[Any] = [RunningScan("scan-0", ("a",), {}, FakeQuery(0), plans=Held(log)),  # type: ignore[arg-type]
                        RunningScan("scan-1", ("b",), {}, FakeQuery(0), lambda: FakeQuery(0))]  # type: ignore[arg-type]
    return Stream(SimpleNamespace(), scans)  # type: ignore[arg-type]


def test_a_scan_is_held_while_another_is_stopped_for_the_same_change() -> None:
    log: list[str] = []
    stream = held_stream(log)
    kept, gone = stream.scans

    def change(stopped: tuple[RunningScan, ...]) -> list[RunningScan]:
        log.append("changed")
        assert stopped == (gone,) and not gone.query.isActive and kept.query.isActive
        return [replace(kept, queries=("a", "c")), replace(gone, name="scan-2")]

    stream.swap({"scan-1"}, {"scan-0": lambda last: last == 4}, change)
    assert log == ["held", "changed", "left"] and stream.isActive is False  # what was started here is the stopped one
    assert [(scan.name, scan.queries) for scan in stream.scans] == [("scan-0", ("a", "c")), ("scan-2", ("b",))]


def test_where_nothing_was_changed_all_go_on_as_they_were() -> None:
    log: list[str] = []
    stream = held_stream(log)

    def change(stopped: tuple[RunningScan, ...]) -> list[RunningScan]:
        raise Unchanged(ValueError("no"))

    with pytest.raises(ValueError, match="no"):
        stream.swap({"scan-1"}, {"scan-0": lambda last: True}, change)
    assert [(scan.name, scan.queries) for scan in stream.scans] == [("scan-0", ("a",)), ("scan-1", ("b",))]
    assert stream.isActive


@pytest.mark.parametrize("place", ["stopping", "changing"])
def test_an_interrupt_before_anything_is_changed_lets_all_go_on(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    stream = held_stream([])
    interrupts = [KeyboardInterrupt()] if place == "stopping" else []

    def look(*_: object) -> bool:
        if interrupts:
            raise interrupts.pop()
        return True

    monkeypatch.setattr("weft.spark.stream.handle.is_between_triggers", look)

    def change(stopped: tuple[RunningScan, ...]) -> list[RunningScan]:
        raise Unchanged(KeyboardInterrupt())

    with pytest.raises(KeyboardInterrupt):
        stream.swap({"scan-1"}, {"scan-0": lambda last: True}, change)
    assert stream.isActive and [scan.queries for scan in stream.scans] == [("a",), ("b",)] and not stream.failure
    stream.swap(set(), {}, lambda stopped: ())  # it can be changed afterwards


@pytest.mark.parametrize(("error", "said"), [(OSError("disk full."), "disk full"),
                                             (KeyboardInterrupt(), "KeyboardInterrupt")])
def test_a_stream_that_failed_amid_a_change_is_not_changed_again(error: BaseException, said: str) -> None:
    stream, calls = held_stream([]), []  # type: Stream, list[int]

    def change(stopped: tuple[RunningScan, ...]) -> list[RunningScan]:
        calls.append(1)
        raise error

    with pytest.raises(type(error)):
        stream.swap(set(), {"scan-0": lambda last: True}, change)
    assert stream.isActive and said in stream.failure  # no scan was stopped
    with pytest.raises(RunError, match=f"{said}\\. So its queries cannot be changed: stop it and start it again"):
        stream.swap(set(), {"scan-0": lambda last: True}, change)
    with pytest.raises(RunError, match=said):
        stream.require_healthy()
    assert calls == [1]
