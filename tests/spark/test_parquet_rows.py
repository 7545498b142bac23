"""Parquet files that workers read themselves: the rows are Spark's own, whoever wrote the files and whatever is set."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType

from tests.harness.differential import collect, compare
from tests.spark.test_one_pass import LONG, QUERIES_OF_ALL_KINDS, ROWS, SHARDS, SHORT, passes_of, written
from tests.strategies.queries import related_queries
from tests.strategies.tables import SCHEMA, Shape, rows_of, shapes
from weft import Loom
from weft.errors import RefusedError, RunError
from weft.optimize.groupings import may_derive
from weft.spark.session.session import temporary_settings
from weft.spark.stages.final import type_named
from weft.spark.write import one_pass, parquet_source

ALL = QUERIES_OF_ALL_KINDS | {  # no row of any order twice, since files come in any order
    "by_i": f"SELECT i, window.end AS at, max(v) AS m, stddev(v) AS d, max_by(n, if(f > 2, f, NULL)) AS l "
            f"FROM t WHERE f < 1e9 GROUP BY i, {LONG}",
}
TEXTS = {
    "of_one_key": f"SELECT i, window.end AS at, sum(v) AS s, count(*) AS c FROM t WHERE k = 'k1' GROUP BY i, {LONG}",
    "of_keys": f"SELECT k, window.end AS at, sum(n) AS s FROM t WHERE k IN ('k1', 'k2') OR k > 'k2' GROUP BY k, {LONG}",
    "filtered_texts": "SELECT window.end AS at, count(*) FILTER (WHERE k = 'k3') AS c, count(k) AS there, max_by(k, v) "
                      f"AS highest FROM t GROUP BY {SHORT}",
    "bits": f"SELECT k, window.end AS at, bit_or(shiftleft(1, i)) AS b, sum(n & 3) AS s FROM t GROUP BY k, {SHORT}",
}


WRITTEN = ("by_k", "no_keys", "filtered", "of_one_key", "filtered_texts")


@pytest.fixture
def folder(spark, tmp_path):
    """Rows in a few files, not in the order of time."""
    spark.range(900).selectExpr(*ROWS).repartition(3).write.parquet(str(tmp_path / "rows"))
    return tmp_path / "rows"


def loom_over(spark, path, queries, **options):
    """A loom over files."""
    loom = Loom(spark)
    loom.source("t", str(path), time=options.pop("time", "ts"), format="parquet", **options)
    loom.add_queries(queries)
    return loom


def is_read(loom) -> list[bool]:
    """Of each pass, whether workers read its rows."""
    return [found.read is not None for found in passes_of(loom)]


def require_native(loom, folder):
    """What is written is what Spark gives; by whom the rows of the passes came at last."""
    found = written(loom, folder)
    native = collect({name: loom.native(name) for name in found})
    assert found.keys() == native.keys()
    for name, (_, rows) in found.items():
        assert compare(name, rows, native[name]) == [], name


def test_all_kinds_of_queries(spark, folder, tmp_path):
    """Other keys, cuts, predicates and types; what workers cannot compute, here keys of floats, Spark sends beside."""
    with loom_over(spark, folder, ALL | TEXTS) as loom:
        first, second = passes_of(loom)
        assert first.read and not second.read and len(first.scans) > len(second.scans) >= 1
        require_native(loom, tmp_path / "out")


def test_shards_are_marked_by_workers(spark, folder, tmp_path, monkeypatch):
    """Predicates on scales and for themselves; one that only Spark evaluates leaves its marks to Spark."""
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: 0)
    more = {"text": f"SELECT k, window.end AS at, sum(n) AS s FROM t WHERE k <> 'k1' GROUP BY k, {SHORT}"}
    with loom_over(spark, folder, SHARDS | more) as loom:
        (found,) = passes_of(loom)
        assert found.read and found.scans[0].root.marks
        require_native(loom, tmp_path / "out")
    more = {"upper": f"SELECT k, window.end AS at, sum(n) AS s FROM t WHERE upper(k) = 'K1' GROUP BY k, {SHORT}"}
    with loom_over(spark, folder, SHARDS | more) as loom:
        assert is_read(loom) == [False]
        require_native(loom, tmp_path / "spark")


@pytest.mark.parametrize("setting", [
    {"spark.sql.parquet.outputTimestampType": "INT96", "spark.sql.session.timeZone": "America/New_York"},
    {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS", "spark.sql.parquet.compression.codec": "zstd"},
    {"spark.sql.parquet.writeLegacyFormat": "true", "spark.sql.ansi.enabled": "false"},
])
def test_files_of_sparks_own_writers(spark, tmp_path, setting):
    with temporary_settings(spark, setting):
        spark.range(300).selectExpr(*ROWS).write.parquet(str(tmp_path / "rows"))
        with loom_over(spark, tmp_path / "rows", {name: (ALL | TEXTS)[name] for name in WRITTEN}) as loom:
            assert is_read(loom) == [True]
            require_native(loom, tmp_path / "out")


@pytest.mark.parametrize("setting", [
    {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"},
    {"spark.sql.parquet.int96TimestampConversion": "true"}, {"spark.sql.parquet.fieldId.read.enabled": "true"},
    {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS", "spark.sql.parquet.int96AsTimestamp": "false"},
])
def test_files_that_spark_reads_in_its_own_way(spark, tmp_path, setting):
    with temporary_settings(spark, setting):
        spark.range(300).selectExpr(*ROWS).write.parquet(str(tmp_path / "rows"))
        with loom_over(spark, tmp_path / "rows", TEXTS) as loom:
            assert not any(is_read(loom))
            require_native(loom, tmp_path / "out")


def test_folders_that_are_columns(spark, tmp_path):
    """The value in a folder's name counts, also where the files have a column of that name."""
    rows = spark.range(300).selectExpr(*ROWS)
    rows.withColumn("part", rows.i).write.partitionBy("part").parquet(str(tmp_path / "rows"))
    sql = f"SELECT part, window.end AS at, sum(n) AS s FROM t GROUP BY part, {LONG}"
    with loom_over(spark, tmp_path / "rows", {"by_part": sql}) as loom:
        assert not any(is_read(loom))
        require_native(loom, tmp_path / "out")
    rows.coalesce(1).write.parquet(str(tmp_path / "hidden"))
    (tmp_path / "named" / "i=7").mkdir(parents=True)
    (file,) = (tmp_path / "hidden").glob("*.parquet")
    shutil.copy(file, tmp_path / "named" / "i=7")
    sql = f"SELECT i, window.end AS at, sum(n) AS s FROM t GROUP BY i, {LONG}"
    with loom_over(spark, tmp_path / "named", {"by_i": sql}) as loom:
        assert not any(is_read(loom))
        require_native(loom, tmp_path / "named_out")


def write_table(folder: Path, **columns) -> None:
    """One more file of a folder."""
    folder.mkdir(exist_ok=True)
    count = len(list(folder.iterdir()))
    pq.write_table(pa.table(columns), folder / f"{count}.parquet")


TIMES = pa.array([datetime(2024, 1, 1, 0, minute) for minute in range(40)], pa.timestamp("us", "UTC"))
SUMS = {"sums": f"SELECT window.end AS at, sum(n) AS s, count(n) AS c FROM t GROUP BY {SHORT}"}


def test_files_whose_columns_differ(spark, tmp_path):
    """The first file is as its columns say. Spark reads the others by what it knows of the first, and so must workers:
    in another case, missing, or of another type."""
    numbers = pa.array(range(40), pa.int64())
    others = {"case": {"N": numbers}, "missing": {"m": numbers}, "narrow": {"n": numbers.cast(pa.int32())}}
    for name, other in others.items():
        write_table(tmp_path / name, ts=TIMES, n=numbers)
        write_table(tmp_path / name, ts=TIMES, **other)
        with loom_over(spark, tmp_path / name, SUMS, schema="ts timestamp, n bigint") as loom:
            assert is_read(loom) == [True], "the first file says nothing else"
            require_native(loom, tmp_path / f"{name}_out")


def test_times_of_old(spark, tmp_path):
    """Found while rows are read: Spark then sends them."""
    old = pa.array([datetime(1850, 1, 1)] * 40, pa.timestamp("us", "UTC"))
    write_table(tmp_path / "rows", ts=TIMES, n=pa.array(range(40)))
    write_table(tmp_path / "rows", ts=old, n=pa.array(range(40)))
    with loom_over(spark, tmp_path / "rows", SUMS) as loom:
        assert is_read(loom) == [True]
        require_native(loom, tmp_path / "out")


def test_local_times(spark, tmp_path):
    """An event time without a zone."""
    write_table(tmp_path / "rows", ts=TIMES.cast(pa.timestamp("us")), n=pa.array(range(40)))
    with loom_over(spark, tmp_path / "rows", SUMS) as loom:
        assert is_read(loom) == [True]
        require_native(loom, tmp_path / "out")


def test_an_error_is_sparks_own(spark, folder, tmp_path):
    """A row on which a lift raises: nothing is written."""
    sql = f"SELECT k, window.end AS at, sum(n / zero_at_times) AS s FROM t GROUP BY k, {LONG}"
    with loom_over(spark, folder, {"bad": sql}) as loom:
        assert is_read(loom) == [True]
        with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
            loom.run(sink=str(tmp_path / "out"))
        assert not (tmp_path / "out" / "bad").exists()


def test_a_file_that_is_damaged_is_told(spark, tmp_path):
    """By Spark, as it would tell it."""
    for _ in range(2):
        write_table(tmp_path / "rows", ts=TIMES, n=pa.array(range(40)))
    with loom_over(spark, tmp_path / "rows", SUMS) as loom:
        broken = tmp_path / "rows" / "1.parquet"
        broken.write_bytes(broken.read_bytes()[:-30])
        with pytest.raises(Exception, match=r"1\.parquet"):
            loom.run(sink=str(tmp_path / "out"))
        assert not (tmp_path / "out" / "sums").exists()


def test_files_that_come_are_read_by_the_next_run(spark, tmp_path):
    write_table(tmp_path / "rows", ts=TIMES, n=pa.array(range(40)))
    with loom_over(spark, tmp_path / "rows", SUMS) as loom:
        require_native(loom, tmp_path / "first")
        write_table(tmp_path / "rows", ts=TIMES, n=pa.array(range(40)))
        require_native(loom, tmp_path / "second")
        os.remove(tmp_path / "rows" / "0.parquet")
        require_native(loom, tmp_path / "third")


def test_drop_boxes_are_no_plain_files(spark, tmp_path):
    """Rows behind a drop box bear a weight, which no file has."""
    write_table(tmp_path / "rows", ts=TIMES, n=pa.array(range(40)))
    with loom_over(spark, tmp_path / "rows", SUMS, drop=0.5) as loom:
        sources = loom.plan().context.sources
        assert {name: bool(sources.whole_parquet(name)) for name in sources.frames} == {
            name: name == "t" for name in sources.frames}
        assert not any(is_read(loom)) or set(sources.frames) == {"t"}


CHAR = {"ts": "timestamp", "k": "char(5)", "n": "bigint"}


def test_texts_of_fixed_length(spark, tmp_path):
    """Spark pads what CHAR columns hold and are compared with; what it would pad after grouping, Weft refuses."""
    kinds = StructType([StructField(name, StringType() if "char" in kind else type_named(kind), True,
                                    {"__CHAR_VARCHAR_TYPE_STRING": kind} if "char" in kind else {})
                        for name, kind in CHAR.items()])
    metadata = {"org.apache.spark.sql.parquet.row.metadata": kinds.json()}
    rows = pa.table({"ts": TIMES, "k": ["a", "a ", "b", "c"] * 10, "n": pa.array(range(40))})
    (tmp_path / "rows").mkdir()
    pq.write_table(rows.replace_schema_metadata(metadata), tmp_path / "rows" / "0.parquet")
    queries = {"where": f"SELECT window.end AS at, sum(n) AS s FROM t WHERE k = 'a' GROUP BY {SHORT}",
               "list": f"SELECT window.end AS at, sum(n) AS s FROM t WHERE k IN ('a', 'b') GROUP BY {SHORT}",
               "keys": f"SELECT k, window.end AS at, sum(n) AS s FROM t GROUP BY k, {SHORT}",
               "plain": f"SELECT window.end AS at, count(*) AS c FROM t GROUP BY {SHORT}"}
    with loom_over(spark, tmp_path / "rows", queries) as loom:
        assert {row["k"] for row in loom.native("keys").collect()} == {"a    ", "b    ", "c    "}
        require_native(loom, tmp_path / "out")
        for text in (f"SELECT k = 'a' AS a, count(*) AS c FROM t GROUP BY k, {SHORT}",
                     f"SELECT count(*) AS c FROM t GROUP BY k, {SHORT} HAVING k = 'a'"):
            with pytest.raises(RefusedError, match=r"CHAR\(n\).*rtrim\(k\)"):
                loom.query("bad", text)


def test_a_pattern_that_names_a_file_twice(spark, tmp_path):
    """Spark reads it twice."""
    write_table(tmp_path / "a", ts=TIMES, n=pa.array(range(40)))
    with loom_over(spark, f"{tmp_path}/{{a/*,*/0.parquet}}", SUMS) as loom:
        assert not any(is_read(loom))
        require_native(loom, tmp_path / "out")


def test_files_that_spark_lists_and_does_not_read(spark, tmp_path):
    """Names of summaries, whatever is in them, and files without a byte."""
    for name, first in (("0", 0), ("_metadata_old", 100), ("_common_metadata", 200)):
        write_table(tmp_path / name, ts=TIMES, n=pa.array(range(first, first + 40)))
    for name in ("_metadata_old", "_common_metadata"):
        (tmp_path / name / "0.parquet").rename(tmp_path / "0" / f"{name}.parquet")
    (tmp_path / "0" / "empty.parquet").touch()
    with loom_over(spark, tmp_path / "0", SUMS, schema="ts timestamp, n bigint") as loom:
        assert is_read(loom) == [True] and len(loom._context.sources.whole_parquet("t")) > 1
        [found] = passes_of(loom)
        assert [Path(part.path).name for task in found.read.rows.tasks for part in task] == ["0.parquet"]
        require_native(loom, tmp_path / "out")


def test_the_event_time_as_a_key(spark, tmp_path):
    write_table(tmp_path / "rows", ts=TIMES, n=pa.array(range(40)))
    by_time = f"SELECT ts, window.end AS at, sum(n) AS s FROM t GROUP BY ts, {SHORT}"
    with loom_over(spark, tmp_path / "rows", SUMS | {"by_time": by_time}) as loom:
        require_native(loom, tmp_path / "out")


def test_damaged_rows_are_told_by_checksums(spark, tmp_path):
    """Spark's writers leave them beside their files."""
    rows = spark.range(40).selectExpr("timestamp_seconds(1704067200 + id * 60) AS ts", "id AS n").coalesce(1)
    plain = {"compression": "none", "parquet.enable.dictionary": "false"}
    rows.write.options(**plain).parquet(str(tmp_path / "rows"))
    (part,) = (tmp_path / "rows").glob("part-*")
    data = bytearray(part.read_bytes())
    data[data.index((17).to_bytes(8, "little"))] = 99
    part.write_bytes(data)
    with loom_over(spark, tmp_path / "rows", SUMS, schema="ts timestamp, n bigint") as loom:
        assert is_read(loom) == [True]
        with pytest.raises(RunError, match=part.name):
            loom.run(sink=str(tmp_path / "out"))
        assert not (tmp_path / "out" / "sums").exists()


def test_many_row_groups_are_shared_among_tasks(tmp_path):
    """Large files by row groups, small ones whole, in order, each once."""
    for name, rows, group in (("a", 2_000_000, 100_000), ("b", 10, 10), ("c", 500_000, 500_000)):
        pq.write_table(pa.table({"n": pa.array(range(rows))}), tmp_path / f"{name}.parquet", row_group_size=group,
                       compression="none", use_dictionary=False)
    files = [str(path) for path in tmp_path.iterdir()]
    tasks = list(parquet_source.share_files(files, 4))
    read = [(Path(part.path).name, group) for task in tasks for part in task for group in part.groups or (None,)]
    assert read == [*(("a.parquet", i) for i in range(20)), ("b.parquet", None),
                    ("c.parquet", None if (tmp_path / "c.parquet").stat().st_size <= 1 << 22 else 0)]
    assert 4 <= len(tasks) <= 6


# Random tables in files are read by workers for these, whatever stands beside them.
PLAIN = ("SELECT k, s, window.end AS at, sum(n) AS n, max(x) AS x, sum(d) AS d, avg(f) AS f, min(t) AS t, "
         f"max(day) AS day FROM t GROUP BY k, s, {SHORT}",
         "SELECT g, window.end AS at, sum(i) AS i, avg(t) AS t, max(w) AS w, min(at) AS first, bool_or(b) AS b "
         f"FROM t WHERE s >= 'a' AND k <> 'k1' GROUP BY g, {LONG}")


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("columns", [10_000, 0], ids=["filters", "shards"])
def test_random_queries(request, spark, tmp_path_factory, monkeypatch, columns):
    """Random queries over random tables in files: what workers read and cut of them gives Spark's own rows."""
    monkeypatch.setattr("weft.optimize.predicates.FINER", 1000)
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: columns)
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    monkeypatch.setattr(one_pass.OnePass, "is_cheaper", lambda *_: True)
    read: list[bool] = []
    run = one_pass.OnePass.run
    monkeypatch.setattr(one_pass.OnePass, "run", lambda self, to: read.append(bool(self.read)) or run(self, to))

    @settings(max_examples=max(3, request.config.getoption("--cases") // 33),
              phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(shape=shapes(), texts=st.lists(related_queries(), min_size=6, max_size=6, unique=True))
    def check(shape: Shape, texts: list[str]) -> None:
        place = tmp_path_factory.mktemp("rows")
        spark.createDataFrame(rows_of(shape), SCHEMA).write.parquet(str(place / "rows"))
        texts = [*texts, *PLAIN]
        with loom_over(spark, place / "rows", {f"q{i}": text for i, text in enumerate(texts)}) as loom:
            require_native(loom, place / "out")

    check()
    assert any(read)
