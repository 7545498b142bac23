"""Running a plan as a stream: a Spark query a scan, slices in the JVM, answers as the watermark closes windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.final.fold.partition import columns_read
from weft.io.arrivals import CORRUPT, DELAY, TIME, dead_letters, find_faults, keep_usable, validate_rows
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage, FinalStage, PartialStage
from weft.slicing import slice_end, slice_start
from weft.spark.batch.run import AnswerPart
from weft.spark.session.package_zip import pickle_by_value
from weft.spark.stages.final import answer_schema
from weft.spark.stages.partial import SLICE, aggregate_columns, key_columns, mark_columns, passing_above, to_micros
from weft.spark.stream import unpack
from weft.spark.stream.buckets import BucketPlan, bucket_slices, plan_buckets
from weft.spark.stream.outputs import ChooseOutputs
from weft.spark.stream.partial import END, cut_in_workers, is_cut_in_workers, rows_as_slices
from weft.spark.stream.state import ANSWERS, COUNT, DEAD_PART, LATE_PART, PART, PREDICATE, WINDOW, fold_buckets

START = "__weft_slice_start"  # stands beside the source's own columns
# The names of what is observed of a trigger.
OBSERVED, ANSWERED = "weft", "answers"
# Beyond so many windows answers are counted by part only: each count is a column of what Spark observes.
MOST_COUNTS = 200

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
    """An answer stage over the answers of a trigger, which `slices` holds as bytes."""

    id: str = ""
    schema: StructType | None = None

    def wire(self, final: FinalStage) -> DataFrame:
        """The part's answers as arrays."""
        assert self.schema is not None
        pickle_by_value(unpack)
        mine = self.slices.where((F.col(PART) == self.id) & F.col(ANSWERS).isNotNull())
        return mine.select(ANSWERS).mapInArrow(unpack.unpack_answers, self.schema)


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
    output rows, and bytes come only where they could not.
    """

    frame: DataFrame
    parts: tuple[ExpectedPart, ...]
    labels: dict[str, tuple[str, ...]]
    suspect: bool = False
    made: frozenset[str] = frozenset()


def build_flow(scan: StageGraph, source: DataFrame, delay: int, max_clock_skew: int | None,
               buckets: Mapping[str, Sequence[int]], ansi: bool, choose: ChooseOutputs) -> Flow:
    """A scan over a streaming source whose rows may be `delay` milliseconds late; workers make the output rows that are
    chosen."""
    stage = scan.root.stage
    time = event_time_sql(stage)
    wrong = find_faults(source.columns, time, max_clock_skew)
    plans = plan_buckets(scan, buckets, ansi)
    outputs = choose(scan, plans)
    if is_cut_in_workers(stage):
        slices = rows_as_slices(validate_rows(source, wrong).withColumn(TIME, F.expr(time)), stage, delay)
        answers = fold_buckets(cut_in_workers(slices, stage, delay, plans, ansi), plans, outputs)
    else:
        slices = closed_slices(keep_usable(source, wrong).withColumn(TIME, F.expr(time)), stage, delay)
        answers = add_dead_letters(fold_buckets(bucket_slices(slices, plans), plans, outputs), source, wrong)
    flow = observe_flow(answers, source, expected_parts(scan, plans, slices))
    return replace(flow, made=frozenset(outputs.projections))


def add_dead_letters(answers: DataFrame, source: DataFrame, wrong: Mapping[str, str]) -> DataFrame:
    """The answers, and the dead letters that a second look at their source finds."""
    dead = dead_letters(source, wrong).selectExpr(f"'{DEAD_PART}' AS {PART}", f"CAST(NULL AS INT) AS {WINDOW}",
                                                  f"CAST(NULL AS INT) AS {PREDICATE}", f"1L AS {COUNT}",
                                                  f"CAST(value AS BINARY) AS {ANSWERS}")
    return answers.union(dead)


def observe_flow(answers: DataFrame, source: DataFrame, parts: tuple[ExpectedPart, ...]) -> Flow:
    """The answers of some parts and dead letters, counted."""
    labels = count_labels(parts)
    counted = {name: queries for name, (queries, _) in labels.items()}
    return Flow(observe_counts(answers, labels), parts, counted, CORRUPT in source.columns)


def event_time_sql(stage: PartialStage) -> str:
    """Spark SQL for a row's event time as the timestamp that the watermark follows."""
    if stage.time_type == "timestamp":
        return stage.time
    if stage.time_type == "string":  # one that names no time makes its row a dead letter, and stops nothing
        return f"TRY_CAST({stage.time} AS TIMESTAMP_LTZ)"
    return f"timestamp_micros({to_micros(stage.time, stage.time_type)})"


def closed_slices(rows: DataFrame, stage: PartialStage, delay: int) -> DataFrame:
    """The slices of a stream, each when the watermark has closed it."""
    marked = passing_above(rows.withWatermark(TIME, f"{delay} milliseconds"), stage)
    time = f"unix_micros({TIME})"
    start = F.expr(slice_start(time, stage.progressions)).alias(START)
    # Spark closes a group by the watermark if a column of it bears this mark, and a computed one has lost its own.
    end = F.expr(f"timestamp_micros({slice_end(time, stage.progressions)})").alias(END, metadata={DELAY: delay})
    cut = marked.select("*", start, end)
    groups = [*key_columns(stage), F.col(START).alias(SLICE), F.col(END), *mark_columns(stage)]
    return cut.groupBy(*groups).agg(*aggregate_columns(stage))


def expected_parts(scan: StageGraph, plans: tuple[BucketPlan, ...], slices: DataFrame) -> tuple[ExpectedPart, ...]:
    """The answer stages of a scan and of those derived from it."""
    place, made = scan.root.stage.place, []
    for part in (part for each in plans for part in each.node.parts):
        node = scan[part.id]
        final, partial = scan[node.inputs[0]].stage, scan.slices_of(node).stage
        types = {sql: slices.schema[place[sql, number]].dataType for sql, number in columns_read(part.final)}
        schema = answer_schema(slices.schema, partial, part.final, types)
        made.append(ExpectedPart(partial, final, node.stage, part.id, schema))  # type: ignore[arg-type]
    return tuple(made)


def count_labels(parts: tuple[ExpectedPart, ...]) -> dict[str, tuple[tuple[str, ...], str]]:
    """What is counted: by name the queries whose answers it counts, and the condition of the rows that count them."""
    found: dict[tuple[str, int, int], list[str]] = {}
    for part in parts:
        windows = sorted({asked.window for asked in part.stage.queries})
        for asked in part.stage.queries:
            found.setdefault((part.id, windows.index(asked.window), asked.predicate), []).append(asked.name)
    if len(found) > MOST_COUNTS:
        return {f"a{part.id}": (tuple(a.name for a in part.stage.queries), f"{PART} = '{part.id}'")
                for part in parts[:MOST_COUNTS]}
    return {f"a{part}_{window}_{number}": (tuple(names),
                                           f"{PART} = '{part}' AND {WINDOW} = {window} AND {PREDICATE} = {number}")
            for (part, window, number), names in found.items()}


def observe_counts(answers: DataFrame, labels: dict[str, tuple[tuple[str, ...], str]]) -> DataFrame:
    """The answers, with their numbers and those of dead letters and late rows in the progress of every trigger."""
    counts = [count_column(name, test) for name, (_, test) in labels.items()]
    lost = [count_column(name, f"{PART} = '{part}'") for name, part in (("dead", DEAD_PART), ("late", LATE_PART))]
    return answers.observe(OBSERVED, *lost).observe(ANSWERED, *counts)


def count_column(name: str, test: str) -> Column:
    """What the rows that meet a test count."""
    return F.expr(f"coalesce(sum(IF({test}, {COUNT}, 0)), 0)").alias(name)
