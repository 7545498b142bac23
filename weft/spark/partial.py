"""The partial stage on Spark: filter, slice, group; nothing leaves the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.aggregates.component import Component
from weft.slicing import slice_start
from weft.stages.definition import PartialStage

SLICE = "slice"
MARK = "__weft_mark_{}"  # stands beside the source's own columns
BITS = 62  # of a bigint, without its sign


def micros(time: str, kind: str) -> str:
    """Spark SQL for a time as microseconds since the epoch; local times count as if they were UTC."""
    if kind != "timestamp_ntz":
        return f"unix_micros(CAST({time} AS TIMESTAMP))"
    # Spark has no direct way from a local timestamp to its microseconds that leaves the session's zone out.
    since = f"CAST(({time}) - TIMESTAMP_NTZ'1970-01-01 00:00:00' AS INTERVAL SECOND)"
    return f"CAST(CAST({since} AS DECIMAL(20, 6)) * 1000000 AS BIGINT)"


def run_partial(source: DataFrame, stage: PartialStage) -> DataFrame:
    """Slices: keys `k0 …`, `slice`, then the distinct columns of all components, `p0 …`."""
    rows = source.where(f"({stage.time}) IS NOT NULL")
    if stage.sharing == "shards":
        return by_predicate(shards(rows, stage), stage)
    if None not in stage.predicates:
        rows = rows.where(" OR ".join(f"({predicate})" for predicate in stage.predicates))
    return rows.groupBy(*keys_of(stage), start_of(stage)).agg(*columns(c.sql for c in stage.columns))


def keys_of(stage: PartialStage) -> list[Column]:
    """The keys, `k0 …`."""
    return [F.expr(sql).alias(f"k{i}") for i, sql in enumerate(stage.keys)]


def start_of(stage: PartialStage) -> Column:
    """When a row's slice starts."""
    return F.expr(slice_start(micros(stage.time, stage.time_type), stage.progressions)).alias(SLICE)


def columns(texts: Iterable[str]) -> list[Column]:
    """Aggregates, `p0 …`."""
    return [F.expr(sql).alias(f"p{i}") for i, sql in enumerate(texts)]


def shards(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """Rows grouped by key, slice and the predicates that they pass, so that each is aggregated once (000 §5.3).

    The predicates are bits of as many numbers as it takes.
    """
    groups = [stage.predicates[i : i + BITS] for i in range(0, len(stage.predicates), BITS)]
    marks = [MARK.format(i) for i in range(len(groups))]
    marked = rows.select("*", *(F.expr(bits_of(group)).alias(mark) for mark, group in zip(marks, groups, strict=True)))
    passing = marked if None in stage.predicates else marked.where(" OR ".join(f"{mark} <> 0" for mark in marks))
    return passing.groupBy(*keys_of(stage), *marks, start_of(stage)).agg(*columns(c.sql for c in stage.columns))


def bits_of(predicates: Sequence[str | None]) -> str:
    """Spark SQL for a number whose bits say which predicates a row passes."""
    return " | ".join(f"IF({predicate}, {1 << i}L, 0L)" if predicate else f"{1 << i}L"
                      for i, predicate in enumerate(predicates))


def by_predicate(found: DataFrame, stage: PartialStage) -> DataFrame:
    """The slices of each predicate, its number being the last key: a shard goes to every predicate that it passes.

    Shards of a slice are merged here where Spark can, so that fewer slices go to Python, which merges any other.
    """
    numbers = F.array(*(F.expr(f"IF({MARK.format(i // BITS)} & {1 << i % BITS}L <> 0, {i}, NULL)")
                        for i in range(len(stage.predicates))))
    keys = [f"k{i}" for i in range(len(stage.keys))]
    values = [f"p{i}" for i in range(len(stage.columns))]
    number = F.explode(F.array_compact(numbers)).alias(f"k{len(keys)}")
    placed = by_key(found.select(*keys, number, SLICE, *values), len(keys) + 1)
    merges = merging(stage.components)
    if merges is None:
        return placed
    merged = columns(merges[column.plain].format(value) for column, value in zip(stage.columns, values, strict=True))
    return placed.groupBy(*keys, f"k{len(keys)}", SLICE).agg(*merged)  # needs no shuffle


def by_key(slices: DataFrame, keys: int) -> DataFrame:
    """All slices of a key in one partition, as the final stage takes them."""
    return slices.repartition(*(f"k{i}" for i in range(keys))) if keys else slices.repartition(1)


def merging(components: Iterable[Component]) -> dict[str, str] | None:
    """What makes one slice of several, for each column; None where Spark cannot."""
    found: dict[str, str] = {}
    for component in components:
        if component.merges is None:
            return None
        found |= dict(zip(component.columns, component.merges, strict=True))
    return found
