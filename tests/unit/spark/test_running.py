"""How a stream is stopped, and what is said of one that failed; no Spark is started here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from weft.errors import RunError, StreamWarning
from weft.spark.stream.handle import RESTARTS, RunningScan, Stream, error_sentence

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
