"""Files that a worker writes: all rows in order, footers for Spark, and a sentence where a file cannot be written."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.errors import RunError
from weft.final.outputs import files as module
from weft.final.outputs.files import FileFormat, QueryFiles, write_empty_file

SCHEMA = pa.schema([("k", pa.dictionary(pa.int32(), pa.string())), ("at", pa.timestamp("us", "UTC")),
                    ("v", pa.float64())])


def format_in(folder, int96=False):
    return FileFormat(f"{folder}/{{}}", "snappy", int96, (("a", ((b"said", b"by a"),)), ("b", ())))


def batch(first, count):
    """So many rows, whose keys come from a dictionary of their own."""
    numbers = range(first, first + count)
    keys = pa.array([f"k{i % 3}" if i % 5 else None for i in numbers], pa.string()).dictionary_encode()
    times = pa.array([i * 1_000_000 for i in numbers], pa.timestamp("us", "UTC"))
    return pa.record_batch([keys, times, pa.array([float(i) for i in numbers])], names=SCHEMA.names)


def plain(table):
    return [dict(row, at=row["at"].timestamp()) for row in table.to_pylist()]


@pytest.mark.parametrize("int96", [False, True])
@pytest.mark.parametrize(("rows", "waiting"), [(1 << 20, 1 << 26), (7, 1 << 26), (1 << 20, 100)])
def test_all_rows_of_a_query_are_in_its_file_in_order(tmp_path, monkeypatch, int96, rows, waiting):
    """However soon what waits is written: when a query has so many rows, or all queries so many bytes."""
    monkeypatch.setattr(module, "GROUP_ROWS", rows)
    monkeypatch.setattr(module, "WAITING_BYTES", waiting)
    with QueryFiles(format_in(tmp_path, int96)) as files:
        for first in range(0, 30, 5):
            files.add("a", batch(first, 5))
            files.add("b", batch(100 + first, 3))
            files.add("b", batch(0, 0))
    done = {query: (path, count) for query, path, count in files.done}
    assert {query: count for query, (_, count) in done.items()} == {"a": 30, "b": 18}
    found = pq.read_table(done["a"][0])
    assert plain(found) == [row for first in range(0, 30, 5) for row in plain(pa.Table.from_batches([batch(first, 5)]))]
    assert found.schema.field("k").type == pa.string()  # the dictionary is Parquet's, not the column's type
    assert pq.read_metadata(done["a"][0]).metadata[b"said"] == b"by a"
    assert pq.ParquetFile(done["b"][0]).schema.column(1).physical_type == ("INT96" if int96 else "INT64")


def test_without_a_format_rows_are_only_counted(tmp_path):
    with QueryFiles(None) as files:
        files.add("a", batch(0, 4))
        files.add("a", batch(4, 3))
    assert files.done == [("a", None, 7)] and list(tmp_path.iterdir()) == []


def test_each_attempt_has_files_of_its_own(tmp_path):
    """What an attempt that failed has written is known by its name."""
    for _ in range(2):
        with QueryFiles(format_in(tmp_path)) as files:
            files.add("a", batch(0, 4))
    assert len(list((tmp_path / "a").iterdir())) == 2


def test_a_query_without_rows_has_a_file_with_its_columns(tmp_path):
    write_empty_file(format_in(tmp_path), "a", SCHEMA)
    (path,) = (tmp_path / "a").iterdir()
    assert pq.read_table(path).schema.names == SCHEMA.names and pq.read_metadata(path).num_rows == 0


def test_what_cannot_be_written_is_told(tmp_path):
    (tmp_path / "a").write_text("in the way")
    with pytest.raises(RunError, match=r"cannot write to '.*/a': .*Check that the folder is writable"), \
            QueryFiles(format_in(tmp_path)) as files:
        files.add("a", batch(0, 4))
