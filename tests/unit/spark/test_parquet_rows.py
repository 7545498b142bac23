"""Keys in the first rows of Parquet files are counted as a set would, and rows a second as all files have them."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.spark.statistics.parquet_rows import MOST_FOOTERS, count_parquet_keys

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SETS = (("k",), ("n",), ("k", "n"), (), ("`odd name`",), ("ts",), ("k", "ts"))


def rows(first, count, every):
    """So many rows from a second on, so many seconds apart; keys have nulls."""
    numbers = range(first, first + count)
    return {
        "ts": pa.array([NOON + dt.timedelta(seconds=first + every * i) for i in range(count)],
                       pa.timestamp("us", "UTC")),
        "k": ["abc"[i % 3] if i % 7 else None for i in numbers],
        "n": pa.array([i % 5 if i % 4 else None for i in numbers], pa.int32()),
        "odd name": [i % 2 == 0 for i in numbers],
    }


@pytest.fixture
def files(tmp_path):
    """A busy file and a slow one, in order: 200 rows in 200 seconds, then 100 rows in 2000."""
    for name, columns in {"a": rows(0, 200, 1), "b": rows(200, 100, 20)}.items():
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", row_group_size=60)
    return [str(tmp_path / f"{name}.parquet") for name in "ab"]


def distinct(files, names, count):
    """How many keys the first rows have."""
    table = pa.concat_tables(map(pq.read_table, files))[:count]
    return len({tuple(row[name.strip("`")] for name in names) for row in table.to_pylist()})


@pytest.mark.parametrize("count", [1, 10, 130, 250, 1000])
def test_keys_are_those_of_the_first_rows(files, count):
    found = count_parquet_keys(files, "ts", SETS, count)
    assert [each.keys for each in found] == [distinct(files, names, count) for names in SETS]
    assert {each.rows for each in found} == {min(count, 300)}


def test_rows_a_second_are_those_of_all_files(files):
    (found,) = count_parquet_keys(files, "ts", (("k",),), 50)
    seconds = 200 + 99 * 20
    assert 1e6 * found.rows / found.span == pytest.approx(300 / seconds)
    (bare,) = count_parquet_keys(without_statistics(files), "ts", (("k",),), 50)
    assert 1e6 * bare.rows / bare.span == pytest.approx(50 / 49)


def without_statistics(files):
    """The same files, their footers without first and last times."""
    for path in files:
        pq.write_table(pq.read_table(path), path, write_statistics=False)
    return files


def test_of_many_files_some_footers_are_read(tmp_path):
    paths = [str(tmp_path / f"{i:03}.parquet") for i in range(3 * MOST_FOOTERS)]
    for i, path in enumerate(paths):
        pq.write_table(pa.table(rows(10 * i, 10, 1)), path)
    (found,) = count_parquet_keys(paths, "ts", (("k",),), 25)
    assert 1e6 * found.rows / found.span == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(("time", "sets"), [
    ("ts", (("gone",),)), ("gone", (("k",),)), ("n", (("k",),)), ("ts", (("addr.city",),)), ("ts", (("addr",),)),
])  # fmt: skip
def test_what_arrow_cannot_tell_is_left_to_spark(files, time, sets):
    columns = {**rows(0, 20, 1), "addr": [{"city": "Ulm"}] * 20}
    pq.write_table(pa.table(columns), files[0])
    assert count_parquet_keys(files[:1], time, sets, 10) is None


def test_broken_and_empty_files(files, tmp_path):
    (tmp_path / "a.parquet").write_text("no Parquet")
    assert count_parquet_keys(files, "ts", SETS, 10) is None
    pq.write_table(pa.table(rows(0, 0, 1)).cast(pq.read_schema(files[1])), files[1])
    found = count_parquet_keys(files[1:], "ts", SETS, 10)
    assert {(each.rows, each.keys, each.span) for each in found} == {(1.0, 1.0, 1.0)}
