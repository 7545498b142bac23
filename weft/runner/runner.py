"""The runner: follows a schedule on a clock, keeps in the catalog what it did, and goes on where another one ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self
from warnings import warn

from weft.catalog.database import Catalog
from weft.catalog.scheduled import QueryState, RecordedRun, keep_run, keep_states, query_states
from weft.catalog.store import CatalogWarning
from weft.errors import CatalogError, WeftError
from weft.io.java import is_java_gone, spark_reason
from weft.optimize.schedule.dispatch import (
    BackOff,
    FinishedRun,
    GroupState,
    NextRun,
    RunClock,
    RunRules,
    RunState,
    follow,
)
from weft.runner.choice import ChosenSchedule
from weft.runner.clock import EndingClock, SystemClock
from weft.runner.isolate import find_failing
from weft.runner.lease import HeldLease, LeaseTimes, holding_lease
from weft.runner.reading import LATELY, SECOND, QueryReading, RunnerReading, ScheduledRun

WAKING = 50_000  # µs that a machine may take to wake up; who is no later is in time


@dataclass(frozen=True)
class RunOutcome:
    """What a run says of its sources: how many files were new, and whether one was read anew."""

    new_files: int = 0
    anew: bool = False


RunQueries = Callable[[Sequence[str]], RunOutcome]  # runs queries together, or raises


@dataclass(frozen=True)
class RunnerOptions:
    """How a runner runs: whether late queries join those that are due, how long what failed waits, and its lease."""

    merge: bool = True
    back_off: BackOff = field(default_factory=BackOff)
    lease: LeaseTimes = field(default_factory=LeaseTimes)


@dataclass(frozen=True)
class Execution:
    """What came of a run's queries: seconds, why some failed, what was read, by how much bounds had run out."""

    seconds: float
    failed: Mapping[str, str]
    read: RunOutcome
    late: Mapping[str, float]


class ScheduleRunner:
    """Runs queries by a schedule, for as long as it is asked for runs; made by `loom.schedule`.

    >>> with loom.schedule(sink="out") as runner:
    ...     for run in runner:
    ...         print(run.queries, run.seconds)

    Entering takes the lease of the store, so that no other runner works on it. `stop`, from any thread or signal
    handler, ends it after the running run.
    """

    def __init__(self, catalog: Catalog, chosen: ChosenSchedule, run: RunQueries, meanings: Mapping[str, str],
                 clock: RunClock | None = None, options: RunnerOptions = RunnerOptions()):
        self.chosen, self._catalog, self._run, self._meanings = chosen, catalog, run, meanings
        self._clock, self._options = clock or SystemClock(), options
        self._rules = RunRules(chosen.timetable(), chosen.bounds, options.merge, options.back_off, sys.maxsize)
        self._names = chosen.queries
        self._state: RunState = ()
        self._stopping = False
        self._first = True
        self._reading = RunnerReading(chosen.policy.name, 0, 0, False, ())
        self._held = ExitStack()
        self._lease: HeldLease | None = None

    def __enter__(self) -> Self:
        """Take the lease, and up what runners before this one left."""
        now = self._clock.now()
        with ExitStack() as stack:
            self._lease = stack.enter_context(holding_lease(self._catalog, self._options.lease))
            self._state = recall_state(self._catalog, self._rules, self._names, self._meanings, now)
            self._held = stack.pop_all()
        queries = tuple(QueryReading(name, bound, state.started, state.due, state.failures)
                        for name, bound, state in zip(self._names, self._rules.bounds, self._state, strict=True))
        self._reading = RunnerReading(self.chosen.policy.name, now, now, True, queries,
                                      planned=self.chosen.utilisation)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._reading = replace(self._reading, active=False)
        self._held.close()

    def __iter__(self) -> Iterator[ScheduledRun]:
        """Runs for as long as nobody stops it."""
        return self.runs()

    def runs(self, until: int | None = None, count: int | None = None, once: bool = False) -> Iterator[ScheduledRun]:
        """Every run as it is over, until a moment of the clock in µs, or so many, or `once` what is due now."""
        clock = EndingClock(self._clock, lambda: self._stopping, until)
        left = {g for g, known in enumerate(self._state) if known.due <= clock.now()} if once else None
        if clock.over() or count == 0 or left == set():
            return
        for made, (done, state) in enumerate(follow(self._rules, self._state, clock, self._execute), 1):
            yield self._finish(done, state)
            left = None if left is None else left - set(done.members)
            if clock.over() or made == count or left == set():
                return

    def stop(self) -> None:
        """End after the running run."""
        self._stopping = True

    def reading(self) -> RunnerReading:
        """What is known now; any thread may ask."""
        found, now = self._reading, self._clock.now()
        recent = tuple(run for run in found.recent if run.finished > now - LATELY)
        return replace(found, now=now, recent=recent)

    def _execute(self, run: NextRun) -> Iterator[int]:
        """Run the groups' queries; gives the numbers of those that failed."""
        assert self._lease is not None, "the runner must be entered: with loom.schedule(...) as runner"
        self._lease.require()
        names = [self._names[g] for g in run.members]
        late = {self._names[g]: past / SECOND for g in run.late
                if (past := run.at - (self._state[g].started or 0) - self._rules.bounds[g]) > WAKING}
        outcomes: list[RunOutcome] = []
        began = time.perf_counter()
        thorough = any(self._state[g].failures for g in run.members)
        failed = find_failing(lambda part: self._attempt(part, outcomes, part is names), names, thorough)
        read = RunOutcome(max((one.new_files for one in outcomes), default=0), any(one.anew for one in outcomes))
        self._done = Execution(time.perf_counter() - began, failed, read, late)
        return (g for g in run.members if self._names[g] in failed)

    def _attempt(self, names: Sequence[str], outcomes: list[RunOutcome], whole: bool) -> str | None:
        """Why queries fail together, None where they have run; raises where nothing can run any more."""
        if self._stopping and not whole:
            return "the runner was told to end before they were tried apart."
        try:
            outcomes.append(self._run(names))
        except Exception as error:
            if is_java_gone(error):
                raise
            return str(error) if isinstance(error, WeftError) else f"{type(error).__name__}: {spark_reason(error)}"
        return None

    def _finish(self, done: FinishedRun, state: RunState) -> ScheduledRun:
        """What is told of a run, once the catalog knows of it."""
        self._state, made = state, self._done
        next_at = max(min(known.due for known in state), done.finished)
        run = ScheduledRun(done.at, done.finished, made.seconds, tuple(self._names[g] for g in done.members),
                           made.failed, made.late, made.read.new_files, next_at,
                           tuple(name for name, known in zip(self._names, state, strict=True) if known.due <= next_at))
        self._keep(done, run, made)
        self._count(run)
        return run

    def _keep(self, done: FinishedRun, run: ScheduledRun, made: Execution) -> None:
        """Put down a run and what is due; a run whose record is lost is done again by whoever comes after."""
        steady = not self._first and not run.failed and not made.read.anew
        self._first = False
        states = [QueryState(name, self._meanings[name], known.due, known.started, known.failures,
                             run.failed.get(name, ""))
                  for name, known in ((self._names[g], self._state[g]) for g in done.members)]
        kept = RecordedRun(run.at, run.seconds, run.queries, run.failed, run.new_files, steady)
        assert self._lease is not None
        self._lease.require()
        try:
            with self._catalog.changing():
                keep_run(self._catalog, kept)
                keep_states(self._catalog, states)
        except CatalogError as error:
            warn(CatalogWarning(f"The run is done, but the catalog does not know: {error}"), stacklevel=2)

    def _count(self, run: ScheduledRun) -> None:
        """Bring the reading up to date."""
        found = self._reading
        ran = frozenset(run.queries)
        queries = tuple(count_run(one, one.query in ran, run, known)
                        for one, known in zip(found.queries, self._state, strict=True))
        recent = (*(one for one in found.recent if one.finished > run.finished - LATELY), run)
        self._reading = replace(found, queries=queries, runs=found.runs + 1,
                                failed_runs=found.failed_runs + bool(run.failed), recent=recent)


def recall_state(catalog: Catalog, rules: RunRules, names: Sequence[str], meanings: Mapping[str, str],
                 now: int) -> RunState:
    """The state in which runners before left the queries; what never ran, or otherwise, is due at once."""
    known = query_states(catalog)
    found = (known.get((name, meanings[name])) for name in names)
    return tuple(recalled(rules, g, state, now) for g, state in enumerate(found))


def recalled(rules: RunRules, group: int, state: QueryState | None, now: int) -> GroupState:
    """One query's state; when it is due is by the schedule of today, unless it waits after a failure."""
    if state is None:
        return GroupState(now)
    if state.failures:
        return GroupState(state.due, state.started, state.failures)
    return GroupState(now if state.started is None else rules.timetable.next_due(group, state.started), state.started)


def count_run(reading: QueryReading, mine: bool, run: ScheduledRun, known: GroupState) -> QueryReading:
    """A query's reading after a run, which was its own too or not."""
    name = reading.query
    return replace(reading, started=known.started, due=known.due, failures=known.failures,
                   runs=reading.runs + mine, failed_runs=reading.failed_runs + (name in run.failed),
                   late_runs=reading.late_runs + (name in run.late))
