"""A running stream: its Spark queries together, to wait for, watch and stop."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from warnings import warn

from pyspark.errors import PySparkException
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

from weft.errors import RunError, StreamWarning
from weft.io.java import spark_reason, with_file
from weft.io.sinks import MemorySink
from weft.model.plan import SharedPlan
from weft.spark.stream.progress import Labels

POLL = 0.2
# How many seconds a trigger may take on, once the stream shall stop.
PATIENCE = 30.0
# What Spark says where a Python process was not up within ten seconds: the machine is busy, and nothing is wrong.
BUSY = re.compile(r"Python worker (?:failed to connect back|did not connect)")
# How often a scan is started again after that, and how many seconds later the first time; each wait is twice the last.
RESTARTS, PAUSE = 4, 2.0
# How many seconds a scan may take to start its Python processes before the next scan does.
STAGGER = 2.0
# An error by its class and what it says, as Python and Java print them; its SQLSTATE is for machines.
RAISED = re.compile(r"^(?:Caused by: )?(?:\w+[.$])*\w*(?:Error|Exception): (.*?)(?: SQLSTATE: \w{5})?$", re.MULTILINE)


@dataclass(frozen=True)
class RunningScan:
    """A scan that runs: its name, the queries it answers, what its triggers count, the Spark query, and what starts it
    once more from its checkpoint, as often as `tries` says since it last got on."""

    name: str
    queries: tuple[str, ...]
    labels: Labels
    query: StreamingQuery
    start: Callable[[], StreamingQuery] | None = None
    tries: int = 0

    def again(self) -> RunningScan | None:
        """The scan started once more, a while later, or None where that was tried often enough."""
        tries = 1 if last_trigger(self.query) else self.tries + 1
        if self.start is None or tries > RESTARTS:
            return None
        time.sleep(PAUSE * 2 ** (tries - 1))
        return replace(self, query=self.start(), tries=tries)


class Stream:
    """The Spark queries of one `loom.start`, one a scan; its names are those of PySpark's `StreamingQuery`."""

    def __init__(self, plan: SharedPlan, scans: Sequence[RunningScan], memory: MemorySink | None = None):
        self.plan, self.scans, self.memory = plan, tuple(scans), memory

    @property
    def isActive(self) -> bool:
        """Whether every scan runs."""
        return all(scan.query.isActive for scan in self.scans)

    @property
    def lastProgress(self) -> dict[str, StreamingQueryProgress | None]:
        """What Spark says of each scan's last trigger, by the scan's name; None where it has not ended one yet."""
        return {scan.name: scan.query.lastProgress for scan in self.scans}

    @property
    def recentProgress(self) -> dict[str, list[StreamingQueryProgress]]:
        """What Spark says of each scan's last triggers, as many as it keeps, by the scan's name."""
        return {scan.name: list(scan.query.recentProgress) for scan in self.scans}

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Wait until the stream has ended, or so many seconds; whether it has. Raises where a scan failed."""
        until = None if timeout is None else time.monotonic() + timeout
        while self.goes_on():
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(POLL)
        return True

    def goes_on(self) -> bool:
        """Whether a scan runs, or runs again."""
        before, active = self.scans, any(scan.query.isActive for scan in self.scans)
        self.require_healthy()  # asked afterwards: a query that has ended by now says how
        return active or self.scans is not before

    def require_healthy(self) -> None:
        """Stops the rest and raises where a scan failed; one for which the machine was too busy is started again."""
        for place, scan in enumerate(self.scans):
            error = scan.query.exception()
            if error is None:
                continue
            found = scan.again() if BUSY.search(str(error)) else None
            if found is None:
                self.stop()
                raise RunError(f"the stream stopped at {scan.name}: {error_sentence(error)} {advice(error)}") from error
            warn(StreamWarning(f"Spark could not start a Python process within ten seconds, so that {scan.name} "
                               f"stopped and was started again, try {found.tries} of {RESTARTS}: the machine is busy."),
                 stacklevel=4)
            self.scans = (*self.scans[:place], found, *self.scans[place + 1:])

    def processAllAvailable(self) -> None:
        """Wait until all that has come is answered as far as the watermark allows."""
        for place in range(len(self.scans)):
            self.process_scan(place)

    def process_scan(self, place: int) -> None:
        """Wait until one scan has answered what has come."""
        scan = self.scans[place]
        try:
            scan.query.processAllAvailable()
        except PySparkException:
            self.require_healthy()
            if self.scans[place] is scan:
                raise
            self.process_scan(place)

    def stop(self, patience: float = PATIENCE) -> None:
        """Stop each scan after its running trigger, or when so many seconds have passed.

        A trigger that is cut short is repeated at the next start.
        """
        until = time.monotonic() + patience
        left = [(scan.query, last_trigger(scan.query)) for scan in self.scans if scan.query.isActive]
        while left:
            over = time.monotonic() >= until
            done = [query for query, before in left if over or is_between_triggers(query, before)]
            for query in done:
                with suppress(PySparkException):
                    query.stop()
            left = [(query, before) for query, before in left if query not in done]
            time.sleep(POLL / 4 if left else 0)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def is_between_triggers(query: StreamingQuery, before: tuple[int, str] | None) -> bool:
    """Whether no trigger runs, or one has ended since `before`: where rows keep coming the next follows at once."""
    with suppress(PySparkException):
        return not query.isActive or not query.status["isTriggerActive"] or last_trigger(query) != before
    return True


def last_trigger(query: StreamingQuery) -> tuple[int, str] | None:
    """The last trigger that has ended."""
    found = query.lastProgress
    return None if found is None else (found["batchId"], found["timestamp"])


def advice(error: Exception) -> str:
    """What to do when a stream has stopped."""
    cause = "the cause is mended"
    if BUSY.search(str(error)):
        cause = "the machine is less busy: a Python process of Spark's was not up within ten seconds, several times"
    return f"What was answered is kept; start again from the same checkpoint when {cause}."


def error_sentence(error: Exception) -> str:
    """What went wrong in a stream, as a sentence: the innermost error of those that Spark tells before the plan."""
    causes = RAISED.findall(str(error).partition("=== Streaming Query ===")[0])
    text = with_file(str(error), (causes[-1] if causes else spark_reason(error)).strip())
    return text if text.endswith((".", "?", "!")) else f"{text}."


def wait_for_workers(query: StreamingQuery, patience: float = STAGGER) -> None:
    """Wait until a query has made its first trigger or waits for rows: all scans at once would start more Python
    processes than a small machine has up within Spark's ten seconds."""
    until = time.monotonic() + patience
    while query.isActive and last_trigger(query) is None and time.monotonic() < until:
        if str(query.status["message"]).startswith("Waiting"):
            return
        time.sleep(POLL / 4)


def start_all(starters: Sequence[tuple[str, tuple[str, ...], Labels, Callable[[], StreamingQuery]]], plan: SharedPlan,
              memory: MemorySink | None) -> Stream:
    """All scans started, or none."""
    scans: list[RunningScan] = []
    try:
        for name, queries, labels, start in starters:
            for scan in scans[-1:]:
                wait_for_workers(scan.query)
            scans.append(RunningScan(name, queries, labels, start(), start))
    except Exception:
        Stream(plan, scans).stop()
        raise
    return Stream(plan, scans, memory)


def set_trigger(writer: DataStreamWriter, trigger: str | None) -> DataStreamWriter:
    """The writer with its trigger: as fast as it can, all that is there and then end, or every so often."""
    if trigger is None:
        return writer
    return writer.trigger(availableNow=True) if trigger == "available" else writer.trigger(processingTime=trigger)
