"""A running stream: its Spark queries together, to wait for, watch and stop."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from weft.errors import RunError
from weft.io.sources import reason, with_file
from weft.model.plan import SharedPlan
from weft.spark.outlet import Memory

POLL = 0.2
# How many seconds a trigger may take on, once the stream shall stop.
PATIENCE = 30.0
# An error by its class and what it says, as Python and Java print them; its SQLSTATE is for machines.
RAISED = re.compile(r"^(?:Caused by: )?(?:\w+[.$])*\w*(?:Error|Exception): (.*?)(?: SQLSTATE: \w{5})?$", re.MULTILINE)


@dataclass(frozen=True)
class Running:
    """A scan that runs: its name, the queries it answers, what its triggers count, and the Spark query."""

    name: str
    queries: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]]
    query: StreamingQuery


class Stream:
    """The Spark queries of one `loom.start`."""

    def __init__(self, plan: SharedPlan, scans: Sequence[Running], memory: Memory | None = None):
        self.plan, self.scans, self.memory = plan, tuple(scans), memory

    @property
    def active(self) -> bool:
        """Whether every scan runs."""
        return all(scan.query.isActive for scan in self.scans)

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait until the stream has ended, or so many seconds; whether it has. Raises where a scan failed."""
        until = None if timeout is None else time.monotonic() + timeout
        while any(scan.query.isActive for scan in self.scans):
            self.require_healthy()
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(POLL)
        self.require_healthy()
        return True

    def require_healthy(self) -> None:
        """Stops the rest and raises where a scan failed."""
        for scan in self.scans:
            error = scan.query.exception()
            if error is not None:
                self.stop()
                raise RunError(f"the stream stopped at {scan.name}: {told(error)} What was answered is kept; start "
                               "again from the same checkpoint when the cause is mended.") from error

    def process_available(self) -> None:
        """Wait until all that has come is answered as far as the watermark allows."""
        for scan in self.scans:
            try:
                scan.query.processAllAvailable()
            except PySparkException:
                self.require_healthy()
                raise

    def stop(self, patience: float = PATIENCE) -> None:
        """Stop each scan after its running trigger, or when so many seconds have passed.

        A trigger that is cut short is repeated at the next start.
        """
        until = time.monotonic() + patience
        left = [(scan.query, newest(scan.query)) for scan in self.scans if scan.query.isActive]
        while left:
            over = time.monotonic() >= until
            done = [query for query, before in left if over or is_between(query, before)]
            for query in done:
                with suppress(PySparkException):
                    query.stop()
            left = [(query, before) for query, before in left if query not in done]
            time.sleep(POLL / 4 if left else 0)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def is_between(query: StreamingQuery, before: tuple[int, str] | None) -> bool:
    """Whether no trigger runs, or one has ended since `before`: where rows keep coming the next follows at once."""
    with suppress(PySparkException):
        return not query.isActive or not query.status["isTriggerActive"] or newest(query) != before
    return True


def newest(query: StreamingQuery) -> tuple[int, str] | None:
    """The last trigger that has ended."""
    found = query.lastProgress
    return None if found is None else (found["batchId"], found["timestamp"])


def told(error: Exception) -> str:
    """What went wrong in a stream, as a sentence: the innermost error of those that Spark tells before the plan."""
    causes = RAISED.findall(str(error).partition("=== Streaming Query ===")[0])
    text = with_file(str(error), (causes[-1] if causes else reason(error)).strip())
    return text if text.endswith((".", "?", "!")) else f"{text}."


def started(writers: Sequence[tuple[str, tuple[str, ...], Mapping[str, tuple[str, ...]], DataStreamWriter]],
            plan: SharedPlan, memory: Memory | None) -> Stream:
    """All scans started, or none."""
    scans: list[Running] = []
    try:
        for name, queries, labels, writer in writers:
            scans.append(Running(name, queries, labels, writer.start()))
    except Exception:
        Stream(plan, scans).stop()
        raise
    return Stream(plan, scans, memory)


def triggered(writer: DataStreamWriter, trigger: str | None) -> DataStreamWriter:
    """The writer with its trigger: as fast as it can, all that is there and then end, or every so often."""
    if trigger is None:
        return writer
    return writer.trigger(availableNow=True) if trigger == "available" else writer.trigger(processingTime=trigger)
