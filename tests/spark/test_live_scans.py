"""Changes that give a query a scan of its own: nothing of what others, or it, have answered is lost."""

from __future__ import annotations

import time
from random import Random

import pytest

from tests.harness.live_run import LiveRun
from tests.spark.test_join_stream import ON, loom_over, put, read, record, rows_of
from tests.spark.test_live import VOLUME
from weft import QueryError
from weft.errors import RunError

PAIR = f"SELECT t0.k, window.start AS at, sum(t1.n) AS s, count(*) AS c FROM a t0 JOIN b t1 ON {ON} " \
       "GROUP BY t0.k, window(t0.ts, '{}', '10 seconds')"


@pytest.mark.usefixtures("interpreted")
def test_queries_over_a_join_of_streams_lose_no_window_when_another_comes(spark, tmp_path):
    """The watermark behind the join is below that of Spark's logs, which say where a change is made."""
    lines = {name: rows_of(name, 60) for name in "ab"}
    for name in "ab":
        put(tmp_path, name, 0, lines[name][:40])
    loom = loom_over(spark, tmp_path, ())
    loom.query("pair", PAIR.format("1 minute"))
    loom.query("wide", PAIR.format("2 minutes"))
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out")) as stream:
        assert len(stream.scans) == 1
        stream.processAllAvailable()
        made = stream.add("more", PAIR.format("90 seconds"))
        assert (made.kind, made.complete_from) == ("free", {"more": None})
        with pytest.raises(RunError, match=r"'pair' cannot go alone.*a join of streams"):
            stream.drop("pair")
        with pytest.raises(QueryError, match="joins streams"):
            stream.replace("more", PAIR.format("2 minutes"))
        for name in "ab":
            put(tmp_path, name, 1, [*lines[name][40:], record(9000, "last", 1)])
        stream.processAllAvailable()
    loom.query("more", PAIR.format("90 seconds"))
    with loom.run() as results:
        for name in ("pair", "wide", "more"):
            expected = sorted(tuple(row) for row in results[name].select("k", "at", "s", "c").collect())
            assert read(spark, tmp_path, name) == [row for row in expected if row[0] != "last"]
    loom.close()


@pytest.mark.usefixtures("interpreted")
def test_a_query_that_gets_another_scan_keeps_what_it_has_answered_in_memory(spark, tmp_path):
    (tmp_path / "in").mkdir()
    run = LiveRun(tmp_path, Random(5))
    run.initial = {"volume": VOLUME.format("'20 seconds', '5 seconds'")}
    loom = run.make_loom(spark)
    loom.add_queries(run.initial)
    run.feed()
    run.feed()
    with loom.start(tmp_path / "checkpoint", "memory") as stream:
        stream.processAllAvailable()
        before = stream.scans[0].name
        stream.replace("volume", VOLUME.format("'7 seconds'"))
        assert stream.scans[0].name != before
        stream.replace("volume", VOLUME.format("'11 seconds'"))  # before the scan has caught up
        run.feed()
        expected = run.expected(spark, run.finish(stream))["volume"]
        until = time.monotonic() + 120
        while stream.memory.table("volume").num_rows < len(expected) and time.monotonic() < until:
            time.sleep(0.2)  # windows close in a trigger without rows, for which Spark does not wait
        rows = spark.createDataFrame(stream.memory.table("volume").combine_chunks()).collect()
    assert sorted(map(tuple, rows), key=repr) == expected


def test_a_sink_of_a_scan_that_spark_cuts_does_not_wait_for_itself(spark, tmp_path):
    (tmp_path / "in").mkdir()
    run, found = LiveRun(tmp_path, Random(6)), []
    loom = run.make_loom(spark)
    loom.query("middle", "SELECT symbol, window.end AS e, median(size) AS m FROM trades "
                         "GROUP BY symbol, window(ts, '5 seconds')")

    def ask(name, rows, number):
        try:
            stream.preview(add={"volume": VOLUME.format("'5 seconds'")})
        except RunError as error:
            found.append(str(error))

    for _ in range(2):
        run.feed()
    with loom.start(tmp_path / "checkpoint", ask) as stream:
        assert stream.scans[0].plans is None
        stream.processAllAvailable()
        run.feed()
        stream.processAllAvailable()
        assert found and all("from within its own sink" in each for each in found)
        assert stream.preview(add={"volume": VOLUME.format("'5 seconds'")}).kind == "free"
    loom.close()
