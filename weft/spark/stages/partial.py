"""The partial stage on Spark: filter, slice, group; nothing leaves the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.aggregates.weighted import WEIGHT
from weft.model.marks import Scale
from weft.model.stages import DeriveStage, PartialStage
from weft.slicing import slice_start
from weft.spark.stages.number_rows import NUMBER, number_rows

SLICE = "slice"
# Not deterministic for Spark's optimizer, which pushes no filter below it.
NOTHING = "IF(spark_partition_id() < 0, 1L, 0L)"
# The name of what is observed of drop boxes.
SHED = "shed"
# These stand beside the source's own columns.
MARK, VALUE, PLACE, PASSES = "__weft_mark_{}", "__weft_value_{}", "__weft_place_{}", "__weft_passes"


def to_micros(time: str, kind: str) -> str:
    """Spark SQL for a time as microseconds since the epoch; local times count as if they were UTC.

    Where the session reads TIMESTAMP as a local time, Spark's window() still takes dates and texts for moments.
    """
    if kind != "timestamp_ntz":
        return f"unix_micros(CAST({time} AS TIMESTAMP_LTZ))"
    # Spark has no direct way from a local timestamp to its microseconds that leaves the session's zone out.
    since = f"CAST(({time}) - TIMESTAMP_NTZ'1970-01-01 00:00:00' AS INTERVAL SECOND)"
    return f"CAST(CAST({since} AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"


def run_partial(source: DataFrame, stage: PartialStage) -> DataFrame:
    """Slices: keys, `slice`, marks if the stage has any, then its columns, under the names that the stage gives."""
    rows = source.where(f"({stage.time}) IS NOT NULL")
    return aggregate_slices(number_rows(rows, stage) if stage.counts_rows else filter_rows(rows, stage), stage)


def aggregate_slices(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """The slices of rows that are marked or numbered as the stage says."""
    return rows.groupBy(*key_columns(stage), slice_start_column(stage),
                        *mark_columns(stage)).agg(*aggregate_columns(stage))


def filter_rows(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """The rows that pass some predicate of the stage, marked if it has marks."""
    if stage.marks:
        return mark_rows(rows, stage)
    return rows if None in stage.predicates else rows.where(any_of(stage.predicates))


def passing_above(rows: DataFrame, stage: PartialStage, besides: Sequence[str] = ()) -> DataFrame:
    """The rows of a stream that pass some predicate of the stage or one of those `besides`, marked if it has marks.

    Spark pushes a filter below the watermark, which would then follow only the rows that some query asks for, or that a
    drop box keeps.
    """
    if WEIGHT in rows.columns:
        rows = kept_above(observe_dropped(rows), any_of((f"{WEIGHT} > 0", *besides)))
    if stage.marks:
        return mark_rows(rows, stage, besides)
    return rows if None in stage.predicates else kept_above(rows, any_of((*stage.predicates, *besides)))


def kept_above(rows: DataFrame, test: str) -> DataFrame:
    """The rows that pass a test, which Spark evaluates here and nowhere below."""
    told = rows.select("*", F.expr(f"IF({test}, 1L, 0L) | {NOTHING}").alias(PASSES))
    return told.where(f"{PASSES} <> 0").drop(PASSES)


def observe_dropped(rows: DataFrame) -> DataFrame:
    """The rows of a stream, with the number of those that a drop box drops in the progress of every trigger."""
    return rows.observe(SHED, F.expr(f"count_if({WEIGHT} = 0)").alias("dropped"))


def any_of(predicates: Iterable[str | None]) -> str:
    """Spark SQL for what passes one of some predicates."""
    return " OR ".join(f"({predicate})" for predicate in predicates)


def mark_columns(stage: PartialStage) -> list[Column]:
    """The marks."""
    return [F.col(MARK.format(i)).alias(name) for i, name in enumerate(stage.mark_names)]


def derive_slices(slices: DataFrame, stage: DeriveStage) -> DataFrame:
    """The slices of a stage out of others: fewer keys, and time cut less finely."""
    start = F.expr(slice_start(SLICE, stage.progressions)).alias(SLICE)
    groups: list[Column | str] = [*stage.key_names, start, *stage.mark_names]
    values = aggregate_columns(stage)
    if not stage.merged:  # the workers do
        return slices.select(*groups, *values)
    return slices.groupBy(*groups).agg(*values)


def key_columns(stage: PartialStage) -> list[Column]:
    """The keys."""
    return [F.expr(sql).alias(name) for sql, name in zip(stage.keys, stage.key_names, strict=True)]


def slice_start_column(stage: PartialStage) -> Column:
    """Where a row's slice starts, in microseconds or rows."""
    place = NUMBER if stage.counts_rows else to_micros(stage.time, stage.time_type)
    return F.expr(slice_start(place, stage.progressions)).alias(SLICE)


def aggregate_columns(stage: PartialStage) -> list[Column]:
    """The columns of slices as they are computed."""
    return [F.expr(column.sql).alias(column.name) for column in stage.columns]


def mark_rows(rows: DataFrame, stage: PartialStage, besides: Sequence[str] = ()) -> DataFrame:
    """The rows that may pass a predicate, marked with those that they pass, so that each is aggregated once (000 §5.3).
    """
    found = add_marks(rows, stage)
    if None in stage.predicates:
        return found
    return found.where(" OR ".join((*(f"{MARK.format(i)} <> 0" for i in range(stage.marks)), *besides)))


def add_marks(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """All rows, marked with the predicates that they pass."""
    marking = stage.marking
    parts: list[list[str]] = [[] for _ in range(marking.size)]
    for i, (what, number, shift, _) in enumerate(marking.fields):
        if isinstance(what, Scale):
            rows = place_on_scale(rows, what, i)
        value = PLACE.format(i) if isinstance(what, Scale) else f"IF({what}, 1L, 0L)"
        parts[number].append(f"shiftleft({value}, {shift})")
    # A filter stays above what is not deterministic; pushed below the marks it would evaluate all of them once more.
    return rows.select("*", *(F.expr(" | ".join((*bits, NOTHING))).alias(MARK.format(i))
                              for i, bits in enumerate(parts)))


def place_on_scale(rows: DataFrame, scale: Scale, number: int) -> DataFrame:
    """The rows with their place on a scale, found by halving: each step compares with one number, as Spark would."""
    value, at = VALUE.format(number), PLACE.format(number)
    steps = len(scale.numbers).bit_length()
    padded = [*scale.numbers, *(scale.numbers[-1:] * (2**steps - 1 - len(scale.numbers)))]
    numbers = f"array({', '.join(padded)})"
    rows = rows.select("*", F.expr(scale.expression).alias(value), F.lit(0).alias(at))
    for step in reversed(range(steps)):
        further = f"{at} + IF({value} > get({numbers}, {at} + {2**step - 1}), {2**step}, 0)"
        rows = rows.withColumn(at, F.expr(further))
    here = f"coalesce({value} = get({numbers}, {at}), false)"
    beside = "0" if scale.equalities else f"2 * least({at}, {len(scale.numbers)}) + 1"
    found = f"IF({value} IS NULL, 0, IF({here}, 2 * {at} + 2, {beside}))"
    return rows.withColumn(at, F.expr(f"CAST({found} AS BIGINT)"))
