"""`weft stream`: runs the project's queries over sources that keep growing, until it is told to stop."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TextIO

import typer

from weft.cli.choice import PlanOptions
from weft.cli.commands import sink_argument
from weft.cli.forcing import chosen
from weft.cli.output import CommandOutput
from weft.cli.project import Project, keep_apart, load_project
from weft.cli.signals import Signals, heard
from weft.cli.stream_table import AVAILABLE, CHECKPOINT, StreamTable, chosen_table, sink_for
from weft.cli.tables import counted
from weft.cli.view import View, chosen_view
from weft.cli.view.bounds import bound_lines, trigger_lines
from weft.cli.weaving import weave_all
from weft.io.formats import locate
from weft.io.sinks import Sink, console

if TYPE_CHECKING:
    from weft.loom import Loom
    from weft.spark.stream.handle import Stream
    from weft.spark.stream.metrics import MetricsListener
    from weft.spark.stream.progress import TriggerMetrics

# How soon a signal is obeyed, and how often a view that is told of triggers gets them.
POLL = 0.5
# Who does not want to wait for the running trigger sends a second signal.
FOREVER = float("inf")


@dataclass(frozen=True)
class StreamSettings:
    """Where a stream's state and answers go, and what else is said of it."""

    table: StreamTable
    sink: Sink

    @property
    def prints(self) -> bool:
        """Whether the answers are printed."""
        return self.sink.format == console.facts.name

    @property
    def arguments(self) -> dict[str, Any]:
        """What `Loom.start` is given; what nobody said is left to it."""
        table = self.table
        said = {"trigger": table.trigger, "max_clock_skew": table.max_clock_skew, "dead_letters": table.dead_letters}
        given = {name: value or None for name, value in said.items() if value is not None}
        drift = {} if table.drift_tolerance is None else {"drift_tolerance": table.drift_tolerance}
        return {"checkpoint": table.checkpoint, "sink": sink_argument(self.sink), **given, **drift}


def stream(output: CommandOutput, folder: Path | None, names: Sequence[str], choice: PlanOptions, asked: StreamTable,
           as_json: bool) -> None:
    """Starts the stream, shows it, and ends with it."""
    project = load_project(folder)
    settings = settings_of(project, asked)
    arguments = {**settings.arguments, "queries": list(names) or None, **chosen(project, choice)}
    view = chosen_view(output, as_json, settings.prints)
    told: SimpleQueue[TriggerMetrics] = SimpleQueue()
    meter = new_meter(told.put)
    with endpoint(settings.table, meter):
        with output.progress("starting Spark") as report:
            loom = weave_all(project, names, report).loom
        bounds = {query.name: query.every for query in loom.queries if query.every}
        for told_of in trigger_lines(settings.table.trigger, bounds):
            print(told_of, file=sys.stderr)
        try:
            with printing(output, settings.prints and not as_json):
                watch(loom, arguments, meter, view, lambda: tell_all(told, view, output.stdout))
        finally:
            loom.close()
    view.end(meter.readings())
    for told_of in bound_lines(meter.readings(), bounds):
        print(told_of, file=sys.stderr)


def printing(output: CommandOutput, answers: bool) -> AbstractContextManager[object]:
    """Lets what is printed reach stdout where that is the answers."""
    return redirect_stdout(output.stdout) if answers else nullcontext()


def settings_of(project: Project, asked: StreamTable) -> StreamSettings:
    """The settings of a project with what the command line says, once nothing that is written lies where rows are."""
    table = chosen_table(project.stream, asked)
    table = replace(table, checkpoint=table.checkpoint or locate(project.folder, CHECKPOINT))
    sink = sink_for(project.folder, project.sink, table.sink)
    for source in project.sources:
        keep_apart(source, sink.path)
        keep_apart(source, table.checkpoint, "checkpoint")
        keep_apart(source, table.dead_letters, "folder of dead letters")
    return StreamSettings(table, sink)


def one_trigger(trigger: str | None, once: bool) -> str | None:
    """The trigger that the command line asks for."""
    if trigger is not None and once:
        raise typer.BadParameter("give one of them, not both.", param_hint="--trigger / --once")
    if trigger is not None and not trigger.strip():
        raise typer.BadParameter('write a length of time such as "10 seconds".', param_hint="--trigger")
    return AVAILABLE if once else trigger


def new_meter(observe: Callable[[TriggerMetrics], None]) -> MetricsListener:
    """The meter of the stream."""
    # Spark takes a second to import: what needs no Spark must not wait for it.
    from weft.spark.stream.metrics import MetricsListener

    return MetricsListener(observe)


@contextmanager
def endpoint(table: StreamTable, meter: MetricsListener) -> Iterator[None]:
    """Serves the meter's readings where that is wanted; before Spark starts, as a port may be taken."""
    if table.metrics_port is None:
        yield
        return
    from weft.server.endpoint import HOST, serving

    with serving(table.metrics_port, meter.readings, table.metrics_host or HOST) as address:
        print(f"Metrics are on {address}/metrics.", file=sys.stderr)
        yield


def watch(loom: Loom, arguments: dict[str, Any], meter: MetricsListener, view: View, tell: Callable[[], bool]) -> None:
    """Runs the stream with the view open until it ends or is asked to; raises where it fails."""
    from weft.spark.stream.metrics import listen_to

    with heard() as signals:
        running = loom.start(**arguments)
        with stopped(running), listen_to(loom.spark, meter, running.scans):
            announce(running)
            try:
                with view.open(meter.readings):
                    until_end(running, signals, tell)
            finally:
                if not any(scan.query.isActive for scan in running.scans):
                    meter.settle()
                tell()


@contextmanager
def stopped(running: Stream) -> Iterator[None]:
    """Sees to it that no query runs on after the body, whatever ended that."""
    try:
        yield
    finally:
        if any(scan.query.isActive for scan in running.scans):
            running.stop()


def announce(running: Stream) -> None:
    """Says on stderr what has started."""
    names = {name for scan in running.scans for name in scan.queries}
    text = f"Streaming {counted(len(names), 'query')} in {counted(len(running.scans), 'scan')}"
    print(f"{text}; Ctrl-C or SIGTERM stops after the running trigger.", file=sys.stderr)


def until_end(running: Stream, signals: Signals, tell: Callable[[], bool]) -> None:
    """Waits for the end, or brings it about when it is asked for or when nobody reads any more."""
    stopping, said = False, 0
    while not running.awaitTermination(POLL):
        if not tell():
            signals.ask()
        for decision in running.decisions[said:]:
            print(decision.reason, file=sys.stderr)
            said += 1
        if signals.asked and not stopping:
            stopping = True
            print("Stopping after the running trigger; once more stops at once.", file=sys.stderr)
            running.stop(FOREVER)


def tell_all(told: SimpleQueue[TriggerMetrics], view: View, stdout: TextIO) -> bool:
    """Gives the view what has come, here in the main thread; False where nobody reads stdout any more."""
    try:
        while True:
            view.tell(told.get_nowait())
    except Empty:
        return True
    except BrokenPipeError:
        # Python writes what is left when it exits, and would complain once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
        return False
