"""Which rows workers read themselves: those of Parquet files on this machine, where Spark would add nothing to them.

Spark decides which files there are. Whether these hold their columns in a form that Arrow surely reads as Spark does,
the worker that opens one finds out; the first file is looked at before, so that it rarely finds anything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from weft.final.cut import ComputedColumns, RowColumns, RowCutter
from weft.final.cut.parquet import (
    UNREADABLE,
    FileColumn,
    FilePart,
    ParquetRows,
    ReadingCutter,
    arrow_type,
    require_alike,
)
from weft.final.project import NeedsSpark
from weft.final.project.leaves import Value
from weft.final.prompt import Prompt
from weft.model.stages import PartialStage
from weft.spark.session.settings import is_on
from weft.spark.session.workers import count_cores, is_local
from weft.spark.write.sent_rows import PACKED, TIME, RowsPlan

# With one of these on, Spark finds columns or times of files in another way.
OTHERWISE = ("spark.sql.parquet.fieldId.read.enabled", "spark.sql.parquet.int96TimestampConversion")
PLAIN_TIMES = "spark.sql.parquet.int96AsTimestamp"  # with this one off, Spark refuses times that a worker would read
LEAST_BYTES, MOST_BYTES = 1 << 22, 1 << 27  # of files that a task reads
MOST_FILES = 10_000  # that are looked at one by one


@dataclass(frozen=True)
class ReadRows:
    """Rows that workers read themselves, what they compute of these, and what each scan finds where in both."""

    spark: SparkSession
    rows: ParquetRows
    computed: ComputedColumns
    columns: tuple[RowColumns, ...]

    def cut(self, cutter: RowCutter) -> DataFrame:
        """What a cutter makes of the rows."""
        count = len(self.rows.tasks)
        return self.spark.range(0, count, 1, count).mapInArrow(Prompt(ReadingCutter(self.rows, cutter)), PACKED)


def read_rows(source: DataFrame, files: Sequence[str], head: PartialStage, plan: RowsPlan) -> ReadRows | None:
    """The rows of some Parquet files as workers read them for scans of one time; None where Spark has to."""
    spark, time = source.sparkSession, time_column(source, head)
    if time is None or plan.rest or plan.marks or not 0 < len(files) <= MOST_FILES or not is_local(spark):
        return None
    if any(is_on(spark, name) for name in OTHERWISE) or not is_on(spark, PLAIN_TIMES):
        return None
    if any("=" in os.path.dirname(path) for path in files):
        return None
    kinds = {field.name: field.dataType.simpleString() for field in source.schema.fields}
    coded = coded_texts(plan)
    columns = tuple(FileColumn(name, alias, kinds[name], alias in coded and kinds[name] == "string")
                    for alias, name in plan.read.items())
    try:
        for column in (*columns, time):
            arrow_type(column.kind)
        data = [path for path in files if is_data(path)]
        with pq.ParquetFile(min(data)) as first:
            require_alike(min(data), first, (*columns, time))
        tasks = tuple(share_files(data, count_cores(str(spark.conf.get("spark.master")))))
    except (NeedsSpark, *UNREADABLE):
        return None
    return ReadRows(spark, ParquetRows(tasks, columns, time, TIME), plan.computed, plan.columns)


def is_data(path: str) -> bool:
    """Whether Spark reads a file that it lists: it lists summaries of Parquet's too, and files without a byte."""
    name = os.path.basename(path)
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return not hidden and os.path.getsize(path) > 0


def time_column(source: DataFrame, head: PartialStage) -> FileColumn | None:
    """The event time, where it is a column of the source and no expression."""
    found = [field.name for field in source.schema.fields if head.time in (field.name, f"`{field.name}`")]
    plain = len(found) == 1 and source.schema[found[0]].dataType.simpleString() == head.time_type
    return FileColumn(found[0], TIME, head.time_type) if plain and head.time_type in TIMES else None


TIMES = ("timestamp", "timestamp_ntz")


def coded_texts(plan: RowsPlan) -> set[str]:
    """The columns that are only told apart and compared: keys, and texts in conditions, nothing that slices hold."""
    made = dict(zip(plan.computed.names, plan.computed.nodes, strict=True))
    held = (made.get(name or "") for columns in plan.columns for name, _ in columns.values)
    return set(plan.read) - {node.name for node in held if isinstance(node, Value)}


def share_files(files: Sequence[str], cores: int) -> Iterator[tuple[FilePart, ...]]:
    """The parts of files that each task reads, in the order of the files: a task a core, or more, none too large."""
    parts = [part for path in sorted(files) for part in split_file(path, os.path.getsize(path))]
    share = min(max(sum(size for size, _ in parts) / cores, LEAST_BYTES), MOST_BYTES)
    held: list[FilePart] = []
    bytes_held = 0.0
    for size, part in parts:
        if held and bytes_held + size / 2 > share:
            yield join_parts(held)
            held, bytes_held = [], 0.0
        held.append(part)
        bytes_held += size
    if held:
        yield join_parts(held)


def split_file(path: str, size: int) -> Iterator[tuple[float, FilePart]]:
    """The row groups of a file, or the file where it is small, with the bytes of each."""
    if size <= LEAST_BYTES:
        yield size, FilePart(path, size)
        return
    footer = pq.read_metadata(path)
    for group in range(footer.num_row_groups):
        yield size * footer.row_group(group).num_rows / max(footer.num_rows, 1), FilePart(path, size, (group,))


def join_parts(parts: Sequence[FilePart]) -> tuple[FilePart, ...]:
    """Parts of which those of one file are one."""
    groups: dict[tuple[str, int], list[int] | None] = {}
    for part in parts:
        if part.groups is None:
            groups[part.path, part.size] = None
        else:
            held = groups.setdefault((part.path, part.size), [])
            assert held is not None
            held += part.groups
    return tuple(FilePart(path, size, None if found is None else tuple(found))
                 for (path, size), found in groups.items())
