"""Streams beside streams, and sources whose columns, values and times are as hostile as a schema allows."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.spark.test_stream import TRADES, VOLUME, drop, trade
from weft import Loom
from weft.errors import RunError, SourceError

NAMES = ("slice", "bucket", "k0", "p0", "m0", "v0", "w", "q", "o0", "first", "starts", "part", "count", "pos", "a`b",
         "c.d", "reason", "record")
COLUMNS = ", ".join(f"`{name.replace('`', '``')}` bigint" for name in NAMES)


def told(rows) -> Counter:
    """Rows as texts, lists in any order."""
    return Counter(repr([sorted(value, key=repr) if isinstance(value, list) else value for value in row.values()])
                   for row in rows)


def streamed(loom: Loom, place, **options):
    """A stream over what is there, ended."""
    stream = loom.start(place, "memory", trigger="available", max_clock_skew=None, **options)
    assert stream.awaitTermination(300)
    return stream


@pytest.mark.usefixtures("interpreted")
def test_columns_may_have_any_name_and_lists_any_nesting(spark, tmp_path):
    """Both ways of cutting and windows of rows, against Spark's own answers over the same rows."""
    values = [[(7 * i + j) % 3 for j in range(len(NAMES))] for i in range(24)]
    rows = [(f"2026-01-01 00:00:{i:02d}", f"t{i % 4}", *row) for i, row in enumerate(values)]
    plain = spark.createDataFrame(rows, f"at string, text string, {COLUMNS}")
    frame = plain.selectExpr("CAST(at AS TIMESTAMP) AS ts", "*").drop("at")
    frame.coalesce(1).write.parquet(str(tmp_path / "in"))
    loom = Loom(spark)
    loom.source("t", str(tmp_path / "in"), time="ts", format="parquet", watermark="0 seconds")
    window, sums = "window(ts, '6 seconds', '2 seconds')", "sum(k0) AS k0, max(p0) AS m0, count(v0) AS q"
    loom.query("workers", f"SELECT slice, `a``b`, `c.d`, bucket, {sums} FROM t WHERE w < 2 "
                          f"GROUP BY slice, `a``b`, `c.d`, bucket, {window}")
    loom.query("spark", f"SELECT slice AS s, `a``b`, max(text) AS o0, max(bucket), {sums} FROM t "
                        f"GROUP BY slice, `a``b`, {window}")
    loom.query("rows", "SELECT bucket, sum(slice) AS s, max(`a``b`) AS m, sum(first + starts) AS f FROM t "
                       "[ROWS 3 SLIDE 2] GROUP BY bucket")
    lists = ("collect_list(k0) AS l, collect_set(text) AS s, array_agg(p0) AS a, "
             "named_struct('a', collect_list(k0), 'n', count(*)) AS n, array(collect_list(m0)) AS aa, "
             "collect_list(named_struct('one', 1, 'k', k0)) AS c")
    loom.query("lists", f"SELECT bucket, {lists} FROM t GROUP BY bucket, {window}")
    memory = streamed(loom, tmp_path / "checkpoint").memory
    # The last rows move the watermark but are not past it.
    loom.source("closed", frame.where("ts < '2026-01-01 00:00:23'"), time="ts")
    for query in loom.queries[:4]:
        loom.query(f"{query.name}_closed", query.text.replace("FROM t", "FROM closed"))
    with loom.run(queries=[f"{name}_closed" for name in ("workers", "spark", "rows", "lists")]) as results:
        ours = {name.removesuffix("_closed"): told(rows.toArrow().to_pylist()) for name, rows in results.items()}
    native = {name: told(loom.native(f"{name}_closed").toArrow().to_pylist()) for name in ours}
    loom.close()
    assert ours == native
    for name, wanted in ours.items():
        found = told(memory.table(name).to_pylist())
        assert found and not found - wanted, name
    assert told(memory.table("rows").to_pylist()) == ours["rows"]


def test_columns_that_begin_as_wefts_own_are_refused(spark):
    with pytest.raises(SourceError, match=r"'__Weft_time' of source 't' begins with __weft_.* rename it"):
        Loom(spark).source("t", spark.sql("SELECT current_timestamp() AS ts, 1 AS __Weft_time"), time="ts")


@pytest.mark.usefixtures("interpreted")
def test_two_streams_run_in_one_session_and_a_running_checkpoint_is_refused(spark, tmp_path):
    (tmp_path / "in").mkdir()
    looms = [Loom(spark), Loom(spark), Loom(spark.newSession())]
    for loom in looms:
        loom.source("trades", str(tmp_path / "in"), time="ts", format="json", schema=TRADES, watermark="0 seconds")
        loom.query("volume", VOLUME)
    drop(tmp_path / "in", trade(1, size=5))
    drop(tmp_path / "in", trade(100))
    with looms[0].start(tmp_path / "one", "memory") as first, looms[1].start(tmp_path / "two", "memory") as second:
        with pytest.raises(RunError, match=r"started from the checkpoint '.*one' runs in this program: stop it first"):
            looms[1].start(tmp_path / "one", "memory")
        with pytest.raises(RunError, match=r"started from the checkpoint '.*two' runs in this program: stop it first"):
            looms[2].start(tmp_path / "two", "memory")
        for stream in (first, second):
            stream.processAllAvailable()
        assert first.memory.table("volume").num_rows == second.memory.table("volume").num_rows == 4
    for loom in looms:
        loom.close()


@pytest.mark.usefixtures("interpreted")
def test_times_that_are_none_or_before_1970_are_dead_letters(spark, tmp_path):
    """A text that names no time, and a moment before the one at which Spark's watermark begins, stop nothing."""
    (tmp_path / "in").mkdir()
    loom = Loom(spark)
    schema = TRADES.replace("ts timestamp", "ts string")
    loom.source("trades", str(tmp_path / "in"), time="ts", format="json", schema=schema, watermark="0 seconds")
    loom.query("volume", VOLUME)
    loom.query("venue", VOLUME.replace("sum(size) AS volume", "max(venue) AS venue"))
    loom.query("rows", "SELECT symbol, sum(size) AS volume FROM trades [ROWS 1 SLIDE 1] GROUP BY symbol")
    times = ("yesterday", "2026-13-45", None, "1969-12-31T23:59:59Z", "1950-01-01T00:00:00Z", "+999999-01-01",
             "2026-01-01T00:00:01Z", "2026-01-01T00:01:40Z")
    drop(tmp_path / "in", *(json.dumps({"ts": at, "symbol": "a", "venue": "x", "size": 1}) for at in times))
    stream = streamed(loom, tmp_path / "checkpoint", optimizer="no_share")
    loom.close()
    assert {name: stream.memory.table(name).num_rows for name in ("volume", "venue", "rows")} == {
        "volume": 4, "venue": 4, "rows": 1}
    for folder in (tmp_path / "checkpoint" / "dead_letters").iterdir():
        letters = [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]
        assert Counter(letter["reason"] for letter in letters) == {"no event time": 4, "event time before 1970": 2}
    assert len(list((tmp_path / "checkpoint" / "dead_letters").iterdir())) == 3
