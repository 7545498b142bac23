"""The Parquet files that a worker writes, one for each query that has rows in its partition."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import TracebackType
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from weft.errors import RunError

# Rows wait until so many of a query make a row group, or until so many bytes of all queries wait.
GROUP_ROWS, WAITING_BYTES = 1 << 20, 1 << 26
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


class QueryFiles:
    """Rows of queries on their way to files; without a format they are only counted."""

    def __init__(self, format: FileFormat | None):
        self.format = format
        self.rows: dict[str, int] = {}
        self.paths: dict[str, str] = {}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._bytes: dict[str, int] = {}

    @property
    def done(self) -> list[tuple[str, str | None, int]]:
        """Each query with its file, if one was written, and its number of rows."""
        return [(query, self.paths.get(query), rows) for query, rows in self.rows.items()]

    def add(self, query: str, rows: pa.RecordBatch) -> None:
        """Take rows of a query."""
        self.rows[query] = self.rows.get(query, 0) + rows.num_rows
        if self.format is None or rows.num_rows == 0:
            return
        self._waiting.setdefault(query, []).append(rows)
        self._bytes[query] = self._bytes.get(query, 0) + rows.nbytes
        if sum(batch.num_rows for batch in self._waiting[query]) >= GROUP_ROWS:
            self._write(query)
        while sum(self._bytes.values()) > WAITING_BYTES:
            self._write(max(self._bytes, key=lambda name: self._bytes[name]))

    def _write(self, query: str) -> None:
        """Write what waits of a query as a row group."""
        table = pa.Table.from_batches(self._waiting.pop(query)).unify_dictionaries()
        self._bytes.pop(query)
        if query not in self._writers:
            self._writers[query] = self._open(query, table.schema)
        try:
            self._writers[query].write_table(table, row_group_size=table.num_rows)
        except OSError as error:
            raise unwritable(self.paths[query], error) from error

    def _open(self, query: str, schema: pa.Schema) -> pq.ParquetWriter:
        """A new file of a query."""
        assert self.format is not None
        self.paths[query], writer = open_file(self.format, query, schema)
        return writer

    def __enter__(self) -> QueryFiles:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """Write what waits, unless something failed, and close all files."""
        try:
            for query in list(self._waiting) if kind is None else ():
                self._write(query)
        finally:
            for writer in self._writers.values():
                writer.close()


def open_file(format: FileFormat, query: str, schema: pa.Schema) -> tuple[str, pq.ParquetWriter]:
    """A new file of a query, under a name that no other attempt at this partition has, and what writes it."""
    folder = format.folder.format(query)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    path = f"{folder}/part-{uuid4().hex}.{format.compression}.parquet"
    dictionaries = [field.name for field in schema if field.type not in UNDICTIONED]
    # Arrow's own schema in the footer would make dictionaries of texts for those who read it with Arrow.
    writer = pq.ParquetWriter(path, schema, compression=format.compression, use_dictionary=dictionaries,
                              store_schema=False, use_deprecated_int96_timestamps=format.int96,
                              store_decimal_as_integer=True)
    if metadata := format.metadata_of(query):
        writer.add_key_value_metadata(metadata)
    return path, writer


def unwritable(path: str, error: OSError) -> RunError:
    """What to say where a file cannot be written."""
    return RunError(f"a worker cannot write to '{path}': {error}. "
                    "Check that the folder is writable and that the disk has room.")


def write_empty_file(format: FileFormat, query: str, schema: pa.Schema) -> None:
    """A file without rows that holds the columns of a query."""
    open_file(format, query, schema)[1].close()
