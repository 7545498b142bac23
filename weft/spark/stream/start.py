"""Starting a stream: the page of its checkpoint, a flow and a Spark query for each scan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from weft.errors import RunError
from weft.io.arrivals import Arrival
from weft.io.formats import absolute
from weft.io.java import Py4JError
from weft.io.kafka import KafkaSink
from weft.io.sinks import Sink
from weft.io.sources import reason
from weft.model.plan import SharedPlan
from weft.spark.stream.checkpoint import Checkpoint, Identity, keep_checkpoint
from weft.spark.session.connect import sendable
from weft.spark.stream.row_windows import counted_flow
from weft.spark.stream.sinks import Letters, Memory, Outlet, Receiver, deliver, outlet_for
from weft.spark.stream.handle import Stream, started, triggered
from weft.spark.session.session import set_for_a_while
from weft.spark.stream.flow import SETTINGS, Flow, flow_of
from weft.spark.stream.surroundings import surroundings_of
from weft.spark.session.workers import require_workers
from weft.stages.build import ScanStages

PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class Wanted:
    """How a stream shall run: where its state and its answers go, how often, and which clocks are believed."""

    checkpoint: str
    sink: Sink | KafkaSink | Receiver
    trigger: str | None = None
    future: int | None = None
    dead_letters: str | None = None

    @property
    def letters(self) -> str:
        """Where rows go that cannot be used."""
        return absolute(self.dead_letters or f"{self.checkpoint.rstrip('/')}/dead_letters")


def partitions_of(spark: SparkSession) -> int:
    """How many partitions, and buckets of keys, a new stream has."""
    return int(str(spark.conf.get(PARTITIONS)))


def page_of(spark: SparkSession, page: Checkpoint | None, plan: SharedPlan, stages: tuple[ScanStages, ...],
            arrivals: Mapping[str, Arrival], wanted: Wanted, delays: Mapping[str, int],
            identity: Identity) -> Checkpoint:
    """The page of a stream that starts anew or goes on; raises where it would go on otherwise than it began."""
    around = surroundings_of(spark, arrivals.values(), wanted.sink)
    page = page or Checkpoint.new(plan, stages, partitions_of(spark), delays, around, identity)
    return page.carried_on(wanted.checkpoint, around, plan.queries, stages, identity)


def start_stream(spark: SparkSession, plan: SharedPlan, stages: tuple[ScanStages, ...], arrivals: Mapping[str, Arrival],
                 wanted: Wanted, page: Checkpoint, ansi: bool) -> Stream:
    """Start every scan of a plan, or none."""
    memory = Memory() if isinstance(wanted.sink, Sink) and wanted.sink.format == "memory" else None
    sink = memory or wanted.sink
    require_idle(spark, wanted.checkpoint, page)
    require_workers(spark)
    with set_for_a_while(spark, settings_of(page)):
        try:
            flows = [flow_for(spark, scan, arrivals, wanted, page, ansi) for scan in stages]
            keep_checkpoint(wanted.checkpoint, page)  # before anything starts, and only if all of it can
            return started(list(starters_of(spark, flows, wanted, sink, page)), plan, memory)
        except (PySparkException, Py4JError) as error:
            if "another query with same id is already active" in str(error):
                raise in_use(wanted.checkpoint) from error
            raise RunError(f"Spark could not start the stream: {reason(error)}") from error


def query_name(page: Checkpoint, scan: str) -> str:
    """The name of a scan's Spark query, which no other stream of the session has."""
    return f"weft {page.identity[:12]} {scan}"


def require_idle(spark: SparkSession, path: str, page: Checkpoint) -> None:
    """Raise where a stream of this session runs from the checkpoint: two would write the same state."""
    if any((query.name or "").startswith(query_name(page, "")) for query in spark.streams.active):
        raise in_use(path)


def in_use(path: str) -> RunError:
    """What is wrong where a checkpoint has a stream that runs."""
    return RunError(f"a stream that was started from the checkpoint '{path}' runs in this program: stop it first, or "
                    "give this one a checkpoint and a sink of its own.")


def flow_for(spark: SparkSession, scan: ScanStages, arrivals: Mapping[str, Arrival], wanted: Wanted, page: Checkpoint,
             ansi: bool) -> Flow:
    """A scan over its source as a stream."""
    arrival = arrivals[scan.partial.source]
    flowing = counted_flow if scan.partial.counts_rows else flow_of
    return flowing(scan, arrival.read(spark), arrival.delay(spark), wanted.future, page.partitions, ansi)


def settings_of(page: Checkpoint) -> dict[str, str]:
    """What the session is set to while a scan starts."""
    return {**SETTINGS, PARTITIONS: str(page.partitions)}


def start_writer(spark: SparkSession, writer: DataStreamWriter, page: Checkpoint) -> StreamingQuery:
    """Start a scan, or start it again."""
    with set_for_a_while(spark, settings_of(page)):
        return writer.start()


def starters_of(spark: SparkSession, flows: Sequence[Flow], wanted: Wanted, sink: Sink | KafkaSink | Receiver | Memory,
                page: Checkpoint) -> Iterator[tuple]:
    """For each flow its name, its queries, what it counts, and what starts it."""
    for i, flow in enumerate(flows):
        name = f"scan-{i}"
        outlet = outlet_for(sink, page.identity, name)
        queries = tuple(asked.name for part in flow.parts for asked in part.stage.queries)
        writer = writer_of(spark, flow, outlet, wanted, name, query_name(page, name))
        yield name, queries, flow.labels, partial(start_writer, spark, writer, page)


def writer_of(spark: SparkSession, flow: Flow, outlet: Outlet, wanted: Wanted, name: str,
              title: str) -> DataStreamWriter:
    """What starts a scan."""
    dead = Letters(f"{wanted.letters}/{name}")
    writer = flow.frame.writeStream.outputMode("append").queryName(title).foreachBatch(
        sendable(spark, deliver(flow.parts, outlet, dead, flow.suspect)))
    return triggered(writer.option("checkpointLocation", f"{wanted.checkpoint.rstrip('/')}/{name}"), wanted.trigger)
