"""Measuring a source: how many rows and keys a scan has, and over what span of time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from weft.model.statistics import Statistics, keys_of_sample
from weft.model.workload import BoundQuery

SEED = 17

KeySets = Sequence[tuple[str, ...]]


def measure_scan(frame: DataFrame, bound: BoundQuery) -> Statistics:
    """The statistics of a query's scan, in one pass."""
    query = bound.query
    return measure_keys(frame, query.where, query.time, (query.keys,))[0]


def measure_keys(frame: DataFrame, where: str | None, time: str, key_sets: KeySets,
                 fraction: float = 1.0) -> tuple[Statistics, ...]:
    """The statistics of many groupings of the same rows, in one job; of less than all rows they are estimates."""
    rows = frame.where(where) if where else frame
    found = count_keys(rows.sample(fraction, SEED) if fraction < 1 else rows, time, key_sets).first()
    assert found is not None
    return statistics_of(found, fraction)


def measure_all(asked: Sequence[tuple[DataFrame, str, KeySets]]) -> list[tuple[Statistics, ...]]:
    """The statistics of groupings of several frames, each with its time, in one job."""
    counts = [count_keys(*each).withColumn("number", F.lit(i)) for i, each in enumerate(asked)]
    found = reduce(DataFrame.unionAll, counts).collect()
    return [statistics_of(row) for row in sorted(found, key=lambda row: row.number)]


def count_keys(rows: DataFrame, time: str, key_sets: KeySets) -> DataFrame:
    """One row: how many rows there are, over how many microseconds, and of each set of columns how many keys."""
    at = F.unix_micros(F.expr(time).cast("timestamp_ltz"))
    keys = F.array(*map(distinct, key_sets))
    return rows.agg(F.count(F.lit(1)).alias("count"), (F.max(at) - F.min(at)).alias("span"), keys.alias("keys"))


def statistics_of(found: Row, fraction: float = 1.0) -> tuple[Statistics, ...]:
    """The statistics of each set of columns in a row of counts over a fraction of all rows."""
    count, span, keys = found["count"], found["span"], found["keys"]
    return tuple(Statistics(max(count / fraction, 1.0), keys_of_sample(float(k), float(count), fraction),
                            float(max(span or 1, 1))) for k in keys)


def distinct(keys: tuple[str, ...]) -> Column:
    """How many different keys there are, about; nulls are keys too."""
    # Of a hash, not of a struct: that takes a fifth of the time.
    return F.approx_count_distinct(F.xxhash64(*map(F.expr, keys))) if keys else F.lit(1).cast("bigint")
