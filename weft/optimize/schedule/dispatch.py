"""What runs next: earliest deadline first, never interrupted, late and due groups in one run.

Pure functions over frozen values, and the one loop that asks them. Whoever runs a schedule follows this loop with a
clock and a way to execute a run of its own: simulations with a clock that only counts, the runner of a project with
the machine's. So both decide alike by construction. Times are whole microseconds; a state is plain numbers, which may
be kept and taken up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from weft.optimize.schedule.problem import MINUTE
from weft.optimize.schedule.timetable import Timetable


@dataclass(frozen=True)
class BackOff:
    """How long a group that failed waits: `first`, then twice as long after each further failure, at most `most`."""

    first: int = MINUTE
    most: int = 60 * MINUTE

    def delay(self, failures: int) -> int:
        """The wait after so many failures in a row."""
        return min(self.first << min(failures - 1, 60), self.most)


@dataclass(frozen=True)
class RunRules:
    """By what runs are chosen: when groups are due, their bounds, and whether late groups join those that are due.

    With `merge` all that is late or due is one run (003, late-pending sharing). Without it only what became due at
    the same moment is, and the earliest deadline goes first. Groups that have failed no more than `tried_together`
    times in a row are tried again together; who finds out by itself which of them fails need never try each alone.
    """

    timetable: Timetable
    bounds: tuple[int, ...]
    merge: bool = True
    back_off: BackOff = BackOff()
    tried_together: int = 1


@dataclass(frozen=True)
class GroupState:
    """When a group is due, when its last good run started, and how often it has failed since."""

    due: int
    started: int | None = None
    failures: int = 0


RunState = tuple[GroupState, ...]


@dataclass(frozen=True)
class NextRun:
    """Groups that run now, and which of them are past their bound; no groups: nothing is due before `at`."""

    at: int
    members: tuple[int, ...] = ()
    late: tuple[int, ...] = ()


@dataclass(frozen=True)
class FinishedRun:
    """A run that is over: when it started and ended, its groups, those that were late, those that failed."""

    at: int
    finished: int
    members: tuple[int, ...]
    late: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


def first_state(rules: RunRules, now: int, started: Sequence[int | None] = ()) -> RunState:
    """The state in which a runner begins: what has never run is due at once, the rest by when it last did."""
    known = started or [None] * len(rules.bounds)
    return tuple(GroupState(now if last is None else rules.timetable.next_due(g, last), last)
                 for g, last in enumerate(known))


def next_run(now: int, rules: RunRules, state: RunState) -> NextRun:
    """The run that starts now, or until when nothing is due."""
    ready = [g for g, known in enumerate(state) if known.due <= now]
    if not ready:
        return NextRun(min(known.due for known in state))
    chosen = min(runs_apart(ready, rules, state),
                 key=lambda members: (min(deadline(g, rules, state) for g in members), members))
    return NextRun(now, chosen, tuple(g for g in chosen if is_late(g, now, rules, state)))


def set_back(now: int, rules: RunRules, state: RunState) -> RunState:
    """The state in which no group waits longer than if its last run were now.

    That changes nothing unless the clock was set back, by which it would else all wait so much longer.
    """
    found = list(state)
    for g, known in enumerate(state):
        if known.due > now and (known.started is None or known.started > now or known.failures):
            latest = latest_due(g, now, rules, known)
            started = None if known.started is None else min(known.started, now)
            found[g] = GroupState(min(known.due, latest), started, known.failures)
    return tuple(found)


def latest_due(group: int, now: int, rules: RunRules, known: GroupState) -> int:
    """When a group would be due whose last run, good or not, were now."""
    if known.failures:
        return now + rules.back_off.delay(known.failures)
    return now if known.started is None else rules.timetable.next_due(group, now)


def runs_apart(ready: Iterable[int], rules: RunRules, state: RunState) -> list[tuple[int, ...]]:
    """The runs that could start now, of which one does.

    What failed never runs with what did not, so that it cannot fail it too. After a first failure, which may have been
    the machine's, groups are tried again together; after a second each is alone, unless the rules say otherwise.
    """
    runs: dict[tuple[int, int], list[int]] = {}
    for g in ready:
        failures = state[g].failures
        key = g if failures > rules.tried_together else 0 if rules.merge else state[g].due
        runs.setdefault((min(failures, 2), key), []).append(g)
    return [tuple(members) for members in runs.values()]


def deadline(group: int, rules: RunRules, state: RunState) -> int:
    """Until when a group should run: its bound after its last good run; at once if it has had none.

    One that fails has its bound from when it may be tried again: it neither goes before the others nor waits for ever.
    """
    known = state[group]
    if known.failures:
        return known.due + rules.bounds[group]
    return known.due if known.started is None else known.started + rules.bounds[group]


def is_late(group: int, now: int, rules: RunRules, state: RunState) -> bool:
    """Whether a group's bound has run out."""
    started = state[group].started
    return started is not None and now > started + rules.bounds[group]


def after_run(run: FinishedRun, rules: RunRules, state: RunState) -> RunState:
    """The state after a run. Occurrences that were missed are one with it: what comes next is later than its start."""
    found = list(state)
    for g in run.members:
        if g in run.failed:
            failures = state[g].failures + 1
            found[g] = GroupState(run.finished + rules.back_off.delay(failures), state[g].started, failures)
        else:
            found[g] = GroupState(rules.timetable.next_due(g, run.at), run.at)
    return tuple(found)


class RunClock(Protocol):
    """Time as a runner sees it."""

    def now(self) -> int:
        """Microseconds since the epoch."""

    def wait_until(self, moment: int) -> bool:
        """Waits until a moment or less long; False where the runner should end."""


Execute = Callable[[NextRun], Iterable[int]]  # runs the groups and says which of them failed


def follow(rules: RunRules, state: RunState, clock: RunClock,
           execute: Execute) -> Iterator[tuple[FinishedRun, RunState]]:
    """Every run that there is to do, each with the state after it, until the clock says no more."""
    while True:
        now = clock.now()
        state = set_back(now, rules, state)
        run = next_run(now, rules, state)
        if run.members:
            failed = tuple(execute(run))
            done = FinishedRun(run.at, clock.now(), run.members, run.late, failed)
            state = after_run(done, rules, state)
            yield done, state
        elif not clock.wait_until(run.at):
            return
