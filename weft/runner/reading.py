"""What is known of a runner at a moment, and of each run: values for views, JSON and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

SECOND = 1_000_000
LATELY = 600 * SECOND  # what utilisation is of


@dataclass(frozen=True)
class ScheduledRun:
    """A run that is over: when it started and ended by the runner's clock, in µs, and the seconds it took.

    `failed` has why for each query that failed, `late` by how many seconds a bound had run out when the run started, if
    by more than the machine takes to wake up.
    `next_at` is when the next run is due, and `next_queries` what it has as far as is known now.
    """

    at: int
    finished: int
    seconds: float
    queries: tuple[str, ...]
    failed: Mapping[str, str]
    late: Mapping[str, float]
    new_files: int
    next_at: int
    next_queries: tuple[str, ...]

    @property
    def answered(self) -> tuple[str, ...]:
        """The queries that have new answers."""
        return tuple(name for name in self.queries if name not in self.failed)

    def to_dict(self) -> dict[str, Any]:
        """The run for machines."""
        return {"at": moment_text(self.at), "finished": moment_text(self.finished), "seconds": round(self.seconds, 3),
                "queries": list(self.queries), "failed": dict(self.failed),
                "late": {name: round(value, 3) for name, value in self.late.items()}, "new_files": self.new_files,
                "next": {"at": moment_text(self.next_at), "queries": list(self.next_queries)}}


@dataclass(frozen=True)
class QueryReading:
    """A query: its bound, when its last good run started and when it is due, in µs, and counts since the runner
    started; `failures` are those in a row."""

    query: str
    bound: int
    started: int | None
    due: int
    failures: int = 0
    runs: int = 0
    failed_runs: int = 0
    late_runs: int = 0

    def age(self, now: int) -> float | None:
        """How old its answers are, in seconds; None where it has none."""
        return None if self.started is None else max(now - self.started, 0) / SECOND

    def lateness(self, now: int) -> float:
        """By how many seconds its answers are older than its bound allows."""
        return 0.0 if self.started is None else max(now - self.started - self.bound, 0) / SECOND


@dataclass(frozen=True)
class RunnerReading:
    """What is known of a runner now; `recent` are the runs of the last ten minutes."""

    policy: str
    since: int
    now: int
    active: bool
    queries: tuple[QueryReading, ...]
    runs: int = 0
    failed_runs: int = 0
    recent: tuple[ScheduledRun, ...] = ()
    planned: float = 0.0

    @property
    def utilisation(self) -> float:
        """The part of the last ten minutes, or since the start, in which something ran."""
        span = min(self.now - self.since, LATELY) / SECOND
        busy = sum(run.seconds for run in self.recent)
        return min(busy / span, 1.0) if span > 0 else 0.0


def moment_text(micros: int) -> str:
    """A moment in UTC as machines read it, to the millisecond."""
    when = datetime.fromtimestamp(micros / SECOND, UTC)
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
