"""Rows a second of a stream: slices alone, Weft with 1, 10 and 100 windows, and Spark's own window, in one run.

    .venv/bin/python bench/streaming.py [--triggers 11] [--rows 500000]
        [--only windows,hundred,about,keys,idle,ranges,cutting]
    .venv/bin/python bench/streaming.py --only soak [--minutes 30]

Each trigger is one file of trades. Rates are rows over the median of the triggers after the first three.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft import Loom
from weft.spark.session.session import local_session, temporary_settings
from weft.spark.stages.partitions import PARTITIONS
from weft.spark.stream.answer_counts import read_counts
from weft.spark.stream.checkpoint_files import BY_FILE_SYSTEM, MANAGER
from weft.spark.stream.flow import SETTINGS, closed_slices, mark_time

KEYS, SECONDS = 1000, 300  # keys, and the event time that a trigger covers: 30 slices of 10 s a key
IDLE_ROWS, IDLE_TRIGGERS = 10, 15
SCHEMA = "ts timestamp, symbol string, price double, size bigint"
WARM = 3
BEGIN = 1_767_225_600_000_000  # the first trade, in microseconds
RESULT = Path(__file__).parent / "results" / "streaming.json"


class Feed(NamedTuple):
    """A folder of trades, how many of them a trigger brings, how many triggers there are, and how many symbols."""

    folder: str
    rows: int
    triggers: int = 0
    keys: int = KEYS

    def beside(self, name: str, **other: int) -> Feed:
        """Another feed beside this one."""
        return self._replace(folder=f"{self.folder}-{name}", **other)


def make_trades(spark: SparkSession, feed: Feed) -> Feed:
    """One folder of Parquet a trigger."""
    folder, rows, triggers, keys = feed
    width = len(str(keys))  # lpad cuts what is longer
    for i in range(triggers):
        made = spark.range(rows).selectExpr(
            f"timestamp_micros(CAST(({i * SECONDS} + id * {SECONDS} / {rows}) * 1000000 AS BIGINT) + {BEGIN}L) ts",
            f"concat('S', lpad(CAST(pmod(hash(id, {i}), {keys}) AS STRING), {width}, '0')) symbol",
            "50 + 50 * rand(7) price", "CAST(1 + 100 * rand(8) AS BIGINT) size")
        made.repartition(2).write.mode("append").parquet(f"{folder}/{i:04d}")
    return feed


def source(spark: SparkSession, folder: str) -> DataFrame:
    """The trades as a stream, one trigger's files at a time."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "2").parquet(f"{folder}/*")


def query(range_seconds: int) -> str:
    """One dashboard line."""
    return ("SELECT symbol, window.end AS at, sum(size) AS volume, avg(price) AS price, max(price) AS high FROM trades "
            f"GROUP BY symbol, window(ts, '{range_seconds} seconds', '10 seconds')")


def measured(run: str, progress: list[dict], rows: int) -> dict:
    """What the triggers took after the warm ones. Spark counts a row each time it reads it, so `rows` are given."""
    took = [p["durationMs"]["triggerExecution"] / 1000 for p in progress if p["numInputRows"]][WARM:]
    return {"run": run, "seconds": round(statistics.median(took), 3), "best": round(min(took), 3),
            "rows_per_second": round(rows / statistics.median(took)), "triggers": [round(t, 2) for t in took]}


def drained(feed: Feed, run: str, writer) -> dict:
    """A Spark query run over all files."""
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        started = writer.option("checkpointLocation", place).trigger(availableNow=True).start()
        started.awaitTermination()
        return measured(run, [json.loads(p.json) for p in started.recentProgress], feed.rows)


def slices_alone(spark: SparkSession, feed: Feed) -> dict:
    """Native streaming aggregation by slice and key, thrown away."""
    loom = weaving(spark, feed, [60])
    stage = loom.plan().stages.root.stage
    frame = closed_slices(mark_time(source(spark, feed.folder), "ts", 0), stage, 0)
    loom.close()
    return drained(feed, "slices alone", frame.writeStream.format("noop").outputMode("append"))


def without_processes(spark: SparkSession, run: Callable[[SparkSession, Feed], dict], feed: Feed) -> dict:
    """A run of Spark's own with the checkpoint's files written as Weft has them written."""
    with temporary_settings(spark, {MANAGER: BY_FILE_SYSTEM}):
        found = run(spark, feed)
    return {**found, "run": f"{found['run']}, files as Weft's"}


def native(spark: SparkSession, feed: Feed, seconds: int = 600) -> dict:
    """Spark's own sliding window, one query."""
    rows = source(spark, feed.folder).withWatermark("ts", "0 seconds")
    frame = rows.groupBy("symbol", F.window("ts", f"{seconds} seconds", "10 seconds")).agg(
        F.sum("size"), F.avg("price"), F.max("price"))
    return drained(feed, f"Spark's own, {seconds} s / 10 s", frame.writeStream.format("noop").outputMode("append"))


def weaving(spark: SparkSession, feed: Feed, ranges: list[int]) -> Loom:
    """A loom with a query a range."""
    loom = Loom(spark)
    loom.source("trades", source(spark, feed.folder), time="ts", watermark="0 seconds")
    for r in ranges:
        loom.query(f"w{r}", query(r))
    return loom


def weft(spark: SparkSession, feed: Feed, run: str, ranges: list[int], cut_by: str = "") -> dict:
    """Weft with a window a range, thrown away; cut by those who are named, if any."""
    loom = weaving(spark, feed, ranges)
    plan = loom.plan()
    shared = replace(plan.shared, scans=tuple(replace(scan, cut_by=cut_by) for scan in plan.shared.scans))
    chosen = replace(plan, shared=shared, stages=plan.context.build(shared))
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        stream = chosen.start(place, "noop", trigger="available", max_clock_skew=None)
        stream.awaitTermination()
        (scan,) = stream.scans
        found = measured(run, [json.loads(p.json) for p in scan.query.recentProgress], feed.rows)
        last = json.loads(scan.query.recentProgress[-2].json)
    loom.close()
    answers = sum(size for _, size in read_counts(last["observedMetrics"]["answers"]["counts"], scan.labels))
    return {**found, "windows": len(ranges), "answers_per_trigger": answers,
            "state_bytes": [o.get("memoryUsedBytes") for o in last["stateOperators"]]}


def spread(count: int, most: int = 2400) -> list[int]:
    """Ranges evenly spread up to 240 slides."""
    return [max(10, round(most * (i + 1) / count / 10) * 10) for i in range(count)]


def between(spark: SparkSession, feed: Feed, cases: dict[str, list[int]]) -> Iterator[dict]:
    """Cases of Weft, each between two runs of slices alone, and these once more with files written as Weft's are."""
    weft(spark, feed, "warm", spread(10))
    slices_alone(spark, feed)
    before = slices_alone(spark, feed)
    yield before
    for run, asked in cases.items():
        found, after = weft(spark, feed, run, asked), slices_alone(spark, feed)
        alone = (before["seconds"] + after["seconds"]) / 2
        yield {**found, "of_slices_alone": round(alone / found["seconds"], 2),
               "best_of_slices_alone": round(min(before["best"], after["best"]) / found["best"], 2)}
        yield after
        before = after
    yield without_processes(spark, slices_alone, feed)


def windows(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """10 windows, again, and 1 window."""
    yield from between(spark, feed, {"10 windows": spread(10), "10 windows again": spread(10), "1 window": spread(1)})


def hundred(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """100 windows, and again."""
    yield from between(spark, feed, {"100 windows": spread(100), "100 windows again": spread(100)})


def about(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """Ten windows of about 10 min / 10 s, and one of Spark's own."""
    yield from between(spark, feed, {"10 windows about 10 min": [600 + 10 * i for i in range(-5, 5)]})
    yield native(spark, feed)


def keys(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """10 windows over ten and a hundred times as many keys; times are compared, not rates."""
    for count in (10_000, 100_000):
        many = make_trades(spark, feed.beside(f"keys-{count}", keys=count, triggers=WARM + 4))
        weft(spark, many, "warm", spread(10))
        found, alone = weft(spark, many, f"10 windows, {count} keys", spread(10)), slices_alone(spark, many)
        yield {**found, "time_of_slices_alone": round(found["seconds"] / alone["seconds"], 2),
               "best_time_of_slices_alone": round(found["best"] / alone["best"], 2)}
        yield {**alone, "run": f"slices alone, {count} keys"}
        shutil.rmtree(many.folder)


def cutting(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """Who cuts: workers or Spark, with few and many rows a slice, in turn."""
    for rows, count in itertools.product((feed.rows, 8 * feed.rows), (10, 1000)):
        many = make_trades(spark, feed.beside("cutting", rows=rows, keys=count, triggers=WARM + 4))
        for who in ("workers", "spark", "workers", "spark")[-2 if rows > feed.rows else 0:]:
            found = weft(spark, many, f"10 windows, {rows} rows, {count} keys, cut by {who}", spread(10), who)
            yield {**found, "rows_a_slice": round(rows / (count * SECONDS / 10), 1)}
        shutil.rmtree(many.folder)


def idle(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """Ten rows a trigger and one query: Weft and Spark's own window in turn, the last rounds when all is warm."""
    few = make_trades(spark, feed.beside("idle", rows=IDLE_ROWS, triggers=IDLE_TRIGGERS))
    one = partial(native, seconds=60)
    for _ in range(2):
        one(spark, few), weft(spark, few, "warm", [60])
    for number in (1, 2):
        own, found, same = one(spark, few), weft(spark, few, "1 window, ten rows", [60]), without_processes(spark, one,
                                                                                                         few)
        yield {**own, "run": f"{own['run']}, ten rows, round {number}"}
        yield {**found, "time_of_own": round(found["seconds"] / own["seconds"], 2),
               "best_time_of_own": round(found["best"] / own["best"], 2),
               "time_of_own_files_as_wefts": round(found["seconds"] / same["seconds"], 2)}
        yield {**same, "run": f"{same['run']}, ten rows, round {number}"}
    shutil.rmtree(few.folder)


def ranges(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """One window, its range ten times as long, and again."""
    for r in (600, 6000, 600, 6000):
        yield weft(spark, feed, f"range {r} s", [r])


def soak(spark: SparkSession, feed: Feed, minutes: float) -> list[dict]:
    """A stream that runs on and on: memory of all its processes, state and trigger times, minute by minute."""
    folder = feed.folder
    shutil.rmtree(folder)
    Path(folder).mkdir()
    loom, stop = weaving(spark, feed, [600, 1200, 2400, 6000]), threading.Event()
    made = spark.range(20_000).selectExpr("id", f"concat('S', CAST(pmod(hash(id), {KEYS}) AS STRING)) symbol",
                                          "50 + 50 * rand(7) price", "CAST(1 + 100 * rand(8) AS BIGINT) size")
    frame = made.toPandas()

    def write() -> None:
        for i in itertools.count():
            if stop.wait(2.0):
                return
            micros = BEGIN + i * 60_000_000 + frame["id"] * 3000  # a file is a minute of trades
            table = pa.table({"ts": pa.array(micros, pa.timestamp("us", "UTC")), "symbol": frame["symbol"],
                              "price": frame["price"], "size": frame["size"]})
            Path(folder, f"{i:06d}").mkdir()
            pq.write_table(table, f"{folder}/{i:06d}/.rows.parquet")
            Path(f"{folder}/{i:06d}/.rows.parquet").rename(f"{folder}/{i:06d}/rows.parquet")

    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        feeder = threading.Thread(target=write, daemon=True)
        feeder.start()
        stream = loom.start(place, "noop", trigger="2 seconds")
        found = [watched(stream, minute) for minute in range(1, int(minutes) + 1)]
        stop.set()
        stream.stop()
    loom.close()
    return found


def resident(process: psutil.Process) -> int:
    """The memory of a process, which may have ended a moment ago."""
    try:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0


def watched(stream, minute: int) -> dict:
    """What a stream is like after another minute."""
    if stream.awaitTermination(60):
        raise SystemExit("the stream has ended")
    me = psutil.Process()
    kinds = {"driver": [me], "java": [], "workers": []}
    for child in me.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            kinds["java" if "java" in child.name() else "workers"].append(child)
    last = json.loads(stream.scans[0].query.lastProgress.json)
    row = {"minute": minute, "batch": last["batchId"], "seconds": last["durationMs"]["triggerExecution"] / 1000,
           "state_bytes": sum(o["memoryUsedBytes"] for o in last["stateOperators"]),
           "state_rows": sum(o["numRowsTotal"] for o in last["stateOperators"]),
           **{f"{kind}_mib": round(sum(map(resident, found)) / 2**20) for kind, found in kinds.items()}}
    print(row, flush=True)
    return row


def main() -> None:
    """Run, print and keep."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--triggers", type=int, default=11)
    options.add_argument("--rows", type=int, default=500_000)
    options.add_argument("--only", default="windows,hundred,about,keys,idle,ranges,cutting")
    options.add_argument("--partitions", default="2")
    options.add_argument("--minutes", type=float, default=30)
    given = options.parse_args()
    memory = {"spark.driver.memory": "2g"} if given.only == "soak" else {}
    parts = {"windows": windows, "hundred": hundred, "about": about, "keys": keys, "idle": idle, "ranges": ranges,
             "cutting": cutting, "soak": partial(soak, minutes=given.minutes)}
    chosen = given.only.split(",")
    spark = local_session("streaming", **{PARTITIONS: given.partitions}, **memory)
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    folder = tempfile.mkdtemp(prefix="weft-streaming-")
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    try:
        feed = Feed(folder, given.rows, given.triggers)
        if {*chosen} - {"keys", "idle", "cutting"}:
            make_trades(spark, feed)
        for part in chosen:
            rows = []
            for row in parts[part](spark, feed):
                print(row, flush=True)
                rows.append(row)
            kept[part] = {"rows": given.rows, "partitions": given.partitions, "found": rows,
                          "at": time.strftime("%Y-%m-%d")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
