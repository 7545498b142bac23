"""Rows of Parquet files that workers read: those that the files hold, and the files that are left to Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.final.cut.groupings import NONE
from weft.final.cut.parquet import TEXT_ROWS, FileColumn, FilePart, ParquetRows, ReadingCutter, fit_column
from weft.final.cut.rows import ComputedColumns, RowCutter, in_one_piece
from weft.final.project import NeedsSpark

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
TABLE = pa.table({
    "ts": pa.array([NOON, None, NOON + timedelta(microseconds=7)], pa.timestamp("us", "UTC")),
    "k": pa.array(["a", "b", None]), "flag": pa.array([True, None, False]), "t": pa.array([1, -2, None], pa.int8()),
    "h": pa.array([1, -2, None], pa.int16()), "i": pa.array([1, None, 3], pa.int32()), "n": pa.array([1, None, 3]),
    "f": pa.array([1.5, None, float("nan")], pa.float32()), "x": pa.array([1.5, None, -0.0]),
    "d": pa.array([Decimal("1.25"), None, Decimal("-2.50")], pa.decimal128(9, 2)),
    "day": pa.array([date(2024, 1, 1)] * 3),
    "nt": pa.array([datetime(2024, 1, 1)] * 3, pa.timestamp("us")), "raw": pa.array([b"a", None, b""], pa.binary()),
})
KINDS = {"ts": "timestamp", "k": "string", "flag": "boolean", "t": "tinyint", "h": "smallint", "i": "int",
         "n": "bigint", "f": "float", "x": "double", "d": "decimal(9,2)", "day": "date", "nt": "timestamp_ntz",
         "raw": "binary"}


def rows_of(path, kinds=KINDS, coded=(), groups=None, size=None, time="ts") -> ParquetRows:
    """The rows of one file, its columns under their own names."""
    part = FilePart(str(path), path.stat().st_size if size is None else size, groups)
    columns = tuple(FileColumn(name, name, kind, name in coded) for name, kind in kinds.items())
    return ParquetRows(((part,),), columns, FileColumn(time, "t0", kinds.get(time, "timestamp")), "t0")


def read(rows: ParquetRows) -> pa.Table:
    """All that the first task reads."""
    return pa.Table.from_batches(rows.read(0))


def reason(path, **changes) -> str:
    """Why a file is left to Spark."""
    with pytest.raises(NeedsSpark) as found:
        read(rows_of(path, **changes))
    return str(found.value)


WRITERS = {"plain": {}, "no dictionaries": {"use_dictionary": False}, "new pages": {"data_page_version": "2.0"},
           "zstd": {"compression": "zstd"}, "row groups": {"row_group_size": 1},
           "decimals as integers": {"store_decimal_as_integer": True}, "no schema of Arrow's": {"store_schema": False},
           "INT96": {"use_deprecated_int96_timestamps": True}}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("coded", [(), ("k",)], ids=["plain texts", "coded texts"])
def test_rows_are_what_the_file_holds(tmp_path, name, coded):
    """Every type, however it was written; rows without a time are not there."""
    path = tmp_path / "a.parquet"
    wanted = TABLE if name != "INT96" else TABLE.drop_columns(["nt"])
    pq.write_table(wanted, path, **WRITERS[name])
    found = read(rows_of(path, {n: kind for n, kind in KINDS.items() if n in wanted.column_names}, coded))
    assert found.column("t0").to_pylist() == [int(NOON.timestamp()) * 10**6, int(NOON.timestamp()) * 10**6 + 7]
    assert pa.types.is_dictionary(found.schema.field("k").type) == bool(coded)
    kept = wanted.filter(wanted["ts"].is_valid())
    for column in wanted.column_names:
        ours = found.column(column).cast(wanted.schema.field(column).type)
        assert str(ours.to_pylist()) == str(kept.column(column).to_pylist()), column


@pytest.mark.parametrize(("column", "kind"), [
    (pa.array(["a"], pa.large_string()), "string"), (pa.array(["a"]).dictionary_encode(), "string"),
    (pa.array(["a"], pa.string_view()), "string"), (pa.array([b"a"], pa.large_binary()), "binary"),
    (pa.array([Decimal("1.5")], pa.decimal256(30, 2)), "decimal(30,2)"),
    (pa.array([NOON], pa.timestamp("us", "America/New_York")), "timestamp"),
])
def test_types_of_other_writers(tmp_path, column, kind):
    """Polars writes large texts, pandas categories and zones: what Parquet holds is the same."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"ts": TABLE["ts"].slice(0, 1), "c": column}), path)
    found = read(rows_of(path, {"c": kind}))
    assert found.column("c").to_pylist() == column.to_pylist()


@pytest.mark.parametrize(("column", "kind"), [
    (pa.array([1], pa.uint32()), "bigint"), (pa.array([1], pa.int32()), "bigint"), (pa.array([1], pa.int64()), "int"),
    (pa.array([NOON], pa.timestamp("ms", "UTC")), "timestamp"),
    (pa.array([NOON], pa.timestamp("ns", "UTC")), "timestamp"),
    (pa.array([datetime(2024, 1, 1)], pa.timestamp("us")), "timestamp"), (pa.array([b"a"]), "string"),
    (pa.array([Decimal("1.5")], pa.decimal128(9, 2)), "decimal(10,2)"), (pa.array([[1]]), "bigint"),
    (pa.array([{"a": 1}]), "bigint"), (pa.array([1.5], pa.float32()), "double"),
    (pa.array([b"1234"], pa.binary(4)), "binary"),
])
def test_other_types_are_left_to_spark(tmp_path, column, kind):
    """What Spark would convert, refuse or read by a setting."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"ts": TABLE["ts"].slice(0, 1), "c": column}), path)
    assert reason(path, kinds={"c": kind}) == f"column c of {path} is not of type {kind}"


def test_columns_are_found_by_their_very_names(tmp_path):
    """Spark looks for names in any case, and takes dots for fields."""
    path = tmp_path / "a.parquet"
    x, n = TABLE["x"], TABLE["n"]
    pq.write_table(pa.table({"ts": TABLE["ts"], "X": x, "y": x, "Y": x, "p.q": n}), path)
    for name, kind in (("x", "double"), ("y", "double"), ("gone", "int"), ("p.q", "bigint")):
        assert "is not of type" in reason(path, kinds={name: kind})


def test_files_that_change_or_break_are_left_to_spark(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    assert reason(path, size=7).endswith("has changed")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert "cannot be read by a worker" in reason(path)
    path.unlink()
    gone = ParquetRows(((FilePart(str(path), 7),),), (), FileColumn("ts", "t0", "timestamp"), "t0")
    with pytest.raises(NeedsSpark, match="cannot be read by a worker"):
        read(gone)


def test_damage_that_reading_stumbles_over_is_left_to_spark(tmp_path, monkeypatch):
    """Whatever kind of error it ends in: here places beyond the checksums, and a file cut short in the meantime."""
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    sums = [crc32(path.read_bytes()[at : at + 512]).to_bytes(4, "big") for at in range(0, path.stat().st_size, 512)]
    (tmp_path / ".a.parquet.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + b"".join(sums))
    monkeypatch.setattr("weft.final.cut.parquet.parts_read", lambda *_: [(0, 10**6)])
    assert "cannot be read by a worker" in reason(path)
    monkeypatch.setattr("weft.final.cut.parquet.require_alike", lambda *_: path.write_bytes(b""))
    (tmp_path / ".a.parquet.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big"))
    assert "cannot be read by a worker" in reason(path)


def test_files_with_and_without_dictionaries_are_read_together():
    """Only those of some writers come with them."""
    coded = pa.record_batch([pa.array(["a", None, "b"]).dictionary_encode(), pa.array([1, 2, 3])], names=["k", "n"])
    plain = pa.record_batch([pa.array(["b", "c", None]), pa.array([4, 5, 6])], names=["k", "n"])
    assert isinstance(in_one_piece([coded, coded])["k"].chunk(0), pa.DictionaryArray)
    assert in_one_piece([coded, plain]).to_pydict() == {"k": ["a", None, "b", "b", "c", None], "n": [1, 2, 3, 4, 5, 6]}


@pytest.mark.parametrize("mark", ["org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"])
def test_calendars_of_old_are_left_to_spark(tmp_path, mark):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE.replace_schema_metadata({mark: ""}), path)
    assert reason(path).endswith("was written with another calendar")


@pytest.mark.parametrize("column", ["ts", "day"])
def test_times_of_old_are_left_to_spark(tmp_path, column):
    path = tmp_path / "a.parquet"
    old = pa.array([datetime(1899, 12, 31, 23)] * 3).cast(TABLE.schema.field(column).type, safe=False)
    pq.write_table(TABLE.set_column(TABLE.column_names.index(column), column, old), path)
    assert reason(path) == "there are times before 1900"


def test_a_dictionary_with_a_text_twice_is_not_taken_for_codes(tmp_path):
    """Codes tell keys apart, so that equal texts must have one."""
    column = FileColumn("k", "k", "string", True)
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["a", "a", "b"]))
    assert fit_column(twice, column).equals(pa.array(["a", "a", "b"]))
    once = pa.array(["a", None, "b"]).dictionary_encode()
    assert fit_column(once, column) is once


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=60), size=st.integers(1, 20),
       groups=st.data())
def test_row_groups_and_dictionaries_of_each(tmp_path, texts, size, groups):
    """Each row group has a dictionary of its own; a task reads some of them."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"ts": pa.array([NOON] * len(texts), pa.timestamp("us", "UTC")),
                             "k": pa.array(texts, pa.string())}), path, row_group_size=size)
    count = -(-len(texts) // size)
    chosen = tuple(sorted(groups.draw(st.sets(st.integers(0, count - 1), min_size=1))))
    found = read(rows_of(path, {"k": "string"}, ("k",), chosen)).combine_chunks()
    assert found["k"].to_pylist() == [text for g in chosen for text in texts[g * size : (g + 1) * size]]


def test_a_cutter_says_why_it_gives_up(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    assert "has changed" in given_up(ReadingCutter(rows_of(path, size=7), RowCutter((), ComputedColumns((), ()))))


def given_up(cutter: ReadingCutter) -> str:
    """Why a cutter gives up its first task."""
    (found,) = cutter([pa.record_batch([[0]], names=["id"])])
    assert found["grouping"].to_pylist() == [NONE]
    return found["slices"][0].as_py().decode()


def test_a_cutter_gives_up_where_arrow_does(tmp_path):
    """Spark may still be able to do it."""
    class Failing:
        def of(self, rows):
            raise pa.ArrowIndexError("out of bounds")

    path = tmp_path / "a.parquet"
    pq.write_table(TABLE, path)
    assert given_up(ReadingCutter(rows_of(path), RowCutter((), Failing()))) == "out of bounds"


def test_whole_texts_come_in_small_batches(tmp_path):
    """However long they are: nobody knows before they are read."""
    path, count = tmp_path / "a.parquet", 3 * TEXT_ROWS + 5
    pq.write_table(pa.table({"ts": pa.array([NOON] * count, pa.timestamp("us", "UTC")), "k": ["long"] * count}), path)
    sizes = [batch.num_rows for batch in rows_of(path, {"k": "string"}).read(0)]
    assert max(sizes) <= TEXT_ROWS and sum(sizes) == count
    assert [batch.num_rows for batch in rows_of(path, {"k": "string"}, ("k",)).read(0)] == [count]


TWICE = pa.table({"ts": pa.array([NOON] * 6, pa.timestamp("us", "UTC")), "k": ["zz1", "c", "zz2", "d", "zz2", "d"]})


def test_a_file_whose_dictionary_has_a_text_twice_is_left_to_spark(tmp_path):
    """Arrow leaves the second out of the dictionary, and the places of those after it as they are."""
    path = tmp_path / "a.parquet"
    pq.write_table(TWICE, path, compression="none", write_statistics=False, store_schema=False)
    path.write_bytes(replace_once(path.read_bytes(), b"zz2", b"zz1"))
    assert "cannot be read by a worker" in reason(path, kinds={"k": "string"}, coded=("k",))
    path.write_bytes(replace_once(path.read_bytes(), b"parquet-cpp", b"unheard-of!"))
    found = read(rows_of(path, {"k": "string"}, ("k",)))
    assert found["k"].to_pylist() == ["zz1", "c", "zz1", "d", "zz1", "d"], "of others texts are read whole"


def replace_once(data: bytes, old: bytes, new: bytes) -> bytes:
    """Bytes with others in place of some that are there once."""
    assert data.count(old) == 1 and len(old) == len(new)
    return data.replace(old, new)


def write_sums(path, size=512) -> None:
    """The checksums of a file, as Spark leaves them."""
    data = path.read_bytes()
    sums = [crc32(data[i : i + size]).to_bytes(4, "big") for i in range(0, len(data), size)]
    (path.parent / f".{path.name}.crc").write_bytes(b"crc\0" + size.to_bytes(4, "big") + b"".join(sums))


def test_checksums_of_what_is_read_must_hold(tmp_path):
    """Spark raises an error, or has a setting for such files."""
    path, count = tmp_path / "a.parquet", 2000
    pq.write_table(pa.table({"ts": pa.array([NOON] * count, pa.timestamp("us", "UTC")), "n": range(count)}), path,
                   compression="none", use_dictionary=False, row_group_size=500)
    write_sums(path)
    kinds = {"n": "bigint"}
    assert read(rows_of(path, kinds))["n"].to_pylist() == list(range(count))
    data = bytearray(path.read_bytes())
    data[data.index((700).to_bytes(8, "little"))] ^= 1  # in the second row group
    path.write_bytes(data)
    for groups in (None, (1,), (0, 1)):
        assert reason(path, kinds=kinds, groups=groups) == f"{path} is not what its checksums say"
    assert read(rows_of(path, kinds, groups=(0, 3))).num_rows == 1000
    write_sums(path)
    with path.open("ab") as file:
        file.write(path.read_bytes())  # another file in its place
    assert reason(path, kinds=kinds) == f"{path} has checksums that are not its own"
