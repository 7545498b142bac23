"""A running stream: its Spark queries together, to wait for, watch and stop."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import inf
from threading import RLock
from typing import Any, Protocol
from warnings import warn

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

from weft.errors import RunError, StreamWarning
from weft.io.row_source import History
from weft.io.sinks import MemorySink
from weft.model.live_change import LiveChange
from weft.model.plan import SharedPlan
from weft.optimize.shed.controller import Decision
from weft.spark.stream.answer_counts import Labels
from weft.spark.stream.failures import BUSY, advice, error_sentence
from weft.spark.stream.progress import trigger_metrics
from weft.spark.stream.scan_plans import Deliverer, ScanPlans
from weft.stages.explain import Explanation
from weft.stages.picture import stream_page

POLL = 0.2
# How many seconds a trigger may take on, once the stream shall stop.
PATIENCE = 30.0
# How often a scan is started again for which the machine was too busy, and how many seconds later the first time; each
# wait is twice the last.
RESTARTS, PAUSE = 4, 2.0


@dataclass(frozen=True)
class RunningScan:
    """A scan that runs: its name, the queries it answers, what its triggers count, the Spark query, what starts it
    once more from its checkpoint, as often as `tries` says since it last got on, what lets it finish a trigger that was
    cut short, once it is stopped, its plans, where these can change without a restart, and who delivers its triggers.
    """

    name: str
    queries: tuple[str, ...]
    labels: Labels
    query: StreamingQuery
    start: Callable[[], StreamingQuery] | None = None
    finish: Callable[[], None] | None = None
    plans: ScanPlans | None = None
    tries: int = 0
    deliverer: Deliverer | None = None

    @property
    def next_try(self) -> int | None:
        """Which try in a row another start is, or None where that was tried often enough."""
        tries = 1 if last_trigger(self.query) else self.tries + 1
        return None if self.start is None or tries > RESTARTS else tries


class Unchanged(Exception):
    """Says that a stream's queries could not be changed, and that nothing of it was."""

    def __init__(self, cause: BaseException):
        super().__init__(str(cause))
        self.cause = cause


class LiveQueries(Protocol):
    """What changes the queries of a stream that runs."""

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of those that run now."""

    def change(self, add: Mapping[str, str], drop: Sequence[str], every: Mapping[str, str],
               history: History | None = None) -> LiveChange:
        """Drop and add queries, in this order; those that come may get the history of their sources."""

    def preview(self, add: Mapping[str, str], drop: Sequence[str]) -> LiveChange:
        """What that would do."""

    def reweave(self) -> LiveChange:
        """Weave the queries anew."""

    def explain(self) -> Explanation:
        """The plan that runs now."""


class Stream:
    """The Spark queries of one `loom.start`, one a scan; its names are those of PySpark's `StreamingQuery`."""

    def __init__(self, plan: SharedPlan, scans: Sequence[RunningScan], memory: MemorySink | None = None):
        self.plan, self.scans, self.memory = plan, tuple(scans), memory
        self.when_ended: Callable[[Stream], None] | None = None  # told once
        self.explained: Callable[[], Explanation] | None = None
        self.when_changed: list[Callable[[Stream], None]] = []
        self.decisions: list[Decision] = []
        self.live: LiveQueries | None = None
        self.ending = False
        self._between, self._changing, self._failure = False, RLock(), ""

    def explain(self) -> Explanation:
        """The plan that runs now, as text, JSON, HTML and a picture, with what it costs and how far it has drifted from
        plans made from scratch."""
        if self.live is not None:
            return self.live.explain()
        if self.explained is None:
            raise RunError("this stream was started without a plan that explains itself: start it by loom.start.")
        return self.explained()

    def _repr_html_(self) -> str:
        """What a notebook shows: how each scan does now, and the plan."""
        return stream_page(self.explain().svg(), [last_figures(scan) for scan in self.scans])

    @property
    def isActive(self) -> bool:
        """Whether every scan runs, or will in a moment with other settings."""
        return self._between or all(scan.query.isActive for scan in self.scans)

    def restart(self, start: Callable[[], Stream]) -> bool:
        """Stop each scan after its running trigger and let `start` start them otherwise, unless the stream ends or a
        scan is down; whether that was done."""
        with self._changing:
            if self.ending or not self.isActive:
                return False
            self._between = True
            try:
                # A trigger that is cut short is repeated as it was: waiting for it costs no more. Who wants the stream
                # to end does not wait.
                self._stop_scans(inf, lambda: self.ending)
                if self.ending:
                    return False
                self.scans = start().scans
                return True
            except Exception as error:
                self._failure = f"the stream could not go on with other settings: {error}"
                raise
            finally:
                self._between = False

    failure = property(lambda self: self._failure, doc="Why it could not go on after a change; empty where it can.")

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries that run now."""
        return self.live.queries if self.live else tuple(name for scan in self.scans for name in scan.queries)

    def add(self, name: str, sql: str, every: str | None = None, history: History | None = None) -> LiveChange:
        """Add a query from the next trigger on, or raise an error and change nothing; `every` is as in `loom.query`.

        The change says from when on its windows are whole: all, with the source's past as `history`. See docs/live.md.
        """
        return self._changes().change({name: sql}, (), {name: every} if every else {}, history)

    def drop(self, name: str) -> LiveChange:
        """Answer a query no more, from the next trigger on; what was answered stays."""
        return self._changes().change({}, (name,), {})

    def replace(self, name: str, sql: str, history: History | None = None, every: str | None = None) -> LiveChange:
        """Let a query ask for something else from the next trigger on; it must give the same columns. It keeps its
        bound on the time between answers unless its text or `every` has another."""
        return self._changes().change({name: sql}, (name,), {name: every} if every else {}, history)

    def change(self, add: Mapping[str, str], drop: Sequence[str] = (), history: History | None = None) -> LiveChange:
        """Drop and add several queries at one trigger boundary, all or none: the SQL of each by its name."""
        return self._changes().change(dict(add), tuple(drop), {}, history)

    def reweave(self) -> LiveChange:
        """Weave the queries of every scan anew, as far as what is kept of the past allows."""
        return self._changes().reweave()

    def preview(self, add: Mapping[str, str] | None = None, drop: Sequence[str] = ()) -> LiveChange:
        """What adding and dropping queries would do; nothing is done."""
        return self._changes().preview(dict(add or {}), tuple(drop))

    def _changes(self) -> LiveQueries:
        if self.live is None:
            raise RunError("the queries of this stream cannot be changed while it runs: start it with loom.start, "
                           "and with a trigger other than 'available'.")
        return self.live

    def swap(self, names: Collection[str], held: Mapping[str, Callable[[int], bool]],
             change: Callable[[tuple[RunningScan, ...]], Sequence[RunningScan]]) -> None:
        """Stop some scans after their running trigger, and hold others between two, who say by their names which of
        their triggers are committed; `change` gets those stopped and gives those that run from then on in their place,
        and those held that run otherwise. Where it raises `Unchanged` all go on as they were; after any other error
        the stream cannot be changed any more, for what it runs and its checkpoint may differ."""
        with self._changing:
            if self._failure:
                raise RunError(f"{self._failure.rstrip('.')}. So its queries cannot be changed: stop it and start it "
                               "again from its checkpoint.")
            if self.ending or not self.isActive:
                raise RunError("the stream has ended, so its queries cannot be changed: start it again first.")
            others = tuple(scan for scan in self.scans if scan.name not in names)
            stopped = tuple(scan for scan in self.scans if scan.name in names)
            with ExitStack() as gates:
                for scan in others:
                    if scan.name in held and scan.plans:
                        gates.enter_context(scan.plans.at_boundary(held[scan.name], partial(self._goes_on, scan)))
                self._exchange(others, stopped, change)

    def _goes_on(self, scan: RunningScan) -> bool:
        return not self.ending and scan.query.isActive

    def _exchange(self, others: tuple[RunningScan, ...], stopped: tuple[RunningScan, ...],
                  change: Callable[[tuple[RunningScan, ...]], Sequence[RunningScan]]) -> None:
        self._between = True
        try:
            stop_before_change(stopped)
            made = {scan.name: scan for scan in change(stopped)}
            self.scans = (*(made.pop(scan.name, scan) for scan in others), *made.values())
        except Unchanged as error:
            self._go_back(others, stopped)
            raise error.cause from error
        except BaseException as error:  # an interrupt, too, leaves a page that is not what runs
            self._fail(error)
            raise
        finally:
            self._between = False

    def _go_back(self, others: tuple[RunningScan, ...], stopped: tuple[RunningScan, ...]) -> None:
        """Let all scans run as they did before a change."""
        try:
            stop_queries([scan.query for scan in stopped], PATIENCE)  # where that was interrupted
            self.scans = (*others, *(replace(scan, query=scan.start()) for scan in stopped if scan.start))
        except BaseException as error:
            self._fail(error)
            raise

    def _fail(self, error: BaseException) -> None:
        self._failure = f"the stream could not go on with other queries: {str(error) or type(error).__name__}"

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
        self.tell_end()
        return True

    def goes_on(self) -> bool:
        """Whether a scan runs, or runs again."""
        before, active = self.scans, self._between or any(scan.query.isActive for scan in self.scans)
        down = self.require_healthy()  # asked afterwards: a query that has ended by now says how
        return active or down or self._between or self.scans is not before

    def require_healthy(self) -> bool:
        """Stops the rest and raises where a scan failed; one for which the machine was too busy is started again.
        Whether one still has to be, because the stream is being changed: a later look does it."""
        if self._failure:
            raise RunError(self._failure)
        failed = [(scan, error) for scan in self.scans if (error := scan.query.exception()) is not None]
        for scan, error in failed:
            if not BUSY.search(str(error)) or scan.next_try is None:
                self.stop()
                raise RunError(f"the stream stopped at {scan.name}: {error_sentence(error)} {advice(error)}") from error
        tried = [self._start_again(scan) for scan, _ in failed]
        return not all(tried)

    def _start_again(self, scan: RunningScan) -> bool:
        """Start a scan again after a pause, unless the stream ends or the scan has gone meanwhile. False while the
        stream is being changed, for that decides what runs."""
        tries = scan.next_try
        if self.ending or tries is None:
            return True
        time.sleep(PAUSE * 2 ** (tries - 1))
        if not self._changing.acquire(blocking=False):
            return False
        try:
            if not self.ending and scan.start and self._is_current(scan):
                found = replace(scan, query=scan.start(), tries=tries)
                self.scans = tuple(found if each is scan else each for each in self.scans)
                warn(StreamWarning(f"Spark could not start a Python process within ten seconds, so that {scan.name} "
                                   f"stopped and was started again, try {tries} of {RESTARTS}: the machine is busy."),
                     stacklevel=5)
            return True
        finally:
            self._changing.release()

    def _is_current(self, scan: RunningScan) -> bool:
        return any(each is scan for each in self.scans)

    def processAllAvailable(self) -> None:
        """Wait until all that has come is answered as far as the watermark allows."""
        for scan in self.scans:
            self.process_scan(scan.name)

    def process_scan(self, name: str) -> None:
        """Wait until one scan has answered what has come; one that goes meanwhile is not waited for."""
        while scan := next((each for each in self.scans if each.name == name), None):
            try:
                scan.query.processAllAvailable()
                down = self._between and not scan.query.isActive
            except PySparkException:
                down = self.require_healthy()
                if not down and self._is_current(scan):
                    raise
            if not down and self._is_current(scan):
                return
            time.sleep(POLL if down else 0)

    def stop(self, patience: float = PATIENCE) -> None:
        """Stop each scan after its running trigger, or when so many seconds have passed.

        A trigger that is cut short is repeated at the next start.
        """
        self.ending = True
        with self._changing:
            self._stop_scans(patience)

    def _stop_scans(self, patience: float, leave: Callable[[], bool] = lambda: False) -> None:
        stop_queries([scan.query for scan in self.scans], patience, leave)
        self.tell_end()

    def tell_change(self) -> None:
        """Tell whoever wants to know that other scans run now."""
        for told in self.when_changed:
            told(self)

    def tell_end(self) -> None:
        """Tell whoever wants to know that the stream has ended, once."""
        told, self.when_ended = self.when_ended, None
        if told:
            with suppress(PySparkException, Py4JError):  # a session that is gone tells nothing
                told(self)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def stop_before_change(scans: Sequence[RunningScan]) -> None:
    """Stop scans for a change; where that fails nothing has changed."""
    try:
        stop_queries([scan.query for scan in scans], PATIENCE)
    except BaseException as error:
        raise Unchanged(error) from error


def stop_queries(queries: Sequence[StreamingQuery], patience: float, leave: Callable[[], bool] = lambda: False) -> None:
    """Stop each query after its running trigger, or when so many seconds have passed, or none where it is time to
    leave."""
    until = time.monotonic() + patience
    left = [(query, last_trigger(query)) for query in queries if query.isActive]
    while left and not leave():
        over = time.monotonic() >= until
        done = [query for query, before in left if over or is_between_triggers(query, before)]
        for query in done:
            with suppress(PySparkException):
                query.stop()
        left = [(query, before) for query, before in left if query not in done]
        time.sleep(POLL / 4 if left else 0)


def is_between_triggers(query: StreamingQuery, before: tuple[int, str] | None) -> bool:
    """Whether no trigger runs, or one has ended since `before`: where rows keep coming the next follows at once."""
    with suppress(PySparkException):
        return not query.isActive or not query.status["isTriggerActive"] or last_trigger(query) != before
    return True


def last_trigger(query: StreamingQuery) -> tuple[int, str] | None:
    """The last trigger that has ended."""
    found = query.lastProgress
    return None if found is None else (found["batchId"], found["timestamp"])


def last_figures(scan: RunningScan) -> dict[str, Any]:
    """What a scan's last trigger did, and whether the scan runs."""
    found, now = scan.query.lastProgress, datetime.now(UTC)
    figures = trigger_metrics(scan.name, json.loads(found.json) if found else {}, scan.labels, now)
    return {**figures.to_dict(), "active": scan.query.isActive, "triggers": found is not None}
