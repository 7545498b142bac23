"""Running a plan as a stream: a Spark query a scan, slices in the JVM, answers as the watermark closes windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.final import prompt
from weft.final.fold.partition import columns_read
from weft.io.arrivals import CORRUPT, DELAY, TIME, dead_letters, find_faults, keep_usable, validate_rows
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage, AskedQuery, FinalStage, PartialStage
from weft.slicing import slice_end, slice_start
from weft.spark.batch.run import QUERY, AnswerPart
from weft.spark.session.package_zip import pickle_by_value
from weft.spark.stages.final import answer_schema
from weft.spark.stages.partial import SLICE, aggregate_columns, key_columns, mark_columns, passing_above, to_micros
from weft.spark.stream import unpack
from weft.spark.stream.answer_counts import Labels
from weft.spark.stream.buckets import BucketPlan, KeptBuckets, bucket_slices, calls_after_change, plan_buckets
from weft.spark.stream.counts import count_table, observe_counts
from weft.spark.stream.join import JoinedArrivals, has_corrupt
from weft.spark.stream.outputs import ChooseOutputs
from weft.spark.stream.partial import END, cut_in_workers, is_cut_in_workers, rows_as_slices
from weft.spark.stream.state import ANSWERS, COUNT, DEAD_PART, PART, fold_buckets
from weft.spark.stream.worker_plans import WorkerPlan, WorkerPlans, plan_folder

START = "__weft_slice_start"  # stands beside the source's own columns

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Else a second start, from another session of the program, would end the first without a word.
    "spark.sql.streaming.stopActiveRunOnRestart": "false",
    # A batch costs milliseconds on its way to a worker, however few rows it has.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
}


@dataclass(frozen=True)
class TriggerPart(AnswerPart):
    """An answer stage over the answers of a trigger, which `slices` holds as bytes: those of all its queries, of which
    one may be `chosen`."""

    id: str = ""
    schema: StructType | None = None
    chosen: str = ""

    def only(self, asked: AskedQuery) -> TriggerPart:
        """The part whose result is that of one query; the others' answers came with the trigger all the same."""
        return replace(self, chosen=asked.name)

    def result(self) -> DataFrame:
        """The rows of the chosen query."""
        return self.named().where(F.col(QUERY) == self.chosen).drop(QUERY)

    def wire(self, final: FinalStage) -> DataFrame:
        """The part's answers as arrays."""
        assert self.schema is not None
        pickle_by_value(unpack)
        pickle_by_value(prompt)
        mine = self.slices.where((F.col(PART) == self.id) & F.col(ANSWERS).isNotNull())
        return mine.select(ANSWERS).mapInArrow(prompt.Prompt(unpack.unpack_answers), self.schema)


@dataclass(frozen=True)
class ExpectedPart:
    """An answer stage whose answers come with each trigger. It holds no DataFrame, so it goes wherever they arrive."""

    partial: PartialStage
    final: FinalStage
    stage: AnswerStage
    id: str
    schema: StructType

    def arrived(self, batch: DataFrame) -> TriggerPart:
        """The part over the answers of one trigger."""
        return TriggerPart(lambda: batch, self.partial, self.final, self.stage, id=self.id, schema=self.schema)


@dataclass(frozen=True)
class Flow:
    """A scan as a stream: its DataFrame of answers as bytes, the parts that they are of, and what is counted.

    Of a `suspect` source records are known that did not parse. Of the parts `made`, by their ids, workers make the
    output rows, and bytes come only where they could not. The session has these `settings` while the scan starts.
    Where workers cut rows into `slices` of this type, they may take other plans than that of the start from a folder.
    """

    frame: DataFrame
    parts: tuple[ExpectedPart, ...]
    labels: Labels
    suspect: bool = False
    made: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    slices: StructType | None = None
    folder: str | None = None


def build_flow(scan: StageGraph, source: DataFrame, delay: int, max_clock_skew: int | None,
               kept: KeptBuckets, ansi: bool, choose: ChooseOutputs) -> Flow:
    """A scan over a streaming source whose rows may be `delay` milliseconds late; workers make the output rows that are
    chosen."""
    stage = scan.root.stage
    time = event_time_sql(stage)
    wrong = find_faults(source.columns, time, max_clock_skew)
    in_workers = is_cut_in_workers(stage)
    if in_workers:
        slices = rows_as_slices(mark_time(validate_rows(source, wrong), time, delay), stage)
    else:
        slices = closed_slices(mark_time(keep_usable(source, wrong), time, delay), stage, delay)
    plans = first_plans(scan, slices, kept, ansi, choose)
    answers = fold_slices(slices, stage, delay, plans, ansi)
    if not in_workers:
        answers = add_dead_letters(answers, source, wrong)
    flow = observe_flow(answers, source, expected_parts(scan, plans.first.plans, slices.schema))
    return replace(flow, made=frozenset(plans.first.outputs.projections), slices=slices.schema, folder=plans.folder)


def first_plans(scan: StageGraph, slices: DataFrame, kept: KeptBuckets, ansi: bool,
                choose: ChooseOutputs) -> WorkerPlans:
    """What workers do from the start of a scan on, and where other plans for them will lie."""
    plans = plan_buckets(scan, kept, ansi, slices.schema if kept.histories else None)
    folder = plan_folder(slices.sparkSession) if is_cut_in_workers(scan.root.stage) else None
    counts = count_table(expected_parts(scan, plans, slices.schema))
    return WorkerPlans(WorkerPlan(plans, choose(scan, plans), calls_after_change(kept), counts), folder)


def fold_slices(slices: DataFrame, stage: PartialStage, delay: int, plans: WorkerPlans, ansi: bool) -> DataFrame:
    """The answers of slices that Spark has made, or of rows that workers make slices of."""
    if is_cut_in_workers(stage):
        return fold_buckets(cut_in_workers(slices, stage, delay, plans, ansi), plans)
    return fold_buckets(bucket_slices(slices, plans.first.plans, plans.first.calls), plans)


def build_join_flow(scan: StageGraph, found: JoinedArrivals, delay: int, kept: KeptBuckets,
                    ansi: bool, choose: ChooseOutputs) -> Flow:
    """A scan over a join of streams, whose dead letters are found by a second look at each of its sources."""
    stage, in_workers = scan.root.stage, is_cut_in_workers(scan.root.stage)
    slices = rows_as_slices(found.rows, stage) if in_workers else closed_slices(found.rows, stage, delay)
    plans = first_plans(scan, slices, kept, ansi, choose)
    answers = fold_slices(slices, stage, delay, plans, ansi)
    for source, wrong in found.sources:
        answers = add_dead_letters(answers, source, wrong)
    parts = expected_parts(scan, plans.first.plans, slices.schema)
    return Flow(observe_counts(answers), parts, count_table(parts).labels, has_corrupt(found),
                frozenset(plans.first.outputs.projections), found.settings, slices.schema, plans.folder)


def mark_time(rows: DataFrame, time: str, delay: int) -> DataFrame:
    """The rows with their event time, which the watermark follows."""
    return rows.withColumn(TIME, F.expr(time)).withWatermark(TIME, f"{delay} milliseconds")


def add_dead_letters(answers: DataFrame, source: DataFrame, wrong: Mapping[str, str]) -> DataFrame:
    """The answers, and the dead letters that a second look at their source finds."""
    dead = dead_letters(source, wrong).selectExpr(f"'{DEAD_PART}' AS {PART}", f"1L AS {COUNT}",
                                                  f"CAST(value AS BINARY) AS {ANSWERS}")
    return answers.union(dead)


def observe_flow(answers: DataFrame, source: DataFrame, parts: tuple[ExpectedPart, ...]) -> Flow:
    """The answers of some parts and dead letters, counted."""
    return Flow(observe_counts(answers), parts, count_table(parts).labels, CORRUPT in source.columns)


def event_time_sql(stage: PartialStage) -> str:
    """Spark SQL for a row's event time as the timestamp that the watermark follows."""
    if stage.time_type == "timestamp":
        return stage.time
    if stage.time_type == "string":  # one that names no time makes its row a dead letter, and stops nothing
        return f"TRY_CAST({stage.time} AS TIMESTAMP_LTZ)"
    return f"timestamp_micros({to_micros(stage.time, stage.time_type)})"


def closed_slices(rows: DataFrame, stage: PartialStage, delay: int) -> DataFrame:
    """The slices of a stream whose TIME the watermark follows, each when it has closed it."""
    marked = passing_above(rows, stage)
    time = f"unix_micros({TIME})"
    start = F.expr(slice_start(time, stage.progressions)).alias(START)
    # Spark closes a group by the watermark if a column of it bears this mark, and a computed one has lost its own.
    end = F.expr(f"timestamp_micros({slice_end(time, stage.progressions)})").alias(END, metadata={DELAY: delay})
    cut = marked.select("*", start, end)
    groups = [*key_columns(stage), F.col(START).alias(SLICE), F.col(END), *mark_columns(stage)]
    return cut.groupBy(*groups).agg(*aggregate_columns(stage))


def expected_parts(scan: StageGraph, plans: tuple[BucketPlan, ...], slices: StructType) -> tuple[ExpectedPart, ...]:
    """The answer stages of a scan and of those derived from it."""
    place, made = scan.root.stage.place, []
    for part in (part for each in plans for part in each.node.parts):
        node = scan[part.id]
        final, partial = scan[node.inputs[0]].stage, scan.slices_of(node).stage
        types = {sql: slices[place[sql, number]].dataType for sql, number in columns_read(part.final)}
        schema = answer_schema(slices, partial, part.final, types)
        made.append(ExpectedPart(partial, final, node.stage, part.id, schema))  # type: ignore[arg-type]
    return tuple(made)
