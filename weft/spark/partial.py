"""The partial stage on Spark: filter, slice, group; nothing leaves the JVM."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.aggregates.component import columns_of
from weft.slicing import slice_start
from weft.stages.definition import PartialStage

SLICE = "slice"


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
    if stage.where:
        rows = rows.where(stage.where)
    keys = [F.expr(sql).alias(f"k{i}") for i, sql in enumerate(stage.keys)]
    start = F.expr(slice_start(micros(stage.time, stage.time_type), stage.progressions)).alias(SLICE)
    columns = columns_of(stage.components)
    return rows.groupBy(*keys, start).agg(*(F.expr(sql).alias(f"p{i}") for i, sql in enumerate(columns)))
