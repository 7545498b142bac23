"""Output rows that workers make and write: the rows, types and errors that Spark's own projection and writer give."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row

import weft.final.outputs.partition as worker
from tests.harness.differential import compare
from weft import Loom
from weft.final.project import NeedsSpark
from weft.io.sinks import FolderSink, NoopSink
from weft.spark.batch.run import build_parts
from weft.spark.stages.final import send_slices
from weft.spark.write.worker_files import held_types
from weft.spark.write.worker_jobs import WorkerJob
from weft.spark.write.write import plan_jobs

ROWS = ("timestamp_seconds(1700000000 + 37 * id + id % 7) AS ts", "concat('k', id % 4) AS k", "id % 11 AS n",
        "CAST(id % 3 AS INT) AS i", "IF(id % 5 = 0, NULL, CAST(id * 7919 % 701 AS DOUBLE)) AS v",
        "IF(id % 9 = 0, NULL, concat('s', id % 13)) AS s", "CAST(id % 17 AS DECIMAL(10, 2)) AS d",
        "DATE'2020-01-01' + CAST(id % 40 AS INT) AS day", "id % 2 = 0 AS even", "CAST(id AS STRING) AS text")
WINDOW = "window(ts, '10 minutes', '2 minutes')"
# What a worker makes by itself, and the types that pass through it.
MADE = {
    "plain": f"SELECT k, window.end AS at, avg(v) AS a, count(*) AS c FROM t GROUP BY k, {WINDOW}",
    "types": "SELECT k, i, even, window, max(s) AS s, min(day) AS day, sum(d) AS d, max(ts) AS last, min(even) AS e, "
             f"sum(n) AS n, max(i) AS i2 FROM t GROUP BY k, i, even, {WINDOW}",
    "having": "SELECT k, window.start AS at, 100 * stddev_samp(v) / nullif(avg(v), 0) AS r, "
              f"CASE WHEN max(v) > 600 THEN 1 END IS NULL AS low FROM t GROUP BY k, {WINDOW} HAVING count(v) > 5",
    "no_keys": f"SELECT window.end AS at, sum(v) / count(*) AS m FROM t WHERE v > 100 GROUP BY {WINDOW}",
    "nobody": f"SELECT k, window.end AS at, max(v) AS m FROM t GROUP BY k, {WINDOW} HAVING max(v) > 1e9",
    "same": f"SELECT k, window.end AS at, avg(v) AS a, count(*) AS c FROM t WHERE n > 3 GROUP BY k, {WINDOW}",
}
# What only Spark makes.
LEFT = {
    "rounded": f"SELECT k, window.end AS at, round(avg(v), 2) AS a FROM t GROUP BY k, {WINDOW}",
    "listed": f"SELECT k, window.end AS at, sort_array(collect_set(n)) AS l FROM t GROUP BY k, {WINDOW}",
}


@pytest.fixture
def loom(spark):
    made = Loom(spark)
    made.source("t", spark.range(700).selectExpr(*ROWS), time="ts")
    yield made
    made.close()


def add(loom, queries):
    for name, sql in queries.items():
        loom.query(name, sql)


def made_by_workers(loom, sink):
    """The queries whose rows workers make."""
    plan = loom.plan()
    parts = build_parts(plan.stages, plan.context.slices)
    return {name for job in plan_jobs(loom.spark, plan.stages, parts, sink) for name in job.queries}


def require_equal(loom, folder, other, monkeypatch):
    """What workers wrote is what Spark writes: rows and schemas."""
    with monkeypatch.context() as patch:
        patch.setattr("weft.spark.write.write.plan_jobs", lambda *_: [])
        report = loom.run(sink=str(other)).report
    for line in report:
        name = line["query"]
        mine, spark = (loom.spark.read.parquet(str(path / name)) for path in (folder, other))
        assert mine.schema == spark.schema, name
        rows = [[list(row) for row in frame.collect()] for frame in (mine, spark)]
        assert compare(name, *rows) == [], name


def test_files_of_workers_equal_those_of_spark(loom, tmp_path, monkeypatch):
    add(loom, MADE | LEFT)
    assert made_by_workers(loom, FolderSink("parquet", str(tmp_path / "mine"))) == set(MADE)
    report = loom.run(sink=str(tmp_path / "mine")).report
    assert {line["query"] for line in report} == set(MADE | LEFT) and all(line["seconds"] > 0 for line in report)
    require_equal(loom, tmp_path / "mine", tmp_path / "spark", monkeypatch)
    assert loom.spark.read.parquet(str(tmp_path / "mine" / "nobody")).count() == 0
    for file in (tmp_path / "mine" / "plain").glob("*.parquet"):
        footer = pq.read_metadata(file).metadata
        assert footer[b"org.apache.spark.version"].decode() == loom.spark.version
        assert b'"name":"at"' in footer[b"org.apache.spark.sql.parquet.row.metadata"]


@pytest.mark.parametrize("settings", [
    {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS", "spark.sql.parquet.compression.codec": "zstd"},
    {"spark.sql.parquet.compression.codec": "uncompressed"}, {"spark.sql.session.timeZone": "Asia/Kolkata"},
    {"spark.sql.ansi.enabled": "false"}, {"spark.sql.parquet.writeLegacyFormat": "true"},
    {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}])
def test_settings_of_the_session_hold(spark, tmp_path, monkeypatch, settings):
    """Where workers cannot follow a setting, Spark writes."""
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        with Loom(spark) as loom:
            loom.source("t", spark.range(300).selectExpr(*ROWS), time="ts")
            add(loom, MADE)
            loom.run(sink=str(tmp_path / "mine"))
            require_equal(loom, tmp_path / "mine", tmp_path / "spark", monkeypatch)
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_local_times_and_old_ones(spark, tmp_path, monkeypatch):
    """Local timestamps are not written as INT96; times before 1900 are left to Spark while the run goes on."""
    with Loom(spark) as loom:
        rows = spark.range(300).selectExpr("TIMESTAMP_NTZ'1850-01-01' + make_interval(0, 0, 0, 0, 0, 0, id * 37) AS ts",
                                           "id % 3 AS k", "id AS v")
        loom.source("t", rows, time="ts")
        loom.query("old", f"SELECT k, window.start AS at, sum(v) AS s FROM t GROUP BY k, {WINDOW}")
        loom.query("plain", f"SELECT k, sum(v) AS s FROM t GROUP BY k, {WINDOW}")
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        try:
            loom.run(sink=str(tmp_path / "mine"))
            require_equal(loom, tmp_path / "mine", tmp_path / "spark", monkeypatch)
        finally:
            spark.conf.unset("spark.sql.parquet.outputTimestampType")
        assert made_by_workers(loom, FolderSink("parquet", str(tmp_path / "mine"))) == {"plain"}


@pytest.mark.parametrize("sink", ["noop", "files"])
def test_an_error_is_sparks_own_and_nothing_is_written(loom, tmp_path, sink):
    """A worker that meets a division by zero leaves the query to Spark, which raises as it would alone."""
    loom.query("fine", MADE["plain"])
    loom.query("bad", f"SELECT k, window.end AS at, sum(n) / (count(v) - count(v)) AS x FROM t GROUP BY k, {WINDOW}")
    assert made_by_workers(loom, NoopSink()) == {"fine", "bad"}
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        loom.run(sink="noop" if sink == "noop" else str(tmp_path / "out"))
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_a_query_left_to_spark_on_the_way_is_written_once(spark, tmp_path, monkeypatch):
    """What a worker wrote of a projection before it gave up does not stay."""
    with Loom(spark) as loom:
        rows = spark.range(200).selectExpr("timestamp_seconds(1700000000 + 37 * id) AS ts", "id % 3 AS k",
                                           "CAST(id - 100 AS DOUBLE) AS v")
        loom.source("t", rows, time="ts")
        loom.query("fine", f"SELECT k, window.end AS at, sum(v) AS s FROM t GROUP BY k, {WINDOW}")
        loom.query("left", f"SELECT k, window.end AS at, abs(sum(v)) AS s FROM t GROUP BY k, {WINDOW}")
        def refuse(each, answers, made=worker.output_rows):
            if "left" in {name for names in each.queries.values() for name in names}:
                raise NeedsSpark("a test")
            return made(each, answers)

        run = WorkerJob.run

        def run_here(job, target):
            """The job in this process, where the worker's function is patched."""
            sent = send_slices(job.part.slices, job.part.partial, job.final).toArrow().to_batches()
            found = list(worker.project_partition(job.final, job.projections, target, sent))
            return [Row(**line) for batch in found for line in batch.to_pylist()]

        monkeypatch.setattr(worker, "output_rows", refuse)
        monkeypatch.setattr(WorkerJob, "run", run_here)
        loom.run(sink=str(tmp_path / "mine"))
        monkeypatch.setattr(WorkerJob, "run", run)
        require_equal(loom, tmp_path / "mine", tmp_path / "spark", monkeypatch)


def test_only_local_folders_of_parquet_are_written_by_workers(spark):
    assert held_types(spark, FolderSink("parquet", "/tmp/x")) is not None
    for sink in (FolderSink("orc", "/tmp/x"), FolderSink("parquet", "s3a://bucket/x")):
        assert held_types(spark, sink) is None
