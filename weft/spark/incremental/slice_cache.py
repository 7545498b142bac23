"""A slice cache on disk: slices written and read back as they were, merged, and swept away when nobody needs them."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.aggregates.component import merging
from weft.catalog.database import Catalog
from weft.catalog.slice_caches import LEASE, expired_generations, forget_generation, known_columns
from weft.errors import RunError
from weft.model.graph import digest
from weft.model.spans import Spans, spans_over
from weft.model.stages import Column, PartialStage
from weft.spark.session.session import temporary_settings
from weft.spark.stages.partial import SLICE

# A slice must come back as it went, whatever the session writes and reads for itself.
EXACT = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
         "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}
STRICTLY = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false", "mergeSchema": "false",
            "datetimeRebaseMode": "CORRECTED", "recursiveFileLookup": "false"}

# Slices lie by time in groups of so many, so that who asks for a span of time reads few others.
GROUP_SLICES = 50_000
SMALL_GROUPS = {"parquet.block.row.count.limit": str(GROUP_SLICES)}
SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
GENERATION = re.compile(r"[0-9a-f]{32}")


def caching_stage(stage: PartialStage, texts: Sequence[str]) -> PartialStage:
    """The stage that makes the columns of a cache, which may have more than are asked for, in their order."""
    asked = {column.sql: column for column in stage.columns}
    return replace(stage, columns=tuple(asked.get(sql, Column(sql, None, sql, ""))._replace(name=cached_name(sql))
                                        for sql in texts))


def cached_name(sql: str) -> str:
    """The name of a column in the cache: columns of one name are computed alike."""
    return f"p_{digest(sql)}"


def select_slices(slices: DataFrame, stage: PartialStage) -> DataFrame:
    """Kept slices as the stage itself would give them."""
    values = (F.col(cached_name(column.sql)).alias(column.name) for column in stage.columns)
    return slices.select(*group_names(stage), *values)


def group_names(stage: PartialStage) -> list[str]:
    """The columns that tell slices apart."""
    return [*stage.key_names, SLICE, *stage.mark_names]


def merge_slices(slices: DataFrame, stage: PartialStage) -> DataFrame:
    """One slice of several of a key and start, where Spark can make it; the worker makes any other."""
    merges = merging(stage.components)
    if merges is None or not all(column.plain in merges for column in stage.columns):
        return slices
    place, values = stage.place, []
    for (plain, number), name in place.items():
        sql, read = merges[plain]
        values.append(F.expr(sql.format(*(place[column, number] for column in read))).alias(name))
    return slices.groupBy(*group_names(stage)).agg(*values)


def write_slices(spark: SparkSession, rows: DataFrame, folder: Path) -> None:
    """Write slices to a new folder, and see that all of them are there to be read."""
    watch = Observation()
    counted = rows.observe(watch, F.count(F.lit(1)).alias("rows"))
    with temporary_settings(spark, EXACT):
        counted.sortWithinPartitions(SLICE).write.options(**SMALL_GROUPS).parquet(str(folder))
    require_written(folder, int(watch.get["rows"]))


def require_written(folder: Path, sent: int) -> None:
    """Raise where not all slices that were written to a folder can be read here."""
    there = sum(pq.read_metadata(path).num_rows for path in folder.rglob("*.parquet"))
    if sent != there:
        raise RunError(f"Spark wrote {sent:,} slices to the store, and {there:,} are in '{folder}': the store must lie "
                       "where all of Spark's machines read and write the same files.")


def starts_in(folder: Path) -> Spans:
    """Where in time the slices of a generation start."""
    found = [pq.read_table(path, columns=[SLICE])[SLICE].to_numpy() for path in folder.rglob("*.parquet")]
    return spans_over(np.unique(np.concatenate(found)).tolist())


@lru_cache(1024)
def schema_of(folder: Path) -> StructType:
    """The columns of a generation, as Spark wrote them; it never changes under its name."""
    metadata = pq.read_metadata(next(folder.rglob("*.parquet"))).metadata
    return StructType.fromJson(json.loads(metadata[SCHEMA]))


def read_slices(spark: SparkSession, folders: Sequence[Path], schema: StructType) -> DataFrame:
    """The slices in some folders."""
    return spark.read.schema(schema).options(**STRICTLY).parquet(*map(str, folders))


def size_of(folder: Path) -> int:
    """The size of a generation's files."""
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def sweep(catalog: Catalog, folder: Path) -> None:
    """Remove what killed runs left and what was replaced, once nobody can be at it any more."""
    folders = list(folder.iterdir()) if folder.is_dir() else []
    gone = expired_generations(catalog)
    for name in gone:
        remove(folder / name)
    if gone:
        forget_generation(catalog, gone)
    # A record is made before its folder: one without belongs to a catalog that was lost. Any other name is a user's.
    recorded = known_columns(catalog)
    for path in folders:
        ours = GENERATION.fullmatch(path.name) and path.is_dir()
        if ours and path.name not in recorded and path.stat().st_mtime < time.time() - LEASE:
            remove(path)


def remove(folder: Path) -> None:
    """Remove a folder, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
