"""Rows of Parquet files as a worker reads them itself, column by column, where they surely are what Spark would read.

Rows that Spark reads go through it one by one to reach a worker. Arrow reads the same columns as they lie in the files
(decision 0048). What a file holds in any other form than the one that both read alike is left to Spark.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.final.cut.checksums import require_checksums
from weft.final.cut.rows import RowCutter
from weft.final.old_times import require_modern
from weft.final.project import NeedsSpark

BATCH_ROWS, TEXT_ROWS = 1 << 20, 1 << 14  # of a row group that are read at a time, and of one with whole texts
# Who surely puts no text twice into a dictionary: of one that is there twice Arrow would confuse those after it.
DISTINCT_WRITERS = ("parquet-mr", "parquet-cpp", "parquet-rs", "DuckDB", "Polars")
# What is raised where a file is gone, damaged or something else than Parquet.
UNREADABLE = (OSError, ValueError, LookupError, pa.ArrowException)
TAIL = 8  # bytes behind a footer: its size, and a mark
UTC, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
# Spark's types of which it reads just what Arrow does, as a worker has them.
ARROW = {"boolean": pa.bool_(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(),
         "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
         "date": pa.date32(), "timestamp": UTC, "timestamp_ntz": LOCAL}
PHYSICAL = {"BOOLEAN": "boolean", "INT32": "int", "INT64": "bigint", "FLOAT": "float", "DOUBLE": "double",
            "INT96": "timestamp", "BYTE_ARRAY": "binary"}  # where nothing more is said of a column
SIGNED = {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}
# What Spark's writers of old, with another calendar, leave in a footer.
LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True)
class FileColumn:
    """A column of files under the name that a worker has it by, and Spark's type of it. One that is `coded` comes as
    places in a dictionary, for it is only told apart and compared."""

    name: str
    alias: str
    kind: str
    coded: bool = False


@dataclass(frozen=True)
class FilePart:
    """A file that has so many bytes, and the row groups of it that a task reads; all where these are None."""

    path: str
    size: int
    groups: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ParquetRows:
    """The rows of files as tasks read them: what each task reads, the columns, and which of them is the event time,
    which also comes as microseconds under a name of its own."""

    tasks: tuple[tuple[FilePart, ...], ...]
    columns: tuple[FileColumn, ...]
    time: FileColumn
    micros: str

    def read(self, task: int) -> Iterator[pa.RecordBatch]:
        """The rows of a task that have an event time; raises NeedsSpark where only Spark surely reads them right."""
        for part in self.tasks[task]:
            try:
                yield from self.read_part(part)
            except UNREADABLE as error:
                raise NeedsSpark(f"{part.path} cannot be read by a worker: {error}") from error

    def read_part(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        """The rows of a part of a file."""
        wanted = (*self.columns, self.time)
        if os.path.getsize(part.path) != part.size:
            raise NeedsSpark(f"{part.path} has changed")
        footer = pq.read_metadata(part.path)
        distinct = (footer.created_by or "").startswith(DISTINCT_WRITERS)
        coded = [column.name for column in wanted if column.coded and distinct]
        with pq.ParquetFile(part.path, metadata=footer, read_dictionary=coded,
                            coerce_int96_timestamp_unit="us") as file:
            require_alike(part.path, file, wanted)
            require_checksums(part.path, parts_read(footer, part))
            names = list(dict.fromkeys(column.name for column in wanted))
            whole = any(column.kind in ("string", "binary") and column.name not in coded for column in wanted)
            for batch in file.iter_batches(TEXT_ROWS if whole else BATCH_ROWS, part.groups, names, use_threads=False):
                yield self.fit(batch)

    def fit(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of a batch as a worker cuts them."""
        time = fit_column(batch.column(self.time.name), self.time)
        arrays = [fit_column(batch.column(column.name), column) for column in self.columns]
        made = pa.record_batch([time.view(pa.int64()), *arrays], names=[self.micros, *(c.alias for c in self.columns)])
        return made.filter(time.is_valid()) if time.null_count else made


@dataclass(frozen=True)
class ReadingCutter:
    """Makes slices as a cutter does, out of rows that it reads itself: what comes in are the numbers of tasks."""

    rows: ParquetRows
    cutter: RowCutter

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The slices of the tasks' rows."""
        for task in (number for batch in batches for number in batch.column(0).to_pylist()):
            yield from self.cutter(self.rows.read(task))


def parts_read(footer: pq.FileMetaData, part: FilePart) -> list[tuple[int, int]]:
    """What is read of a file, from where to where: some of its row groups and the footer, or all of it."""
    if part.groups is None:
        return [(0, part.size)]
    groups = [group_bytes(footer.row_group(number)) for number in part.groups]
    return [*groups, (part.size - footer.serialized_size - TAIL, part.size)]


def group_bytes(group: pq.RowGroupMetaData) -> tuple[int, int]:
    """Where a row group begins, and where it ends."""
    columns = [group.column(i) for i in range(group.num_columns)]
    begins = [min(place for place in (column.dictionary_page_offset, column.data_page_offset) if place is not None)
              for column in columns]
    return min(begins), max(begin + column.total_compressed_size for begin, column in zip(begins, columns, strict=True))


def require_alike(path: str, file: pq.ParquetFile, columns: Sequence[FileColumn]) -> None:
    """Raise NeedsSpark where a file does not hold some columns just as Spark's types say."""
    footer = file.metadata
    if footer.metadata and any(mark in footer.metadata for mark in LEGACY):
        raise NeedsSpark(f"{path} was written with another calendar")
    found: dict[str, list[str | None]] = {}
    for place in range(footer.num_columns):
        told = file.schema.column(place)
        found.setdefault(told.path.split(".")[0].lower(), []).append(kind_of(told))
    for column in columns:
        if found.get(column.name.lower()) != [column.kind] or column.name not in file.schema_arrow.names:
            raise NeedsSpark(f"column {column.name} of {path} is not of type {column.kind}")


def kind_of(column: pq.ColumnSchema) -> str | None:
    """Spark's type of a column of a file, None of those that it has settings for or that Arrow reads otherwise."""
    if column.max_repetition_level or column.max_definition_level > 1 or column.path != column.name:
        return None
    told = json.loads(column.logical_type.to_json())
    match told["Type"]:
        case "None":
            return PHYSICAL.get(column.physical_type)
        case "Int" if told["isSigned"]:
            return SIGNED[told["bitWidth"]]
        case "Decimal":
            return f"decimal({told['precision']},{told['scale']})"
        case "Timestamp" if told["timeUnit"] == "microseconds":
            return "timestamp" if told["isAdjustedToUTC"] else "timestamp_ntz"
    return {"String": "string", "Date": "date"}.get(told["Type"])


def fit_column(column: pa.Array, told: FileColumn) -> pa.Array:
    """A column in the type that workers know; moments before 1900 are Spark's to read."""
    if isinstance(column, pa.DictionaryArray) and told.coded and is_distinct(column.dictionary):
        column.validate(full=True)
        return column
    wanted = arrow_type(told.kind)
    if column.type != wanted:
        column = column.cast(wanted)
    require_modern(column)
    return column


def arrow_type(kind: str) -> pa.DataType:
    """The type in which workers have values of a type of Spark's."""
    digits = re.fullmatch(r"decimal\((\d+),(\d+)\)", kind)
    return pa.decimal128(*map(int, digits.groups())) if digits else ARROW[kind]


def is_distinct(dictionary: pa.Array) -> bool:
    """Whether no text of a dictionary is there twice; a file's own dictionary need not see to that."""
    known = dictionary.type == pa.string() and not dictionary.null_count
    return known and pc.count_distinct(dictionary).as_py() == len(dictionary)
