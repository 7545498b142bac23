"""Measuring a source: how many rows and keys a scan has, and over what span of time."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.model.statistics import Statistics, keys_of_sample
from weft.model.workload import BoundQuery

SEED = 17


def measure_scan(frame: DataFrame, bound: BoundQuery) -> Statistics:
    """The statistics of a query's scan, in one pass."""
    query = bound.query
    return measure_keys(frame, query.where, query.time, (query.keys,))[0]


def measure_keys(frame: DataFrame, where: str | None, time: str, key_sets: Sequence[tuple[str, ...]],
                 fraction: float = 1.0) -> tuple[Statistics, ...]:
    """The statistics of many groupings of the same rows, in one job; of less than all rows they are estimates."""
    rows = frame.where(where) if where else frame
    sample = rows.sample(fraction, SEED) if fraction < 1 else rows
    at = F.unix_micros(F.expr(time).cast("timestamp_ltz"))
    found = sample.agg(F.count(F.lit(1)), F.max(at) - F.min(at), *map(distinct, key_sets)).first()
    assert found is not None
    count, span, *keys = found
    return tuple(Statistics(max(count / fraction, 1.0), keys_of_sample(float(k), float(count), fraction),
                            float(max(span or 1, 1))) for k in keys)


def distinct(keys: tuple[str, ...]) -> Column:
    """How many different keys there are, about; nulls are keys too."""
    return F.approx_count_distinct(F.struct(*map(F.expr, keys))) if keys else F.lit(1)
