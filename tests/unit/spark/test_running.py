"""How a stream is stopped, and what is said of one that failed; no Spark is started here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from weft.spark.running import Running, Stream, told

PLAN = "\n\n=== Streaming Query ===\nIdentifier: weft scan-0\nLogical Plan:\nSomeError: not this\n"
CASES = {
    "a sink in Python": (
        "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):\n"
        '  File "outlet.py", line 41, in take\n    raise converted from None\n'
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
    assert told(Exception(text + PLAN if text else text)) == said


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
    return Stream(plan, [Running(f"scan-{i}", (), {}, query) for i, query in enumerate(queries)])  # type: ignore[arg-type]


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
