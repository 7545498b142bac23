"""The partial stage on Spark: filter, slice, group; nothing leaves the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.slicing import slice_start
from weft.stages.definition import MARK_BITS, PartialStage

SLICE = "slice"
MARK = "__weft_mark_{}"  # stands beside the source's own columns


def micros(time: str, kind: str) -> str:
    """Spark SQL for a time as microseconds since the epoch; local times count as if they were UTC."""
    if kind != "timestamp_ntz":
        return f"unix_micros(CAST({time} AS TIMESTAMP))"
    # Spark has no direct way from a local timestamp to its microseconds that leaves the session's zone out.
    since = f"CAST(({time}) - TIMESTAMP_NTZ'1970-01-01 00:00:00' AS INTERVAL SECOND)"
    return f"CAST(CAST({since} AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"


def run_partial(source: DataFrame, stage: PartialStage) -> DataFrame:
    """Slices: keys `k0 …`, `slice`, marks `m0 …` if the stage has any, then its columns `p0 …`."""
    rows = source.where(f"({stage.time}) IS NOT NULL")
    if stage.marks:
        rows = marked(rows, stage)
    elif None not in stage.predicates:
        rows = rows.where(" OR ".join(f"({predicate})" for predicate in stage.predicates))
    marks = [F.col(MARK.format(i)).alias(f"m{i}") for i in range(stage.marks)]
    return rows.groupBy(*keys_of(stage), start_of(stage), *marks).agg(*columns(c.sql for c in stage.columns))


def derive(slices: DataFrame, stage: PartialStage) -> DataFrame:
    """The slices of a stage out of its parent's: fewer keys, and time cut less finely."""
    assert stage.parent is not None
    keys = [F.col(f"k{stage.parent.keys.index(key)}").alias(f"k{i}") for i, key in enumerate(stage.keys)]
    start = F.expr(slice_start(SLICE, stage.progressions)).alias(SLICE)
    marks, values = [F.col(f"m{i}") for i in range(stage.marks)], columns(c.sql for c in stage.columns)
    if not stage.merged:  # the workers do
        return slices.select(*keys, start, *marks, *values)
    return slices.groupBy(*keys, start, *marks).agg(*values)


def keys_of(stage: PartialStage) -> list[Column]:
    """The keys, `k0 …`."""
    return [F.expr(sql).alias(f"k{i}") for i, sql in enumerate(stage.keys)]


def start_of(stage: PartialStage) -> Column:
    """When a row's slice starts."""
    return F.expr(slice_start(micros(stage.time, stage.time_type), stage.progressions)).alias(SLICE)


def columns(texts: Iterable[str]) -> list[Column]:
    """Aggregates, `p0 …`."""
    return [F.expr(sql).alias(f"p{i}") for i, sql in enumerate(texts)]


def marked(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """The rows that pass a predicate, marked with those that they pass, so that each is aggregated once (000 §5.3)."""
    groups = [stage.predicates[i : i + MARK_BITS] for i in range(0, len(stage.predicates), MARK_BITS)]
    marks = [F.expr(bits_of(group)).alias(MARK.format(i)) for i, group in enumerate(groups)]
    found = rows.select("*", *marks)
    # What is not deterministic stays where it is: pushed below the marks, all predicates would be evaluated twice.
    some = (f"{MARK.format(i)} <> 0" for i in range(stage.marks))
    return found.where(" OR ".join((*some, "rand() < 0")))


def bits_of(predicates: Sequence[str | None]) -> str:
    """Spark SQL for a number whose bits say which predicates a row passes."""
    return " | ".join(f"IF({predicate}, {1 << i}L, 0L)" if predicate else f"{1 << i}L"
                      for i, predicate in enumerate(predicates))


def by_key(slices: DataFrame, keys: int) -> DataFrame:
    """All slices of a key in one partition, as the final stage takes them."""
    return slices.repartition(*(f"k{i}" for i in range(keys))) if keys else slices.repartition(1)
