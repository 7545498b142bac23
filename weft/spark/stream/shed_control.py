"""The controller of a stream at work: it reads what triggers took, asks `observe` what to do, and does it.

A decision changes the trigger or the share of rows that is kept. The stream is stopped after its running trigger, the
decision goes into the checkpoint, and the stream goes on: shares hold from a moment on, and a trigger that is repeated
has the time, and so the share, that it had before.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from logging import getLogger
from math import inf
from threading import Thread
from time import monotonic, sleep

import numpy as np
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

from weft.errors import WeftError
from weft.io.drop_boxes import Step
from weft.io.java import Py4JError
from weft.optimize.shed.controller import (
    ControllerPolicy,
    ControllerState,
    Decision,
    Reading,
    observe,
    start_controller,
)
from weft.optimize.shed.load import ScanLoad, SheddableQuery, StreamLoad, StreamSettings
from weft.spark.stream.handle import RunningScan, Stream
from weft.spark.stream.metrics import utc_now
from weft.spark.stream.progress import TriggerMetrics, end_of_trigger, parse_time, trigger_metrics

LOG = getLogger("weft.shedding")
POLL = 0.5
# So many triggers tell what rows take, so many of them how fast they come, and so many are needed to tell anything.
HISTORY, RECENT, FEWEST = 30, 3, 3
# After so many seconds what is known of queries is looked up anew, if it matters then; and after so many where not all
# is known, because no window of theirs was over yet: twice as many after each look, for some are never known.
KNOWN_FOR, UNKNOWN_FOR = 60.0, 3.0
# The part of what a row takes that a drop box does not spare: reading it, its hash, the watermark. Measured at a
# twentieth to an eighth where workers cut slices; where Spark does it is more, which the next decision then sees.
READ = 0.1
# A trigger that runs for so many times the seconds between two is waited for, and no other one begins before a look at
# what it took.
LATE = 2.0
# Below this spread of their numbers, relative to these, rows do not tell what they take.
SPREAD = 0.05

Steps = Mapping[str, tuple[Step, ...]]


@dataclass(frozen=True)
class SeenTrigger:
    """A trigger: when it began and ended, its seconds, its rows, and how many of them were kept. The `first` one after
    a start has everything to set up, so its seconds tell nothing."""

    began: float
    ended: float
    seconds: float
    rows: int
    kept: float
    first: bool = False


def share_at(steps: Sequence[Step], seconds: float) -> float:
    """The share that was kept of what came in a trigger that began at a time."""
    return next((step.share for step in reversed(steps) if step.since <= seconds * 1000), steps[0].share)


def see(figures: TriggerMetrics, steps: Sequence[Step], first: bool) -> SeenTrigger:
    """A trigger by its figures."""
    began = figures.at.timestamp()
    ended = end_of_trigger(figures).timestamp()
    kept = figures.rows * share_at(steps, began)
    return SeenTrigger(began, ended, figures.trigger_seconds, figures.rows, kept, first)


def measure_load(source: str, triggers: Sequence[SeenTrigger]) -> StreamLoad | None:
    """What triggers take whatever their rows, how many rows come in a second, and what one takes before the drop box
    and behind it.

    A line through seconds and work tells, work being kept rows and READ of all; where all triggers have about as many
    rows it does not, and then half of the shortest trigger is taken for fixed.
    """
    came = [each for each in triggers if each.rows]
    found = [each for each in came if not each.first]
    if len(found) < FEWEST:
        return None
    work, seconds = np.array([[READ * each.rows + (1 - READ) * each.kept, each.seconds] for each in found]).T
    spread, least = work - work.mean(), float(seconds.min())
    if work.std() > SPREAD * work.mean():
        slope = max(float(spread @ seconds / (spread @ spread)), 0.0)
        fixed = float(np.clip(seconds.mean() - slope * work.mean(), least / 10, least))
    else:
        fixed = least / 2
    each = max(float(seconds[-RECENT:].mean()) - fixed, 0.0) / max(float(work[-RECENT:].mean()), 1.0)
    return StreamLoad(fixed, (ScanLoad(source, arrival_rate(came[-RECENT:]), (1 - READ) * each, READ * each),))


def arrival_rate(recent: Sequence[SeenTrigger]) -> float:
    """Rows that come in a second: a trigger reads what came since the one before it began. Where the last one takes
    longer than that, it alone tells, for those before it are of a time when fewer came."""
    gaps = [after.began - before.began for before, after in pairwise(recent)]
    if recent[-1].seconds > gaps[-1]:
        return recent[-1].rows / max(gaps[-1], 1e-3)
    return sum(each.rows for each in recent[1:]) / max(sum(gaps), 1e-3)


def was_cut_short(told: Mapping) -> bool:
    """Whether a trigger, by Spark's progress, was stopped before it was committed: a part of its rows in a part of its
    time, which come again."""
    return bool(told.get("numInputRows")) and "commitOffsets" not in told.get("durationMs", {})


def mark_of(told: Mapping) -> tuple:
    """What tells a trigger from all others of its scan."""
    return told.get("batchId"), told.get("timestamp")


def triggers_after(query: StreamingQuery, mark: tuple | None) -> list[dict]:
    """Spark's progress of the triggers of a query after one, the oldest first. Of one that it was stopped in Spark
    tells last, often without rows, and so hides the one before it, which tells most."""
    last = query.lastProgress
    if last is None or mark_of(json.loads(last.json)) == mark:
        return []
    newest_first = (json.loads(each.json) for each in reversed(query.recentProgress))
    return [*takewhile(lambda told: mark_of(told) != mark, newest_first)][::-1]


def rates_of(reading: Reading) -> dict[str, float]:
    """The rows that come in a second, by source."""
    return {scan.scan: scan.rate for scan in reading.load.scans}


def more_rows(growth: float) -> float:
    """How many times the rows a window holds that counts as many more of a second as `growth`, where just these are
    dropped and those before were not.

    Of a part f of its time with more rows, the variance of what is dropped is f·growth / (1 + f·(growth − 1))² of what
    it was, and greatest where both parts have as many rows: so it is never counted on more than four times as many.
    """
    return growth if growth < 2 else 4 * (growth - 1) / growth


@dataclass(frozen=True)
class Looked:
    """What was looked up of the queries: when, and how many rows came in a second then, by source."""

    at: float
    queries: tuple[SheddableQuery, ...]
    rates: Mapping[str, float]

    def now(self, reading: Reading) -> tuple[SheddableQuery, ...]:
        """The queries, their answers made of as many more or fewer rows as come now."""
        rates = rates_of(reading)
        return tuple(
            replace(query, rows=query.rows * more_rows(rates[query.scan] / before))
            if (before := self.rates.get(query.scan, 0.0)) > 0 and rates.get(query.scan, 0.0) > 0 else query
            for query in self.queries)


class ShedControl:
    """Watches a stream from a thread of its own, and restarts it with other settings where the controller says so.

    `look` tells of the queries what their answers are made of, by the rows before the newest event time, in seconds.
    `restart` starts the stream with other shares and seconds between triggers, once it has put them into the
    checkpoint. `last_done` tells of a scan that has stopped when its last trigger began, in milliseconds, if nothing of
    a later one is delivered.
    """

    def __init__(self, stream: Stream, steps: Steps, trigger: float, sources: Mapping[str, str],
                 look: Callable[[float], Sequence[SheddableQuery]],
                 restart: Callable[[Steps, float, Decision | None], Stream], policy: ControllerPolicy,
                 last_done: Callable[[RunningScan], int | None] = lambda scan: None):
        self.stream, self.steps, self.policy = stream, dict(steps), policy
        self._sources, self._look, self._restart, self._last_done = sources, look, restart, last_done
        shares = tuple((name, mine[-1].share) for name, mine in steps.items() if mine[-1].share < 1)
        self.state: ControllerState = replace(start_controller(trigger), settings=StreamSettings(trigger, shares))
        self._trigger, self._newest = trigger, 0.0
        self._seen: dict[str, deque[SeenTrigger]] = {}
        self._last: dict[str, tuple] = {}
        self._fresh = {scan.name for scan in stream.scans}
        self._known: Looked | None = None
        self._wait, self._not_before, self._failed = UNKNOWN_FOR, -inf, False

    def start(self) -> None:
        """Watch until the stream ends."""
        Thread(target=self._run, name="weft shedding", daemon=True).start()

    def _run(self) -> None:
        while not self.stream.ending:
            sleep(POLL)
            try:
                for scan in self.stream.scans:
                    self.take(scan)
                if any(self.is_late(scan) for scan in self.stream.scans):
                    self.stream.restart(lambda: self.settle(None, self.state))
            except (PySparkException, Py4JError):
                if not self._goes_on():  # the stream fails, and says so itself
                    return
            except WeftError as error:
                LOG.warning("the load of the stream is not controlled any more: %s", error)
                return

    def _goes_on(self) -> bool:
        """Whether the stream runs, as far as Spark can still tell."""
        try:
            return not self.stream.ending and self.stream.isActive
        except (PySparkException, Py4JError):
            return False

    def take(self, scan: RunningScan) -> None:
        """Look at the last trigger of a scan, if it is new, and do what the controller says of it, once it knows the
        queries."""
        reading = self.read(scan)
        queries = None if reading is None else self._queries(reading)
        if reading is not None and queries is not None:
            before = self.state
            self.state, decision = observe(before, reading, queries, self.policy)
            if decision is not None:
                self.act(decision, before)

    def read(self, scan: RunningScan) -> Reading | None:
        """What the last trigger of a scan tells, if it is new and tells anything."""
        source = self._sources.get(scan.name)
        found = triggers_after(scan.query, self._last.get(scan.name)) if source else []
        if source is None or not found:
            return None
        self._last[scan.name] = mark_of(found[-1])
        seen = self._seen.setdefault(scan.name, deque(maxlen=HISTORY))
        for told in found:
            newest = parse_time(told.get("eventTime", {}).get("max"))
            self._newest = newest.timestamp() if newest else self._newest
            if not was_cut_short(told):
                figures = trigger_metrics(scan.name, told, {}, utc_now())
                seen.append(see(figures, self.steps[source], scan.name in self._fresh))
                self._fresh.discard(scan.name)
        if not seen:
            return None
        load = measure_load(source, seen)
        return None if load is None else Reading(seen[-1].ended, self.state.settings.utilisation(load), load)

    def is_late(self, scan: RunningScan) -> bool:
        """Whether a trigger runs for much too long, and the controller would do something about it."""
        seen, now, high = self._seen.get(scan.name), utc_now().timestamp(), self.state.high_since
        if not seen or self._known is None or self.state.overloaded or not scan.query.status["isTriggerActive"]:
            return False
        began = max(seen[-1].ended, seen[-1].began + self._trigger)
        lasts = now - (now if high is None else high) >= self.policy.act_after
        return lasts and self.state.triggers + 1 >= self.policy.dwell and now - began > LATE * self._trigger

    def _queries(self, reading: Reading) -> Sequence[SheddableQuery] | None:
        """What is known of the queries: looked up until all is known, while there is time for it, and again where it
        matters; None as long as no look has told anything."""
        due = self._known is None or self._is_old(self._known, reading.utilisation)
        if due and monotonic() >= self._not_before:
            self._look_up(reading)
        return None if self._known is None else self._known.now(reading)

    def _look_up(self, reading: Reading) -> None:
        """Look at the source. It is read by a job of its own, which may fail while the stream runs: then what was known
        stays, and another look follows, later after each that failed."""
        try:
            found = tuple(self._look(self._newest))
        except (PySparkException, Py4JError, WeftError, OSError) as error:
            if not self._failed and self._goes_on():
                LOG.warning("what queries need cannot be looked up, and is tried again: %s", str(error).split("\n")[0])
            self._failed, self._not_before = True, monotonic() + self._wait
            self._wait = min(2 * self._wait, KNOWN_FOR)
        else:
            self._failed, self._wait = False, UNKNOWN_FOR if self._known is None else min(2 * self._wait, KNOWN_FOR)
            self._known = Looked(monotonic(), found, rates_of(reading))

    def _is_old(self, known: Looked, used: float) -> bool:
        """Whether what was looked up then must be looked up again."""
        matters = used > self.policy.act_above or (used < self.policy.recover_below and self.state.settings.shares)
        complete = all(query.bound is not None for query in known.queries if query.scan in self.steps)
        return monotonic() - known.at > (KNOWN_FOR if complete else self._wait) and (bool(matters) or not complete)

    def act(self, decision: Decision, before: ControllerState) -> None:
        """Restart the stream if a decision changes anything, and tell of it."""
        if self._changes(decision):
            if not self.stream.restart(lambda: self.settle(decision, before)):
                self.state = before  # a scan is down: the next trigger decides anew
        else:
            self._tell(decision)

    def settle(self, decision: Decision | None, before: ControllerState) -> Stream:
        """The stream, which has just stopped, with other settings: those of a decision, or what its last trigger, which
        may have run since, makes of it."""
        made, self.state = self.state, before  # what a trigger tells is measured under the settings that it ran with
        for scan in self.stream.scans:
            reading = self.read(scan)
            if reading is not None and self._known is not None:
                state, newer = observe(before, reading, self._known.now(reading), self.policy)
                if newer is not None or decision is None:
                    made, decision = state, newer
        self.state = made
        self._fresh = {scan.name for scan in self.stream.scans}
        if decision is None:  # for nothing: not again before some triggers have passed
            self.state = replace(self.state, triggers=0)
            return self._restart(self.steps, self._trigger, None)
        self._tell(decision)
        self._trigger = decision.settings.trigger
        return self._start(decision)

    def _changes(self, decision: Decision) -> bool:
        """Whether a decision changes what is set."""
        wanted = decision.settings
        return wanted.trigger != self._trigger or any(
            wanted.share_of(name) != mine[-1].share for name, mine in self.steps.items())

    def _tell(self, decision: Decision) -> None:
        LOG.warning("%s", decision.reason)
        self.stream.decisions.append(decision)

    def _start(self, decision: Decision) -> Stream:
        """The stream with other settings, for all triggers of which nothing is delivered."""
        for name, mine in self.steps.items():
            share = decision.settings.share_of(name)
            if share != mine[-1].share:
                self.steps[name] = (*mine, Step(max(self._since(name), mine[-1].since + 1), share))
        return self._restart(self.steps, decision.settings.trigger, decision)

    def _since(self, source: str) -> int:
        """From when on another share of a source can hold, in milliseconds: now, or already for a trigger that was cut
        short before anything of it was delivered. It has the rows that wait, and with the old share takes longest."""
        done = [self._last_done(scan) for scan in self.stream.scans if self._sources.get(scan.name) == source]
        found = [each + 1 for each in done if each is not None]
        return max(found) if found and len(found) == len(done) else int(utc_now().timestamp() * 1000)
