"""The latest rows of a folder of files, and the latest lines: read beside Spark, never more than some megabytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from io import BytesIO
from math import isfinite
from typing import Any

import pyarrow as pa
from pyarrow import csv, fs, json, orc
from pyarrow import parquet as pq

from weft.errors import RunError
from weft.io.files import open_filesystem

# A file of text that is larger is not read, and no more files than these are opened.
MOST_BYTES, MOST_FILES = 16 << 20, 64
# What a text reader of Arrow's is called with: a file of a stream may hold the names alone.
READERS = {"csv": csv.read_csv, "json": json.read_json, "orc": orc.read_table}


@dataclass(frozen=True)
class LatestRows:
    """Columns by name and type, the last rows, and whether there are older ones."""

    columns: tuple[tuple[str, str], ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    more: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The rows as plain values."""
        return {"columns": [{"name": name, "type": kind} for name, kind in self.columns],
                "rows": [list(row) for row in self.rows], "more": self.more}


def latest_rows(folder: str, format: str, count: int) -> LatestRows:
    """The last rows of the newest files of a folder, the newest last; none where nothing was written yet."""
    files, root = open_filesystem(folder)
    try:
        found = newest_files(files, root)
        tables: list[pa.Table] = []
        for info in found[:MOST_FILES]:
            if sum(table.num_rows for table in tables) >= count:
                break
            tables.append(read_tail(files, info, format, count))
        return shown_rows(tables, count, len(tables) < len(found))
    except (OSError, pa.ArrowException) as error:
        raise RunError(f"the answers in '{folder}' cannot be read: {error}.") from error


def newest_files(files: fs.FileSystem, root: str, deep: bool = False) -> list[fs.FileInfo]:
    """The files that readers see, the newest first; those of folders within too if it is `deep`."""
    found = [info for info in files.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=deep))
             if info.type == fs.FileType.File and not info.base_name.startswith(("_", ".")) and info.size]
    return sorted(found, key=lambda info: (info.mtime_ns or 0, info.base_name), reverse=True)


def read_tail(files: fs.FileSystem, info: fs.FileInfo, format: str, count: int) -> pa.Table:
    """The end of one file: as many parts of it as hold the rows."""
    with files.open_input_file(info.path) as source:
        if format == "parquet":
            return read_row_groups(pq.ParquetFile(source), count)
        if info.size > MOST_BYTES:
            raise RunError(f"'{info.path}' has {info.size >> 20} MiB, too many to look into: write Parquet.")
        return READERS[format](source if format == "orc" else BytesIO(source.read()))


def read_row_groups(file: pq.ParquetFile, count: int) -> pa.Table:
    """The last row groups of a Parquet file that hold so many rows."""
    first, rows = file.num_row_groups, 0
    while first and rows < count:
        first -= 1
        rows += file.metadata.row_group(first).num_rows
    return file.read_row_groups(list(range(first, file.num_row_groups)))


def shown_rows(tables: list[pa.Table], count: int, older: bool) -> LatestRows:
    """The last rows of tables, of which the first is the newest and says the columns."""
    if not tables:
        return LatestRows()
    names = tables[0].column_names
    alike = [table for table in tables if table.column_names == names]
    rows = [row for table in reversed(alike) for row in plain_rows(table.slice(max(table.num_rows - count, 0)))]
    columns = tuple((field.name, str(field.type)) for field in tables[0].schema)
    return LatestRows(columns, tuple(rows[-count:]), older or len(rows) > count)


def plain_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows of values that JSON has."""
    columns = [[plain_value(value) for value in column.to_pylist()] for column in table.columns]
    return list(zip(*columns, strict=True))


def plain_value(value: Any) -> Any:
    """A value as JSON has it: times and decimals as texts, and so numbers that are none."""
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain_value(each) for each in value]
    if isinstance(value, dict):
        return {str(key): plain_value(each) for key, each in value.items()}
    return value.hex() if isinstance(value, bytes) else str(value) if isinstance(value, Decimal | timedelta) else \
        repr(value)


def latest_lines(folder: str, count: int) -> list[str]:
    """The last lines of the newest files of a folder and of those within, the newest last."""
    files, root = open_filesystem(folder)
    found: list[str] = []
    try:
        for info in newest_files(files, root, deep=True)[:MOST_FILES]:
            if len(found) >= count:
                break
            with files.open_input_file(info.path) as source:
                source.seek(max(info.size - MOST_BYTES, 0))
                found = [*source.read().decode(errors="replace").splitlines(), *found]
    except OSError as error:
        raise RunError(f"'{folder}' cannot be read: {error}.") from error
    return found[-count:]
