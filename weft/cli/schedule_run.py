"""`weft schedule run`: runs the project's queries whenever they are due, until it is told to stop."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from weft.catalog.database import FILE, open_catalog
from weft.cli.choice import PlanOptions
from weft.cli.commands import chosen_sink, keeping, sink_argument
from weft.cli.forcing import chosen
from weft.cli.output import CommandOutput
from weft.cli.project import load_project
from weft.cli.schedule_project import required_store
from weft.cli.signals import heard
from weft.cli.tables import counted, few
from weft.cli.weaving import weave_all
from weft.cli.windows import LENGTH, UNITS
from weft.errors import PlanError
from weft.runner.choice import known_by
from weft.runner.lease import refuse_held
from weft.runner.reading import SECOND, RunnerReading, ScheduledRun

if TYPE_CHECKING:
    from weft.runner.runner import ScheduleRunner

NAMED = 4


@dataclass(frozen=True)
class RunRequest:
    """What the command line asks for: the policy, when to end, where answers go, and where metrics are."""

    policy: str | None = None
    once: bool = False
    length: str | None = None
    runs: int | None = None
    sink: str | None = None
    metrics_port: int | None = None
    metrics_host: str | None = None
    changes: str | None = None

    @property
    def micros(self) -> int | None:
        """How long it shall run."""
        return None if self.length is None else read_length(self.length)


def run_schedule(output: CommandOutput, folder: Path | None, names: Sequence[str], choice: PlanOptions,
                 asked: RunRequest, as_json: bool) -> None:
    """Follows the schedule, tells every run, and ends when it is asked to."""
    length, policy = asked.micros, checked_policy(asked.policy)
    project = load_project(folder)
    sink, store = chosen_sink(project, asked.sink), required_store(project, choice.store)
    made_with = chosen(project, choice)
    refuse_other_runner(store)
    with output.progress("starting Spark") as report:
        loom = weave_all(project, (), report).loom  # all are planned, whichever run
    with keeping(loom, store), heard() as signals:
        runner = loom.schedule(sink=sink_argument(sink), policy=policy, queries=list(names) or None,
                               changes=asked.changes or project.changes, **made_with)
        signals.obey = runner.stop
        with runner, endpoint(asked, runner.reading):
            if signals.asked:
                runner.stop()
            announce(runner)
            until = None if length is None else runner.reading().now + length
            tell = told(output.stdout, line_of_json if as_json else line, runner)
            for run in runner.runs(until, asked.runs, asked.once):
                tell(run)
    print(summary(runner.reading()), file=sys.stderr)


def refuse_other_runner(store: Path) -> None:
    """Raises where another runner has the store: before Spark starts, as that takes a while."""
    if (store / FILE).exists():
        with open_catalog(store / FILE) as catalog:
            refuse_held(catalog)


def read_length(text: str) -> int:
    """The microseconds of a length such as 90s, 10m or "2 hours"."""
    found = LENGTH.fullmatch(text.strip())
    if found and found[2].lower() in UNITS and Fraction(found[1]) > 0:
        return int(Fraction(found[1]) * UNITS[found[2].lower()])
    # The SQL reader takes a while to import, and only longer spellings need it.
    from weft.sql.freshness import parse_bound

    try:
        return parse_bound(text)
    except PlanError:
        raise typer.BadParameter(f"'{text}' is no length of time: write one such as 90s, 10m or 8h.",
                                 param_hint="--for") from None


def checked_policy(name: str | None) -> str | None:
    """The policy, if there is one of the name."""
    from weft.cli.schedule import chosen_policies

    return next(policy.name for policy in chosen_policies([name])) if name is not None else None


@contextmanager
def endpoint(asked: RunRequest, read: Callable[[], RunnerReading]) -> Iterator[None]:
    """Serves the runner's readings where that is wanted."""
    if asked.metrics_port is None:
        yield
        return
    from weft.server.endpoint import HOST, serving
    from weft.server.schedule import METRICS, health

    with serving(asked.metrics_port, read, asked.metrics_host or HOST, metrics=METRICS, healthy=health) as address:
        print(f"Metrics are on {address}/metrics.", file=sys.stderr)
        yield


def announce(runner: ScheduleRunner) -> None:
    """Says on stderr what has started."""
    made = runner.chosen
    print(f"Running {counted(len(made.queries), 'query')} by {made.policy.name}, which needs {made.utilisation:.1%} of "
          f"the time ({known_by(made)}); Ctrl-C or SIGTERM ends it after the running run.", file=sys.stderr)


def told(stdout: TextIO, spell: Callable[[ScheduledRun], str],
         runner: ScheduleRunner) -> Callable[[ScheduledRun], None]:
    """What writes a line for each run; where nobody reads it any more the runner ends."""
    def tell(run: ScheduledRun) -> None:
        try:
            print(spell(run), file=stdout, flush=True)
        except BrokenPipeError:
            # Python writes what is left when it exits, and would complain once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
            runner.stop()

    return tell


def line_of_json(run: ScheduledRun) -> str:
    """A run for machines."""
    return json.dumps(run.to_dict(), ensure_ascii=False)


def line(run: ScheduledRun) -> str:
    """A run for people: what ran, how long, how late it was, and what is next."""
    parts = [f"{clock(run.at)} {few(run.queries, NAMED)}: {run.seconds:.2f} s", f"{counted(run.new_files, 'new file')}"]
    if run.late:
        parts.append(f"{counted(len(run.late), 'query')} up to {max(run.late.values()):.1f} s late")
    wait = (run.next_at - run.finished) / SECOND
    ahead = f"next {few(run.next_queries, NAMED)} " + (f"in {wait:.1f} s" if wait > 0 else "at once")
    failed = [f"\n         {name} failed: {why}" for name, why in run.failed.items()]
    return ", ".join(parts) + "; " + ahead + "".join(failed)


def clock(micros: int) -> str:
    """The time of day in UTC."""
    return datetime.fromtimestamp(micros / SECOND, UTC).strftime("%H:%M:%S")


def summary(reading: RunnerReading) -> str:
    """What the runner did, as a sentence."""
    failed = f", {reading.failed_runs} of them with failures" if reading.failed_runs else ""
    return (f"Ended after {counted(reading.runs, 'run')}{failed}; it was busy for {reading.utilisation:.0%} of the "
            "time. Started again it goes on from here.")
