"""A batch on Spark: results, sinks, errors and the promises that a random table does not reach."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import ArithmeticException, PySparkException
from pyspark.sql import functions as F

from weft import CheckError, Loom, QueryError, RefusedError, SourceError, WeftError
from weft.errors import RunError
from weft.loom import batch
from weft.spark.session.session import temporary_settings

MINUTE = dt.timedelta(minutes=1)
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SMA = "SELECT symbol, window.end AS at, avg(price) AS mean FROM trades GROUP BY symbol, window(ts, '{}', '1 minute')"


@pytest.fixture(scope="module")
def trades(spark):
    rows = [(NOON + i * MINUTE / 3, "ABC"[i % 3], 100.0 + i % 7, i) for i in range(200)]
    return spark.createDataFrame(rows, "ts timestamp, symbol string, price double, volume bigint").cache()


def folders(path):
    return sorted(p.name for p in path.iterdir())


def test_results_have_the_names_order_and_types_of_the_sql(loom):
    items = "sum(volume), window, SYMBOL, avg(price) p"
    loom.query("q", f"SELECT {items} FROM trades GROUP BY symbol, window(ts, '5 minutes')")
    assert loom.run()["q"].dtypes == loom.native("q").dtypes
    assert [n for n, _ in loom.run()["q"].dtypes] == ["sum(volume)", "window", "SYMBOL", "p"]


def test_queries_of_equal_shape_keep_their_own_names_and_types(loom):
    items = ("symbol, max(price) AS a", "SYMBOL, max(price) AS b", "symbol, max(price)", "symbol, max(PRICE)",
             "symbol, max(volume) + 5 AS a", "symbol, max(volume) + 7 AS a", "symbol, max(volume) + 7",
             "symbol, max(volume) + 8",
             "symbol, max(volume) + 7.25 AS a", "symbol, max(volume) + 7.5 AS a", "symbol AS max, max(price) AS symbol")
    for i, item in enumerate(items):
        loom.query(f"q{i}", f"SELECT {item} FROM trades GROUP BY symbol, window(ts, '5 minutes') HAVING count(*) > {i}")
    results = loom.run()
    for query in loom.queries:
        assert results[query.name].dtypes == loom.native(query.name).dtypes


def test_two_queries_of_one_window_share_everything_and_both_answer(loom, tmp_path):
    for name in ("a", "b"):
        loom.query(name, SMA.format("5 minutes"))
    loom.query("c", SMA.format("9 minutes"))
    plan = loom.explain().to_dict()
    assert plan["totals"]["scans"] == 1 and plan["totals"]["answer_stages"] == 1
    report = loom.run(sink=str(tmp_path / "out")).report
    assert [r["query"] for r in report] == ["a", "b", "c"] and folders(tmp_path / "out") == ["a", "b", "c"]
    assert loom.verify().ok


def test_sinks_write_what_results_hold(loom, spark, tmp_path):
    loom.query("q", SMA.format("7 minutes"))
    want = sorted(map(tuple, loom.run()["q"].collect()))
    for format in ("parquet", "json", "csv", "orc"):
        path = tmp_path / format
        loom.run(sink={"format": format, "path": str(path)})
        options = {"header": "true", "inferSchema": "true"} if format == "csv" else {}
        assert spark.read.format(format).options(**options).load(str(path / "q")).count() == len(want)
    assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "parquet" / "q")).collect())) == want
    loom.run(sink=str(tmp_path / "parquet"))
    assert spark.read.parquet(str(tmp_path / "parquet" / "q")).count() == len(want)


def test_a_query_without_rows_leaves_a_folder_with_its_schema(loom, spark, tmp_path):
    loom.query("none", SMA.format("5 minutes") + " HAVING avg(price) > 1000000")
    loom.query("some", SMA.format("5 minutes"))
    loom.run(sink=str(tmp_path))
    empty = spark.read.parquet(str(tmp_path / "none"))
    assert empty.count() == 0 and empty.columns == ["symbol", "at", "mean"]


def test_an_empty_source_gives_empty_results_with_the_right_schema(spark, trades):
    loom = Loom(spark)
    loom.source("trades", trades.limit(0), time="ts")
    loom.query("q", SMA.format("5 minutes"))
    assert loom.run()["q"].collect() == [] and loom.run()["q"].dtypes == loom.native("q").dtypes


def test_a_source_that_fails_in_the_middle_leaves_nothing_behind(spark, trades, tmp_path):
    loom = Loom(spark)
    broken = trades.withColumn("price", F.expr("IF(volume = 150, raise_error('lost'), price)").cast("double"))
    loom.source("good", trades, time="ts")
    loom.source("bad", broken, time="ts")
    loom.query("first", SMA.format("5 minutes").replace("trades", "good"))
    loom.run(sink=str(tmp_path))
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")}
    loom.query("second", SMA.format("5 minutes").replace("trades", "bad") + " HAVING mean > 0")
    with pytest.raises((PySparkException, WeftError), match="lost"):
        loom.run(sink=str(tmp_path))
    assert folders(tmp_path) == ["first"]
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*.parquet")} == before


def test_a_file_that_breaks_off_is_told_in_one_sentence(spark, trades, tmp_path):
    trades.coalesce(1).write.parquet(str(tmp_path / "in"))
    (file,) = (tmp_path / "in").glob("*.parquet")
    body = file.read_bytes()
    file.write_bytes(body[:8] + bytes(200) + body[208:])
    (tmp_path / "in" / f".{file.name}.crc").unlink()
    loom = Loom(spark)
    loom.source("trades", tmp_path / "in", time="ts")
    loom.query("q", SMA.format("5 minutes"))
    with pytest.raises((PySparkException, RunError)):
        loom.run(sink=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists() or folders(tmp_path / "out") == []


def test_a_sink_that_cannot_be_written_is_told(loom, tmp_path):
    (tmp_path / "file").write_text("in the way")
    loom.query("q", SMA.format("5 minutes"))
    with pytest.raises((PySparkException, WeftError), match="file"):
        loom.run(sink=str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "in the way"


TOP = 2**63 - 1
OVERFLOWS = {
    "sum(v)": ("v bigint", [TOP, TOP]),
    "sum(v) ": ("v decimal(38,0)", [int("9" * 38)] * 2),
    "avg(v)": ("v decimal(38,0)", [int("9" * 38)] * 2),
}


@pytest.mark.parametrize("call", OVERFLOWS)
def test_overflow_across_slices_raises_as_spark_does(spark, call):
    kind, values = OVERFLOWS[call]
    rows = [(NOON + i * MINUTE, Decimal(v) if "decimal" in kind else v) for i, v in enumerate(values)]
    loom = Loom(spark)
    loom.source("t", spark.createDataFrame(rows, f"ts timestamp, {kind}"), time="ts")
    loom.query("q", f"SELECT window.start, {call} FROM t GROUP BY window(ts, '10 minutes', '1 minute')")
    with pytest.raises(ArithmeticException) as ours:
        loom.run()["q"].collect()
    with pytest.raises(ArithmeticException) as theirs:
        loom.native("q").collect()
    assert ours.value.getCondition() == theirs.value.getCondition()


def test_without_ansi_sums_wrap_or_become_null_as_spark_has_it(spark):
    rows = [(NOON + i * MINUTE, TOP, Decimal("9" * 38)) for i in range(2)]
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        loom = Loom(spark)
        loom.source("t", spark.createDataFrame(rows, "ts timestamp, v bigint, d decimal(38,0)"), time="ts")
        window = "window(ts, '10 minutes', '1 minute')"
        loom.query("q", f"SELECT window.start, sum(v), sum(d), avg(v) FROM t GROUP BY {window}")
        assert loom.verify().ok
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_without_ansi_a_slice_that_overflowed_makes_its_windows_null(spark):
    top = Decimal("9" * 38)
    rows = [(NOON, top), (NOON, top), (NOON + 5 * MINUTE, Decimal(5)), (NOON + 30 * MINUTE, Decimal(7))]
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        loom = Loom(spark)
        loom.source("t", spark.createDataFrame(rows, "ts timestamp, d decimal(38,0)"), time="ts")
        loom.query("q", "SELECT window.start, sum(d), avg(d) FROM t GROUP BY window(ts, '10 minutes', '1 minute')")
        assert loom.verify().ok
        texts = spark.createDataFrame([(NOON, "1"), (NOON, "x"), (NOON + MINUTE, "3")], "ts timestamp, s string")
        loom.source("s", texts, time="ts")
        loom.query("texts", "SELECT window.start, avg(s), sum(s), stddev(s) FROM s GROUP BY window(ts, '5 minutes')")
        assert loom.verify(["texts"]).ok
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_queries_without_aggregates_beside_others(loom):
    loom.query("only", "SELECT symbol, window.start FROM trades GROUP BY symbol, window(ts, '5 minutes')")
    loom.query("sum", "SELECT symbol, max(price) FROM trades GROUP BY symbol, window(ts, '5 minutes')")
    assert loom.verify().ok


def test_keys_with_odd_names_and_nested_values(spark, trades):
    nested = "named_struct('a b', symbol, 'c`d', array(volume % 2))"
    odd = trades.selectExpr("ts", "price", f"{nested} AS `odd key`", "volume")
    loom = Loom(spark)
    loom.source("t", odd, time="ts")
    window = "window(ts, '5 minutes', '2 minutes')"
    loom.query("q", f"SELECT `odd key`, window, max_by(`odd key`, volume) AS m FROM t GROUP BY `odd key`, {window}")
    assert loom.verify().ok


def test_collated_keys_are_refused(spark, trades):
    loom = Loom(spark)
    loom.source("t", trades.selectExpr("ts", "price", "collate(symbol, 'UTF8_LCASE') AS k"), time="ts")
    with pytest.raises(RefusedError, match="UTF8_LCASE"):
        loom.query("q", "SELECT k, sum(price) FROM t GROUP BY k, window(ts, '5 minutes')")


def test_session_time_zones_and_local_times(spark):
    times = [f"2024-03-10 0{h}:{m}0:00" for h in range(1, 5) for m in range(6)]  # New York skips 02:00 that day
    local = [dt.datetime.fromisoformat(t) for t in times]
    rows = [(when.replace(tzinfo=dt.UTC), when, i) for i, when in enumerate(local)]
    frame = spark.createDataFrame(rows, "ts timestamp, local timestamp_ntz, v int")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        loom = Loom(spark)
        loom.source("t", frame, time="ts")
        for column in ("ts", "local"):
            sql = f"SELECT window, max(v), min(ts), max(local) FROM t GROUP BY window({column}, '1 hour', '25 minutes')"
            loom.query(column, sql)
        assert loom.verify().ok
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_many_keys_skew_and_wide_gaps(spark):
    rows = spark.range(30_000).selectExpr(
        "timestamp_seconds(1700000000 + CASE WHEN id % 5 = 0 THEN id * 86400 ELSE id % 900 END) AS ts",
        "CASE WHEN id % 2 = 0 THEN 'hot' ELSE concat('k', id) END AS k",
        "CAST(id % 97 AS DOUBLE) AS v",
    )
    loom = Loom(spark)
    loom.source("t", rows, time="ts")
    sql = "SELECT k, window.start, sum(v), max(v), count(*) FROM t GROUP BY k, window(ts, '{}', '{}')"
    loom.query("short", sql.format("90 seconds", "20 seconds"))
    loom.query("long", sql.format("30 days", "5 days"))
    assert loom.verify().ok


@pytest.mark.parametrize(("outputs", "is_written"), [("window.end AS at", True), ("window.end AS at, 1 AS at", False)])
def test_verify_finds_a_wrong_answer(loom, monkeypatch, outputs, is_written):
    """In the rows that a run writes, or in lazy ones where no file can hold them: here two columns of one name."""
    loom.query("q", SMA.format("5 minutes").replace("window.end AS at", outputs))
    assert loom.verify().ok
    real = batch.read_back

    def read_wrong(spark, sink, name, lazy):
        assert Path(sink.output_path(name)).exists() == is_written
        return real(spark, sink, name, lazy).withColumn("mean", F.col("mean") + 1e-6)

    monkeypatch.setattr(batch, "read_back", read_wrong)
    verification = loom.verify()
    assert not verification.ok and "Spark's own" in verification.results[0].differences[0]


def test_verify_writes_times_and_names_that_a_run_could_not(spark, tmp_path):
    """Milliseconds would lose digits of times, and a folder cannot have so long a name."""
    spark.range(9).selectExpr("timestamp_micros(1700000000000000 + id * 1001) AS ts", "id").write.parquet(
        str(tmp_path / "rows"))
    with temporary_settings(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}), Loom(spark) as loom:
        loom.source("t", str(tmp_path / "rows"), time="ts", format="parquet")
        for name in ("q", "q" * 300):
            loom.query(name, "SELECT window.end AS at, max(ts) AS latest FROM t GROUP BY window(ts, '1 minute')")
        assert loom.verify().ok
        assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MILLIS"


BY_SYMBOL = "SELECT symbol, {} FROM {} GROUP BY symbol, window({}, '1 minute')"
BY_WINDOW = "SELECT sum(price) FROM trades GROUP BY window(ts, {})"
BAD = {
    "unknown column": (BY_SYMBOL.format("sum(prise)", "trades", "ts"), CheckError, "price"),
    "unknown function": (BY_SYMBOL.format("sum(foo(price))", "trades", "ts"), CheckError, "foo"),
    "unknown source": (BY_SYMBOL.format("sum(price)", "trade", "ts"), CheckError, "trades"),
    "wrong types": (BY_SYMBOL.format("sum(array(price))", "trades", "ts"), CheckError, "sum"),
    "no time": (BY_SYMBOL.format("sum(price)", "trades", "volume"), CheckError, "window"),
    "intervals": (BY_SYMBOL.format("sum(ts - TIMESTAMP'2020-01-01')", "trades", "ts"), RefusedError, "interval"),
    "slide over range": (BY_WINDOW.format("'1 minute', '2 minutes'"), QueryError, "slide"),
    "start over slide": (BY_WINDOW.format("'9 minutes', '3 minutes', '3 minutes'"), QueryError, "slide"),
    "zero": (BY_WINDOW.format("'0 minutes'"), QueryError, "longer than zero"),
    "negative": (BY_WINDOW.format("'-5 minutes'"), QueryError, "longer than zero"),
    "months": (BY_WINDOW.format("'1 month'"), QueryError, "month"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_queries_are_refused_by_name_and_place(loom, case):
    sql, kind, word = BAD[case]
    with pytest.raises(kind) as refused:
        loom.query("mine", sql)
    assert "query 'mine'" in str(refused.value) and word in str(refused.value)
    assert refused.value.place is not None, str(refused.value)
    assert loom.queries == ()


def test_names_must_be_new_and_plain(loom):
    loom.query("q", SMA.format("5 minutes"))
    with pytest.raises(QueryError, match="already"):
        loom.query("q", SMA.format("5 minutes"))
    for name in ("../up", "a/b", "", ".hidden", "a b"):
        with pytest.raises(QueryError):
            loom.query(name, SMA.format("5 minutes"))
    with pytest.raises(QueryError, match="Did you mean"):
        loom.run(queries=["qq"])


def test_sources_need_a_time_that_is_one(spark, trades):
    loom = Loom(spark)
    with pytest.raises(SourceError, match="did you mean 'ts'"):
        loom.source("t", trades, time="tss")
    with pytest.raises(SourceError, match="double"):
        loom.source("t", trades, time="price")
    with pytest.raises(SourceError, match="nothing at"):
        loom.source("t", "/no/such/folder", time="ts")


def test_numbers_beside_a_decimal_have_sparks_types(spark):
    """Suffixed numbers are literals; a sign that Weft's reader drops makes another type, so it is refused."""
    loom = Loom(spark)
    row = "SELECT TIMESTAMP'2024-01-01' AS ts, CAST(1.23456789 AS DECIMAL(38, 10)) AS d"
    loom.source("t", spark.sql(row), time="ts")
    with pytest.raises(RefusedError, match="otherwise than Spark"):
        loom.query("q", "SELECT sum(d * +5) AS s FROM t GROUP BY window(ts, '1 minute')")
    products = ("d * 5", "d * 5L", "d * 5S", "(5L) * d", "d * -5L")
    sums = ", ".join(f"sum({product}) AS s{i}" for i, product in enumerate(products))
    loom.query("plain", f"SELECT {sums}, sum(d) AS t FROM t GROUP BY window(ts, '1 minute')")
    assert loom.verify().ok
    loom.close()
