"""`weft serve`: runs a project's stream and schedule, with an API and a page, until it is told to stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.catalog.database import FILE, open_catalog
from weft.cli.choice import PlanOptions
from weft.cli.commands import sink_argument
from weft.cli.forcing import chosen
from weft.cli.output import CommandOutput
from weft.cli.project import STORE, Project, load_project
from weft.cli.queries import matching
from weft.cli.schedule_project import required_store
from weft.cli.serve_table import PORT, ServeTable, chosen_serve, read_certificate, read_token, require_safe
from weft.cli.signals import Signals, heard
from weft.cli.stream import FOREVER, POLL, StreamSettings, settings_of
from weft.cli.stream_table import AVAILABLE, StreamTable
from weft.cli.tables import counted
from weft.cli.toml import FILE as TOML
from weft.cli.weaving import read_texts, readable_texts, weave_texts
from weft.errors import ProjectError
from weft.io.sinks import Sink
from weft.runner.lease import SERVICE, HeldLease, holding_lease

if TYPE_CHECKING:
    from weft.loom import Loom
    from weft.runner.runner import ScheduleRunner
    from weft.server.journal import Journal
    from weft.server.service import Service
    from weft.server.worker import SparkWorker
    from weft.spark.stream.handle import Stream

FOLDER = "serve"  # in .weft
QUERIES = "queries"


@dataclass(frozen=True)
class Serving:
    """A project that is served: what is said of it, and where the service keeps its own files."""

    project: Project
    table: ServeTable
    stream: StreamSettings

    @property
    def folder(self) -> Path:
        """The folder of the service's own files."""
        return self.project.folder / STORE / FOLDER

    @property
    def options(self) -> dict[str, Any]:
        """The algorithm and the optimizer that weft.toml insists on."""
        return chosen(self.project, PlanOptions())

    @property
    def letters(self) -> str:
        """Where dead letters go."""
        table = self.stream.table
        return table.dead_letters or f"{str(table.checkpoint).rstrip('/')}/dead_letters"

    def bounds(self, name: str) -> dict[str, Any]:
        """What weft.toml says of a query's bounds."""
        found = {"every": self.project.every.get(name), "shed": self.project.shed.get(name)}
        return {key: value for key, value in found.items() if value is not None}


def serve(output: CommandOutput, folder: Path | None, asked: ServeTable) -> None:
    """Opens the port, starts what runs, and ends with it."""
    project = load_project(folder)
    table = chosen_serve(project.serve, asked)
    what = Serving(project, table, settings_of(project, StreamTable()))
    token, certificate = read_token(table), read_certificate(table)
    host = table.host or "127.0.0.1"
    require_safe(host, token, certificate)
    # The web server takes a moment to import: other commands must not wait for it.
    from weft.cli.what_if_api import answer_windows
    from weft.server.app import service_app
    from weft.server.guard import Access, is_loopback
    from weft.server.listen import listening
    from weft.server.service_file import announced, this_service
    from weft.server.worker import SparkWorker

    service, worker = new_service(what), SparkWorker()
    app = service_app(service, worker, answer_windows, Access(token, is_loopback(host)))
    port = PORT if table.port is None else table.port
    with held(what) as lease, listening(app, port, host, certificate=certificate) as address, \
            announced(what.folder, this_service(address, token, certificate.file if certificate else None)):
        print(f"Serving {project.name} on {address}; Ctrl-C or SIGTERM stops it after the running trigger.",
              file=sys.stderr)
        run(output, what, service, lease, worker)


@contextmanager
def held(what: Serving) -> Iterator[HeldLease]:
    """The project is this service's while the body runs; raises where it is another's."""
    store = what.project.store or what.project.folder / STORE
    store.mkdir(parents=True, exist_ok=True)
    with open_catalog(store / FILE) as catalog, holding_lease(catalog, kind=SERVICE) as lease:
        yield lease


def new_service(what: Serving) -> Service:
    """The service before anything runs."""
    from weft.server.history import TriggerHistory
    from weft.server.query_files import QueryFiles
    from weft.server.service import Service, ServicePlaces
    from weft.spark.stream.metrics import MetricsListener

    history = TriggerHistory()
    places = ServicePlaces(QueryFiles(what.project.folder / QUERIES), readable(what.stream.sink),
                           readable(what.project.sink), what.letters)
    service = Service(what.project.name, places, MetricsListener(history.add), history)
    service.can_keep = lambda name: keeps(what.project, name)
    service.project_texts = partial(readable_texts, what.project)
    return service


def readable(sink: Sink) -> Sink | None:
    """The sink, if its answers lie in a folder."""
    return sink if sink.path is not None else None


def keeps(project: Project, name: str) -> bool:
    """Whether the project reads the file that a query of this name would be kept in."""
    path = project.folder / QUERIES / f"{name}.sql"
    return any(path.match(str(project.folder / pattern)) or path in matching(project.folder, pattern)
               for pattern in project.files)


def run(output: CommandOutput, what: Serving, service: Service, lease: HeldLease, worker: SparkWorker) -> None:
    """Starts everything, waits for the end, and ends everything."""
    from weft.server.drafts import Drafts
    from weft.server.resume import tidy_journal

    with heard() as signals, ExitStack() as stack:
        with output.progress("starting Spark"):
            texts = read_texts(what.project)
            journal, wanted = tidy_journal(what.folder, str(what.stream.table.checkpoint), service.places.files, texts)
            drafts = Drafts(weave_texts(what.project, wanted), wanted, what.options, what.bounds)
            stack.callback(drafts.loom.close)
            streams, schedules = chosen_runs(what, drafts.scheduled())
            running = start_stream(what, service, stack, (journal, wanted)) if streams else None
            service.drafts = drafts
            if running and service.stream:  # only now: what is shown of a weaving needs the drafts
                service.stream.when_woven(partial(show_woven, service, running))
                service.meter.follow_stream(running)  # one may be over already
            if schedules:
                start_schedule(what, service, stack)
            service.refresh()
            stack.callback(worker.close)  # the first to end: what it does is done before anything stops
        announce(service)
        try:
            until_end(running, service, lease, signals)
        except Exception as error:
            service.failure = str(error)
            raise


def chosen_runs(what: Serving, scheduled: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether to stream and whether to follow a schedule; raises where neither can be."""
    arrives = any(source.watermark for source in what.project.sources)
    run = what.table.run or ("stream" if arrives else "schedule")
    if run != "stream" and not scheduled:
        raise ProjectError(f"there is nothing to serve: for a stream give sources a watermark in {TOML}, for a "
                           'schedule give queries a bound, every = "5 minutes" in [queries].')
    if run != "schedule" and what.stream.table.trigger == AVAILABLE:
        raise ProjectError(f'{TOML}: stream.trigger "{AVAILABLE}" ends when all is read, and a service goes on: give '
                           'another, such as "10 seconds".')
    return run != "schedule", run != "stream"


def start_stream(what: Serving, service: Service, stack: ExitStack,
                 known: tuple[Journal, Mapping[str, str]]) -> Stream:
    """Starts the stream as it was left, and brings it to what the project says."""
    from weft.server.live import StreamChanges
    from weft.server.resume import reconcile, resume
    from weft.spark.stream.checkpoint import open_checkpoint
    from weft.spark.stream.metrics import listen_to

    journal, wanted = known
    page = open_checkpoint(str(what.stream.table.checkpoint))

    looms: list[Loom] = []

    def start(queries: Mapping[str, str]) -> Stream:
        looms.append(weave_texts(what.project, queries))
        stack.callback(looms[-1].close)
        return looms[-1].start(**what.stream.arguments, **what.options)

    stream, journal = resume(start, what.folder, journal, page, wanted)
    stack.callback(stop_stream, stream)
    stack.enter_context(listen_to(looms[-1].spark, service.meter, stream.scans))
    changes = StreamChanges(stream, journal, what.folder, what.project.every.get,
                            tuple(page.decisions) if page else (), service.meter.follow_stream)
    for name, reason in reconcile(changes, wanted):
        print(f"{name}: {reason}", file=sys.stderr)
    service.stream = changes
    return stream


def show_woven(service: Service, stream: Stream) -> None:
    """Count and show what runs after a plan was woven anew by itself."""
    service.meter.follow_stream(stream)
    service.refresh()


def stop_stream(stream: Stream) -> None:
    """Stops the stream after its running trigger."""
    if any(scan.query.isActive for scan in stream.scans):
        stream.stop(FOREVER)


def start_schedule(what: Serving, service: Service, stack: ExitStack) -> None:
    """Starts the runs of queries that have bounds."""
    from weft.server.schedule_runs import ScheduleRuns

    store, made = required_store(what.project, None), ExitStack()

    def start(texts: Mapping[str, str]) -> ScheduleRunner:
        made.close()  # the loom of the runner before this one
        loom = weave_texts(what.project, texts)
        loom.attach(store)
        made.callback(loom.close)
        return loom.schedule(sink=sink_argument(what.project.sink), changes=what.project.changes, **what.options)

    assert service.drafts is not None
    stack.callback(made.close)
    service.schedule = ScheduleRuns(start, {name: service.drafts.texts[name] for name in service.drafts.scheduled()})
    stack.callback(service.schedule.stop)


def announce(service: Service) -> None:
    """Says on stderr what has started."""
    streamed, scheduled = len(service.stream.running) if service.stream else 0, service.schedule
    parts = [f"{counted(streamed, 'query')} streamed"] if streamed else []
    parts += [f"{counted(len(scheduled.queries), 'query')} scheduled"] if scheduled else []
    print(f"Running: {', '.join(parts)}.", file=sys.stderr)
    waiting = [one["name"] for one in service.queries() if one["state"] != "runs"]
    if waiting:
        print(f"Not running as the project says: {', '.join(waiting)}. The page and /api/queries say why.",
              file=sys.stderr)


def until_end(running: Stream | None, service: Service, lease: HeldLease, signals: Signals) -> None:
    """Waits until an end is asked for; raises where something that runs has failed."""
    said = 0
    while not signals.asked:
        lease.require()
        if running is None:
            time.sleep(POLL)
        elif running.awaitTermination(POLL):
            raise ProjectError("the stream has ended by itself: start the service again.")
        if service.schedule and service.schedule.error:
            raise service.schedule.error
        for decision in running.decisions[said:] if running else ():
            print(decision.reason, file=sys.stderr)
            said += 1
    print("Stopping after the running trigger; once more stops at once.", file=sys.stderr)
