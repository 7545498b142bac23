"""Measuring a source: how many rows and keys a scan has, and over what span of time."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.model.workload import Bound


@dataclass(frozen=True)
class Statistics:
    """Rows that pass a scan's predicate, their distinct keys, and their span of time in microseconds."""

    rows: float
    keys: float
    span: float


# What a source is taken for where nobody measured it.
ASSUMED = Statistics(rows=2e6, keys=1000, span=3.6e10)


def measure_scan(frame: DataFrame, bound: Bound) -> Statistics:
    """The statistics of a query's scan, in one pass."""
    query = bound.query
    rows = frame.where(query.where) if query.where else frame
    keys = F.approx_count_distinct(F.struct(*(F.expr(key) for key in query.keys))) if query.keys else F.lit(1)
    time = F.unix_micros(F.expr(query.time).cast("timestamp"))
    found = rows.agg(F.count(F.lit(1)), keys, F.max(time) - F.min(time)).first()
    assert found is not None
    return Statistics(float(max(found[0], 1)), float(max(found[1], 1)), float(max(found[2] or 1, 1)))
