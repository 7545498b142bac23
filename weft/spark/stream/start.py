"""Starting a stream: the page of its checkpoint, a flow and a Spark query for each scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from weft.errors import RunError
from weft.io.arrivals import StreamInput
from weft.io.formats import absolute
from weft.io.java import Py4JError, spark_reason
from weft.io.sinks import AnswerSink, MemorySink
from weft.model.graph import StageGraph
from weft.model.plan import SharedPlan
from weft.spark.session.connect import prepare_callback
from weft.spark.session.session import temporary_settings
from weft.spark.session.workers import require_workers
from weft.spark.stream.checkpoint import Checkpoint, Identity, write_checkpoint
from weft.spark.stream.checkpoint_files import checkpoint_file_settings
from weft.spark.stream.deliver import deliver
from weft.spark.stream.flow import SETTINGS, Flow, build_flow
from weft.spark.stream.handle import Stream, set_trigger, start_all
from weft.spark.stream.outputs import outputs_for
from weft.spark.stream.row_windows import build_row_flow
from weft.spark.stream.sinks import DeadLetterSink, StreamSink, make_stream_sink
from weft.spark.stream.surroundings import find_environment

PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class StreamOptions:
    """How a stream shall run: where its state and its answers go, how often, and which clocks are believed."""

    checkpoint: str
    sink: AnswerSink
    trigger: str | None = None
    max_clock_skew: int | None = None
    dead_letters: str | None = None

    @property
    def letters(self) -> str:
        """Where rows go that cannot be used."""
        return absolute(self.dead_letters or f"{self.checkpoint.rstrip('/')}/dead_letters")


def shuffle_partitions(spark: SparkSession) -> int:
    """How many partitions, and buckets of keys, a new stream has."""
    return int(str(spark.conf.get(PARTITIONS)))


def make_page(spark: SparkSession, page: Checkpoint | None, plan: SharedPlan, stages: StageGraph,
              arrivals: Mapping[str, StreamInput], wanted: StreamOptions, delays: Mapping[str, int],
              identity: Identity) -> Checkpoint:
    """The page of a stream that starts anew or goes on; raises where it would go on otherwise than it began."""
    around = find_environment(spark, arrivals.values(), wanted.sink)
    page = page or Checkpoint.new(plan, stages, shuffle_partitions(spark), delays, around, identity)
    return page.carried_on(wanted.checkpoint, around, plan.queries, stages)


def start_stream(spark: SparkSession, plan: SharedPlan, stages: StageGraph,
                 arrivals: Mapping[str, StreamInput],
                 wanted: StreamOptions, page: Checkpoint, ansi: bool) -> Stream:
    """Start every scan of a plan, or none."""
    memory = wanted.sink if isinstance(wanted.sink, MemorySink) else None
    require_idle(spark, wanted.checkpoint, page)
    require_workers(spark)
    with temporary_settings(spark, stream_settings(page)):
        try:
            flows = {scan_name(scan): build_scan_flow(spark, scan, arrivals, wanted, page, ansi)
                     for scan in stages.scans}
            write_checkpoint(wanted.checkpoint, page)  # before anything starts, and only if all of it can
            return start_all(list(build_starters(spark, flows, wanted, page)), plan, memory)
        except (PySparkException, Py4JError) as error:
            if "another query with same id is already active" in str(error):
                raise checkpoint_in_use(wanted.checkpoint) from error
            raise RunError(f"Spark could not start the stream: {spark_reason(error)}") from error


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
                    page: Checkpoint,
                    ansi: bool) -> Flow:
    """A scan over its source as a stream."""
    stage = scan.root.stage
    arrival = arrivals[stage.source]
    given = (scan, arrival.read(spark), arrival.delay(spark), wanted.max_clock_skew, page.buckets(scan), ansi)
    if stage.counts_rows:
        return build_row_flow(*given)
    return build_flow(*given, outputs_for(spark, wanted.sink, scan_name(scan)))


def scan_name(scan: StageGraph) -> str:
    """The name of a scan's Spark query and of its folder in the checkpoint, by what its slices mean."""
    return f"scan-{scan.root.id}"


def stream_settings(page: Checkpoint) -> dict[str, str]:
    """What the session is set to while a scan starts."""
    return {**SETTINGS, PARTITIONS: str(page.partitions)}


def start_writer(spark: SparkSession, writer: DataStreamWriter, settings: Mapping[str, str]) -> StreamingQuery:
    """Start a scan, or start it again."""
    with temporary_settings(spark, settings):
        return writer.start()


def build_starters(spark: SparkSession, flows: Mapping[str, Flow], wanted: StreamOptions,
                   page: Checkpoint) -> Iterator[tuple]:
    """For each flow its name, its queries, what it counts, and what starts it."""
    settings = {**stream_settings(page), **checkpoint_file_settings(spark, wanted.checkpoint)}
    for name, flow in flows.items():
        target = make_stream_sink(wanted.sink, page.identity, name)
        queries = tuple(asked.name for part in flow.parts for asked in part.stage.queries)
        writer = build_writer(spark, flow, target, wanted, name, query_name(page, name))
        yield name, queries, flow.labels, partial(start_writer, spark, writer, settings)


def build_writer(spark: SparkSession, flow: Flow, target: StreamSink, wanted: StreamOptions, name: str,
                 title: str) -> DataStreamWriter:
    """What starts a scan."""
    dead = DeadLetterSink(f"{wanted.letters}/{name}")
    writer = flow.frame.writeStream.outputMode("append").queryName(title).foreachBatch(
        prepare_callback(spark, deliver(flow.parts, target, dead, flow.suspect, flow.made)))
    return set_trigger(writer.option("checkpointLocation", f"{wanted.checkpoint.rstrip('/')}/{name}"), wanted.trigger)
