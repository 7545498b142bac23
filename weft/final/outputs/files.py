"""The Parquet files that a worker writes: one for each query, or bucket of time of it, with rows in its partition."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import RunError
from weft.final.outputs.buckets import Bucket

# Rows wait until so many of a query make a row group, or until so many bytes of all queries wait.
GROUP_ROWS, WAITING_BYTES = 1 << 20, 1 << 26
# Files that are open at once; a process may have a thousand or so.
MOST_OPEN = 400
# A dictionary of doubles saves little and hashes every value.
UNDICTIONED = (pa.float64(), pa.float32())


@dataclass(frozen=True)
class FileFormat:
    """Where the files of a query go, `{}` its name, and how Spark's session would have them written."""

    folder: str
    compression: str
    int96: bool
    metadata: tuple[tuple[str, tuple[tuple[bytes, bytes], ...]], ...]

    def metadata_of(self, query: str) -> dict[bytes, bytes]:
        """What the footer of a query's files says to Spark."""
        return dict(dict(self.metadata)[query])


class FileKey(NamedTuple):
    """What a file holds rows of: a query, and a bucket of time if its rows are in buckets."""

    query: str
    bucket: Bucket | None = None


class QueryFiles:
    """Rows of queries on their way to files; without a format they are only counted. Rows of a bucket of time go to
    files of its own, whose names begin with its numbers."""

    def __init__(self, format: FileFormat | None):
        self.format = format
        self.rows: Counter[FileKey] = Counter()
        self._files: list[tuple[FileKey, str]] = []
        self._writers: dict[FileKey, pq.ParquetWriter] = {}
        self._waiting: dict[FileKey, list[pa.RecordBatch]] = {}
        self._bytes: dict[FileKey, int] = {}

    @property
    def done(self) -> list[tuple[str, str | None, int]]:
        """Each query with its files, if any was written, and its number of rows, which stands beside the first."""
        rows, lines = dict(self.rows), []
        for key, path in self._files:
            lines.append((key.query, path, rows.pop(key, 0)))
        return lines + [(key.query, None, count) for key, count in rows.items()]

    def add(self, query: str, rows: pa.RecordBatch, bucket: Bucket | None = None) -> None:
        """Take rows of a query, all of one bucket if it has any."""
        key = FileKey(query, bucket)
        self.rows[key] += rows.num_rows
        if self.format is None or rows.num_rows == 0:
            return
        self._waiting.setdefault(key, []).append(rows)
        self._bytes[key] = self._bytes.get(key, 0) + rows.nbytes
        if sum(batch.num_rows for batch in self._waiting[key]) >= GROUP_ROWS:
            self._write(key)
        while sum(self._bytes.values()) > WAITING_BYTES:
            self._write(max(self._bytes, key=lambda key: self._bytes[key]))

    def _write(self, key: FileKey) -> None:
        """Write what waits of a query as a row group."""
        table = pa.Table.from_batches(self._waiting.pop(key)).unify_dictionaries()
        self._bytes.pop(key)
        if key not in self._writers:
            self._open(key, table.schema)
        try:
            self._writers[key].write_table(table, row_group_size=table.num_rows)
        except OSError as error:
            raise unwritable(self.format.folder.format(key.query) if self.format else "", error) from error

    def _open(self, key: FileKey, schema: pa.Schema) -> None:
        """Begin a new file; those that are open are ended if they are too many."""
        assert self.format is not None
        if len(self._writers) >= MOST_OPEN:
            self._close()
        path, self._writers[key] = open_file(self.format, key, schema)
        self._files.append((key, path))

    def _close(self) -> None:
        while self._writers:
            self._writers.popitem()[1].close()

    def __enter__(self) -> QueryFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Write what waits, unless something failed, and close all files."""
        try:
            for key in list(self._waiting) if kind is None else ():
                self._write(key)
                self._writers.pop(key).close()
        finally:
            self._close()


def open_file(format: FileFormat, key: FileKey, schema: pa.Schema) -> tuple[str, pq.ParquetWriter]:
    """A new file of a query, under a name that no other attempt at this partition has, and what writes it."""
    folder = format.folder.format(key.query)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    path = f"{folder}/{bucket_prefix(key.bucket)}{uuid4().hex}.{format.compression}.parquet"
    dictionaries = [field.name for field in schema if field.type not in UNDICTIONED]
    # Arrow's own schema in the footer would make dictionaries of texts for those who read it with Arrow.
    writer = pq.ParquetWriter(path, schema, compression=format.compression, use_dictionary=dictionaries,
                              store_schema=False, use_deprecated_int96_timestamps=format.int96,
                              store_decimal_as_integer=True)
    if metadata := format.metadata_of(key.query):
        writer.add_key_value_metadata(metadata)
    return path, writer


def bucket_prefix(bucket: Bucket | None) -> str:
    """How the names of files begin that hold rows of a bucket of time, or of any time."""
    return "part-" if bucket is None else f"part-b{bucket[0]}_{bucket[1]}-"


def bucket_of_file(name: str) -> Bucket | None:
    """The bucket whose rows a file holds, by its name; None of a file that holds rows of any time. Older versions gave
    buckets of one length a number."""
    found = re.match(r"part-b(-?\d+)(?:_(-?\d+))?-", name)
    return (int(found[1]), int(found[2] or int(found[1]) + 1)) if found else None


def unwritable(path: str, error: OSError) -> RunError:
    """What to say where a file cannot be written."""
    return RunError(f"a worker cannot write to '{path}': {error}. "
                    "Check that the folder is writable and that the disk has room.")


def write_empty_file(format: FileFormat, query: str, schema: pa.Schema) -> None:
    """A file without rows that holds the columns of a query."""
    open_file(format, FileKey(query), schema)[1].close()
