"""Starting a stream: the page of its checkpoint, a flow and a Spark query for each scan."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from weft.errors import RunError
from weft.io.arrivals import StreamInput
from weft.io.files import list_entries, open_filesystem
from weft.io.formats import absolute
from weft.io.java import Py4JError, spark_reason
from weft.io.sinks import AnswerSink, MemorySink
from weft.model.graph import StageGraph
from weft.model.plan import SharedPlan
from weft.model.stages import PartialStage
from weft.spark.session.connect import prepare_callback
from weft.spark.session.session import temporary_settings
from weft.spark.session.workers import require_workers
from weft.spark.stages.partitions import PARTITIONS, shuffle_partitions
from weft.spark.stream.backfill import read_backfilled, remove_histories
from weft.spark.stream.checkpoint import Checkpoint, Identity, write_checkpoint
from weft.spark.stream.checkpoint_files import checkpoint_file_settings
from weft.spark.stream.deliver import deliver
from weft.spark.stream.flow import SETTINGS, Flow, build_flow, build_join_flow
from weft.spark.stream.handle import POLL, RunningScan, Stream, last_trigger
from weft.spark.stream.join import join_arrivals, join_of
from weft.spark.stream.outputs import outputs_for
from weft.spark.stream.row_windows import build_row_flow
from weft.spark.stream.scan_plans import Deliveries, Delivery, FixedDelivery, ScanPlans
from weft.spark.stream.sinks import DeadLetterSink, StreamSink, make_stream_sink
from weft.spark.stream.surroundings import find_environment

SCAN = "scan-"
NOTHING: Mapping[str, Flow] = MappingProxyType({})
# How many seconds a scan may take to start its Python processes before the next scan does.
STAGGER = 2.0


@dataclass(frozen=True)
class StreamOptions:
    """How a stream shall run: where its state and its answers go, how often, some scans otherwise than the others, and
    which clocks are believed."""

    checkpoint: str
    sink: AnswerSink
    trigger: str | None = None
    max_clock_skew: int | None = None
    dead_letters: str | None = None
    triggers: Mapping[str, str] = field(default_factory=dict)

    def trigger_of(self, scan: str) -> str | None:
        """The trigger of a scan, by its name."""
        return self.triggers.get(scan, self.trigger)

    @property
    def letters(self) -> str:
        """Where rows go that cannot be used."""
        return absolute(self.dead_letters or f"{self.checkpoint.rstrip('/')}/dead_letters")


def make_page(spark: SparkSession, page: Checkpoint | None, plan: SharedPlan, stages: StageGraph,
              arrivals: Mapping[str, StreamInput], wanted: StreamOptions, delays: Mapping[str, int],
              identity: Identity) -> Checkpoint:
    """The page of a stream that starts anew or goes on; raises where it would go on otherwise than it began."""
    around = find_environment(spark, arrivals.values(), wanted.sink)
    page = page or Checkpoint.new(plan, stages, shuffle_partitions(spark), delays, around, identity)
    return page.carried_on(wanted.checkpoint, around, plan.queries, stages)


def start_stream(spark: SparkSession, plan: SharedPlan, stages: StageGraph,
                 arrivals: Mapping[str, StreamInput], wanted: StreamOptions, page: Checkpoint, ansi: bool,
                 tables: Mapping[str, DataFrame], only: Collection[str] | None = None,
                 when_written: Callable[[], None] = lambda: None, built: Mapping[str, Flow] = NOTHING) -> Stream:
    """Start every scan of a plan, or none; `tables` are the sources that streams are joined with. Of a stream that runs
    only some scans are started, by their names; what is to be done once the page is written is done first. Flows that
    were built for an earlier page get the plans of this one."""
    memory = wanted.sink if isinstance(wanted.sink, MemorySink) else None
    if only is None:
        require_idle(spark, wanted.checkpoint, page)
    require_workers(spark)
    # The session is the user's, too: where no scan starts its settings stay as they are.
    idle = only is not None and not only
    with nullcontext() if idle else temporary_settings(spark, stream_settings(page)):
        try:
            scans = [scan for scan in stages.scans if only is None or scan_name(scan) in only]
            flows = {scan_name(scan): built.get(scan_name(scan))
                     or build_scan_flow(spark, scan, arrivals, wanted, page, ansi, tables) for scan in scans}
            write_checkpoint(wanted.checkpoint, page)  # before anything starts, and only if all of it can
            when_written()
            remove_scans(wanted.checkpoint, page)
            rows = {scan_name(scan): scan.root.stage for scan in scans}
            starters = list(build_starters(spark, flows, rows, wanted, page))
            for scan, (name, *_, plans) in zip(scans, starters, strict=True):
                if name in built:
                    choose = outputs_for(spark, wanted.sink, name)
                    plans.put_in_place(plans.prepare(scan, page.kept_buckets(scan), ansi, choose, page.plan_version))
            return start_all(starters, plan, memory)
        except (PySparkException, Py4JError) as error:
            if "another query with same id is already active" in str(error):
                raise checkpoint_in_use(wanted.checkpoint) from error
            raise RunError(f"Spark could not start the stream: {spark_reason(error)}") from error


def wait_for_workers(query: StreamingQuery, patience: float = STAGGER) -> None:
    """Wait until a query has made its first trigger or waits for rows: all scans at once would start more Python
    processes than a small machine has up within Spark's ten seconds."""
    until = time.monotonic() + patience
    while query.isActive and last_trigger(query) is None and time.monotonic() < until:
        if str(query.status["message"]).startswith("Waiting"):
            return
        time.sleep(POLL / 4)


def start_all(starters: Sequence[tuple], plan: SharedPlan, memory: MemorySink | None) -> Stream:
    """All scans started, or none."""
    scans: list[RunningScan] = []
    try:
        for name, queries, labels, start, finish, deliverer, plans in starters:
            for scan in scans[-1:]:
                wait_for_workers(scan.query)
            scans.append(RunningScan(name, queries, labels, start(), start, finish, plans, deliverer=deliverer))
    except BaseException:
        Stream(plan, scans).stop()
        raise
    return Stream(plan, scans, memory)


def build_early(spark: SparkSession, scans: Iterable[StageGraph], arrivals: Mapping[str, StreamInput],
                wanted: StreamOptions, page: Checkpoint, ansi: bool,
                tables: Mapping[str, DataFrame]) -> dict[str, Flow]:
    """The flows of scans that shall start with a page that is like this one and not known yet: all of them whose
    workers can take the plans of that one later."""
    with temporary_settings(spark, stream_settings(page)):
        try:
            made = {scan_name(scan): build_scan_flow(spark, scan, arrivals, wanted, page, ansi, tables)
                    for scan in scans}
        except (PySparkException, Py4JError) as error:
            raise RunError(f"Spark could not start the stream: {spark_reason(error)}") from error
    return {name: flow for name, flow in made.items() if flow.folder}


def remove_scans(path: str, page: Checkpoint) -> None:
    """Remove the state and the history of scans that a stream does not have any more; a crash may have left it."""
    files, root = open_filesystem(path)
    for info in list_entries(files, root) if page.plan_version > 1 else ():
        if info.base_name.startswith(SCAN) and info.base_name.removeprefix(SCAN) not in page.state:
            files.delete_dir(info.path)
    remove_histories(path, page)


def query_name(page: Checkpoint, scan: str) -> str:
    """The name of a scan's Spark query, which no other stream of the session has."""
    return f"weft {page.identity[:12]} {scan}"


def require_idle(spark: SparkSession, path: str, page: Checkpoint) -> None:
    """Raise where a stream of this session runs from the checkpoint: two would write the same state."""
    if any((query.name or "").startswith(query_name(page, "")) for query in spark.streams.active):
        raise checkpoint_in_use(path)


def checkpoint_in_use(path: str) -> RunError:
    """What is wrong where a checkpoint has a stream that runs."""
    return RunError(f"a stream that was started from the checkpoint '{path}' runs in this program: stop it first, or "
                    "give this one a checkpoint and a sink of its own.")


def build_scan_flow(spark: SparkSession, scan: StageGraph, arrivals: Mapping[str, StreamInput], wanted: StreamOptions,
                    page: Checkpoint, ansi: bool, tables: Mapping[str, DataFrame]) -> Flow:
    """A scan over its source as a stream."""
    stage = scan.root.stage
    if join := join_of(scan):
        found = join_arrivals(spark, scan, join, arrivals, tables, wanted.max_clock_skew)
        delay = max(arrivals[each.source].delay(spark) for each in join.inputs if each.time)
        return build_join_flow(scan, found, delay, page.kept_buckets(scan), ansi,
                               outputs_for(spark, wanted.sink, scan_name(scan)))
    arrival = arrivals[stage.source]
    rows = read_backfilled(arrival.read(spark), stage, page.state[scan.root.id], wanted.checkpoint)
    given = (scan, rows, arrival.delay(spark), wanted.max_clock_skew, page.kept_buckets(scan), ansi)
    if stage.counts_rows:
        return build_row_flow(*given)
    return build_flow(*given, outputs_for(spark, wanted.sink, scan_name(scan)))


def scan_name(scan: StageGraph) -> str:
    """The name of a scan's Spark query and of its folder in the checkpoint, by what its slices mean."""
    return f"{SCAN}{scan.root.id}"


def stream_settings(page: Checkpoint) -> dict[str, str]:
    """What the session is set to while a scan starts."""
    return {**SETTINGS, PARTITIONS: str(page.partitions)}


def start_writer(spark: SparkSession, writer: DataStreamWriter, settings: Mapping[str, str]) -> StreamingQuery:
    """Start a scan, or start it again."""
    with temporary_settings(spark, settings):
        query = writer.start()
        wait_for_sources(query)
        return query


def wait_for_sources(query: StreamingQuery, patience: float = STAGGER) -> None:
    """Wait until a query has opened its sources, which it does after it has been started and by the settings that the
    session has then."""
    until = time.monotonic() + patience
    while query.isActive and str(query.status["message"]).startswith("Initializing") and time.monotonic() < until:
        time.sleep(POLL / 20)


def finish_trigger(spark: SparkSession, writer: DataStreamWriter, settings: Mapping[str, str],
                   trigger: str | None) -> None:
    """Let a scan that was stopped do the trigger that it had begun, and no other."""
    try:
        start_writer(spark, writer.trigger(once=True), settings).awaitTermination()
    finally:
        set_trigger(writer, trigger or "0 seconds")


def build_starters(spark: SparkSession, flows: Mapping[str, Flow], rows: Mapping[str, PartialStage],
                   wanted: StreamOptions, page: Checkpoint) -> Iterator[tuple]:
    """For each flow its name, its queries, what it counts, what starts it and finishes a trigger, who delivers its
    triggers, and its plans."""
    settings = {**stream_settings(page), **checkpoint_file_settings(spark, wanted.checkpoint)}
    for name, flow in flows.items():
        version = page.state[name.removeprefix(SCAN)].get("version", 1)
        target = make_stream_sink(wanted.sink, page.identity, name)
        queries = tuple(asked.name for part in flow.parts for asked in part.stage.queries)
        plans = ScanPlans(flow, rows[name], wanted.trigger_of(name), version) if flow.folder else None
        fixed = FixedDelivery(Delivery(flow.parts, flow.made, version))
        deliveries = plans.deliver if plans else fixed
        writer = build_writer(spark, flow, deliveries, target, wanted, name, query_name(page, name))
        mine = {**settings, **flow.settings}
        yield (name, queries, flow.labels, partial(start_writer, spark, writer, mine),
               partial(finish_trigger, spark, writer, mine, wanted.trigger_of(name)), plans or fixed, plans)


def build_writer(spark: SparkSession, flow: Flow, deliveries: Deliveries, target: StreamSink, wanted: StreamOptions,
                 name: str, title: str) -> DataStreamWriter:
    """What starts a scan."""
    dead = DeadLetterSink(f"{wanted.letters}/{name}")
    writer = flow.frame.writeStream.outputMode("append").queryName(title).foreachBatch(
        prepare_callback(spark, deliver(deliveries, target, dead, flow.suspect)))
    return set_trigger(writer.option("checkpointLocation", f"{wanted.checkpoint.rstrip('/')}/{name}"),
                       wanted.trigger_of(name))


def set_trigger(writer: DataStreamWriter, trigger: str | None) -> DataStreamWriter:
    """The writer with its trigger: as fast as it can, all that is there and then end, or every so often."""
    if trigger is None:
        return writer
    return writer.trigger(availableNow=True) if trigger == "available" else writer.trigger(processingTime=trigger)
