"""Rows a second of a stream: slices alone, Weft with 1, 10 and 100 windows, and Spark's own window, in one run.

    .venv/bin/python bench/streaming.py [--triggers 8] [--rows 500000] [--only windows,ranges,soak] [--minutes 30]

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
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft import Loom
from weft.io.arrivals import TIME
from weft.spark.session.session import local_session
from weft.spark.stream.flow import SETTINGS, closed_slices
from weft.spark.stream.start import PARTITIONS

KEYS, SECONDS = 1000, 300  # keys, and the event time that a trigger covers: 30 slices of 10 s a key
SCHEMA = "ts timestamp, symbol string, price double, size bigint"
WARM = 3
BEGIN = 1_767_225_600_000_000  # the first trade, in microseconds
RESULT = Path(__file__).parent / "results" / "streaming.json"


class Feed(NamedTuple):
    """A folder of trades, and how many of them a trigger brings."""

    folder: str
    rows: int


def make_trades(spark: SparkSession, folder: str, triggers: int, rows: int) -> None:
    """One Parquet file a trigger."""
    for i in range(triggers):
        made = spark.range(rows).selectExpr(
            f"timestamp_micros(CAST(({i * SECONDS} + id * {SECONDS} / {rows}) * 1000000 AS BIGINT) + {BEGIN}L) ts",
            f"concat('S', lpad(CAST(pmod(hash(id, {i}), {KEYS}) AS STRING), 4, '0')) symbol",
            "50 + 50 * rand(7) price", "CAST(1 + 100 * rand(8) AS BIGINT) size")
        made.repartition(2).write.mode("append").parquet(f"{folder}/{i:04d}")


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
    frame = closed_slices(source(spark, feed.folder).withColumn(TIME, F.col("ts")), stage, 0)
    loom.close()
    return drained(feed, "slices alone", frame.writeStream.format("noop").outputMode("append"))


def native(spark: SparkSession, feed: Feed, seconds: int) -> dict:
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


def weft(spark: SparkSession, feed: Feed, run: str, ranges: list[int]) -> dict:
    """Weft with a window a range, thrown away."""
    loom = weaving(spark, feed, ranges)
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        stream = loom.start(place, "noop", trigger="available", max_clock_skew=None)
        stream.awaitTermination()
        (scan,) = stream.scans
        found = measured(run, [json.loads(p.json) for p in scan.query.recentProgress], feed.rows)
        last = json.loads(scan.query.recentProgress[-2].json)
    loom.close()
    answers = sum(last.get("observedMetrics", {}).get("answers", {}).values())
    return {**found, "windows": len(ranges), "answers_per_trigger": answers,
            "state_bytes": [o.get("memoryUsedBytes") for o in last["stateOperators"]]}


def spread(count: int, most: int = 2400) -> list[int]:
    """Ranges evenly spread up to 240 slides."""
    return [max(10, round(most * (i + 1) / count / 10) * 10) for i in range(count)]


def windows(spark: SparkSession, feed: Feed) -> Iterator[dict]:
    """1, 10, 100 windows and ten of about 10 min / 10 s, each between two runs of slices alone; then Spark's own."""
    cases = {"1 window": spread(1), "10 windows": spread(10), "100 windows": spread(100),
             "10 windows about 10 min": [600 + 10 * i for i in range(-5, 5)]}
    weft(spark, feed, "warm", spread(10))
    slices_alone(spark, feed)
    before = slices_alone(spark, feed)
    yield before
    for run, asked in cases.items():
        found, after = weft(spark, feed, run, asked), slices_alone(spark, feed)
        alone = (before["seconds"] + after["seconds"]) / 2
        yield {**found, "of_slices_alone": round(alone / found["seconds"], 2)}
        yield after
        before = after
    yield native(spark, feed, 600)


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
    options.add_argument("--triggers", type=int, default=10)
    options.add_argument("--rows", type=int, default=500_000)
    options.add_argument("--only", default="windows,ranges")
    options.add_argument("--partitions", default="2")
    options.add_argument("--minutes", type=float, default=30)
    given = options.parse_args()
    memory = {"spark.driver.memory": "2g"} if given.only == "soak" else {}
    spark = local_session("streaming", **{PARTITIONS: given.partitions}, **memory)
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    folder = tempfile.mkdtemp(prefix="weft-streaming-")
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    try:
        make_trades(spark, folder, given.triggers, given.rows)
        for part in given.only.split(","):
            rows = []
            parts = {"windows": windows, "ranges": ranges, "soak": partial(soak, minutes=given.minutes)}
            for row in parts[part](spark, Feed(folder, given.rows)):
                print(row, flush=True)
                rows.append(row)
            kept[part] = {"rows": given.rows, "partitions": given.partitions, "found": rows,
                          "at": time.strftime("%Y-%m-%d")}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    RESULT.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
