"""Who cuts a stream: workers, or Spark where its source was measured and has very many rows a slice."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from tests.harness.differential import collect, compare
from weft import Loom

WINDOWS = {"short": "window(ts, '20 seconds', '10 seconds')", "long": "window(ts, '1 minute', '10 seconds')"}
ROWS = ("timestamp_seconds(1700000000 + id DIV 4) AS ts", "concat('k', id % 3) AS k",
        "IF(id % 7 = 0, NULL, CAST(id * 7919 % 701 AS DOUBLE)) AS v", "id % 11 AS n")


def make_loom(spark, folder: Path) -> Loom:
    """A loom over Parquet files, some of its queries with a predicate."""
    loom = Loom(spark)
    loom.source("t", str(folder), time="ts", format="parquet", watermark="0 seconds")
    for name, window in WINDOWS.items():
        loom.query(name, "SELECT k, window.end AS at, avg(v) AS a, max(n) AS m, count(*) AS c FROM t "
                         f"GROUP BY k, {window}")
        loom.query(f"{name}_few", f"SELECT k, window.end AS at, sum(n) AS s FROM t WHERE v > 300 GROUP BY k, {window}")
    return loom


def put(spark, folder: Path, first: int, last: int) -> None:
    """Another file of rows."""
    made = folder.parent / f"made_{first}"
    spark.range(first, last).selectExpr(*ROWS).coalesce(1).write.parquet(str(made))
    folder.mkdir(exist_ok=True)
    [part] = made.glob("part-*.parquet")
    part.rename(folder / f"{first}.parquet")


def start(loom: Loom, home: Path, times: float, trigger: str = "1 second") -> str:
    """Answer what is there, after the source was measured, if it had been so many times as large; who cut it."""
    if times:
        loom.measure()
        sizes = loom._context.sizes
        sizes.measured |= {key: replace(found, rows=found.rows * times) for key, found in sizes.measured.items()}
    stream = loom.start(home / "checkpoint", str(home / "out"), trigger=trigger)
    try:
        if trigger == "1 second":
            stream.processAllAvailable()
    finally:
        stream.stop()
    [scan] = json.loads((home / "checkpoint" / "weft.json").read_text())["state"].values()
    return scan["cut"]


def assert_closed(spark, home: Path, loom: Loom) -> None:
    """The files of a stream hold what Spark itself gives for the windows that the last row has closed."""
    names = [bound.query.name for bound in loom.plan().queries]
    expected = {name: loom.native(name).where("at <= timestamp_seconds(1700000000 + 25000)") for name in names}
    found = {name: spark.read.parquet(f"{home}/out/{name}") for name in expected}
    ours, theirs = collect(found), collect(expected)
    assert [line for name in theirs for line in compare(name, ours[name], theirs[name])] == []
    assert all(theirs.values())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("times", "trigger", "cut"), [
    (0, "1 second", "workers"), (1, "1 second", "workers"), (1e4, "1 second", "workers"), (1e4, "1 hour", "Spark")])
def test_workers_cut_but_where_a_trigger_has_very_many_rows_a_slice(spark, tmp_path, times, trigger, cut):
    """A trigger brings the rows that come until the next."""
    put(spark, tmp_path / "in", 0, 400)
    assert start(make_loom(spark, tmp_path / "in"), tmp_path, times, trigger) == cut


@pytest.mark.usefixtures("interpreted")
def test_a_stream_that_spark_cuts_answers_as_a_batch_does(spark, tmp_path):
    """A second start, which knows nothing of sizes, goes on as the first."""
    put(spark, tmp_path / "in", 0, 400)
    assert start(make_loom(spark, tmp_path / "in"), tmp_path, 1e6) == "Spark"
    put(spark, tmp_path / "in", 400, 800)
    put(spark, tmp_path / "in", 100_000, 100_001)
    again = make_loom(spark, tmp_path / "in")
    assert start(again, tmp_path, 0) == "Spark"
    assert_closed(spark, tmp_path, again)


@pytest.mark.usefixtures("interpreted")
def test_a_query_that_workers_cannot_cut_comes_to_a_measured_stream(spark, tmp_path):
    """It gets a scan of its own, as it would where nobody had measured."""
    put(spark, tmp_path / "in", 0, 400)
    loom = make_loom(spark, tmp_path / "in")
    loom.measure()
    median = f"SELECT k, window.end AS at, median(v) AS m FROM t GROUP BY k, {WINDOWS['short']}"
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out")) as stream:
        stream.processAllAvailable()
        stream.add("median", median)
        put(spark, tmp_path / "in", 400, 800)
        put(spark, tmp_path / "in", 100_000, 100_001)
        stream.processAllAvailable()
        scans = json.loads((tmp_path / "checkpoint" / "weft.json").read_text())["state"].values()
    assert [scan["cut"] for scan in scans] == ["workers", "Spark"]
    again = make_loom(spark, tmp_path / "in")
    again.query("median", median)
    assert_closed(spark, tmp_path, again)


CHAR = StructType([StructField("ts", TimestampType()), StructField("k", StringType(), True, {
    "__CHAR_VARCHAR_TYPE_STRING": "char(5)"}), StructField("n", LongType())])


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("times", [0, 1e12])
def test_texts_of_fixed_length_are_padded_whoever_cuts(spark, tmp_path, times):
    folder = tmp_path / "in"
    folder.mkdir()
    micros = [1_700_000_000_000_000 + 1_000_000 * i for i in (*range(40), 100_000)]
    rows = pa.table({"ts": pa.array(micros, pa.timestamp("us", "UTC")), "k": (["a", "a ", "a    ", "b"] * 11)[:41],
                     "n": pa.array(range(41))})
    pq.write_table(rows.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": CHAR.json()}),
                   folder / "0.parquet")
    loom = Loom(spark)
    loom.source("t", str(folder), time="ts", format="parquet", watermark="0 seconds")
    for name, where in (("all", ""), ("some", "WHERE k = 'a' ")):
        loom.query(name, f"SELECT k, window.end AS at, sum(n) AS s FROM t {where}GROUP BY k, {WINDOWS['short']}")
    assert start(loom, tmp_path, times) == ("Spark" if times else "workers")
    assert_closed(spark, tmp_path, loom)
