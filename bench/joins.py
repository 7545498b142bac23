"""Joins on Spark, all in one run: one query and ten, hot and cool keys with bins and without, a stream of ten windows.

    .venv/bin/python bench/joins.py [--rows 500000] [--repeat 2] [--only batch,bins,stream]

Trades and quotes of ten hours are joined by symbol and time. Spark's own is the same SQL, run by Spark.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from common import RESULTS, machine, save_json, seconds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft import Loom
from weft.model.join import plain_method
from weft.optimize.join_method import choose_join_method, in_bins
from weft.spark.session.session import local_session, temporary_settings
from weft.spark.stages.join import join_rows
from weft.spark.statistics.join_samples import sample_inputs
from weft.spark.stream.checkpoint_files import BY_FILE_SYSTEM, MANAGER
from weft.spark.stream.flow import SETTINGS
from weft.spark.stream.join import TRACKING, join_settings

BEGIN, HOURS = 1_767_225_600, 10
SPAN = HOURS * 3600
SCHEMA = "ts timestamp, symbol string, venue string, value double"
BOUND = "t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL '{0}' SECOND AND t.ts + INTERVAL '{0}' SECOND"
WINDOWS = ("'10 minutes', '1 minute'", "'5 minutes', '1 minute'", "'20 minutes', '2 minutes'", "'1 hour', '5 minutes'",
           "'30 minutes', '1 minute'")
TRIGGERS, WARM, STREAM_SECONDS = 9, 3, 120


def table(spark: SparkSession, rows: int, keys: int, seed: int, since: float = 0.0, span: float = SPAN) -> DataFrame:
    """Rows of one source: so many symbols, eight venues."""
    return spark.range(rows).selectExpr(
        f"timestamp_micros(CAST(({BEGIN} + {since} + id * {span} / {rows}) * 1000000 AS BIGINT)) AS ts",
        f"concat('S', pmod(hash(id, {seed}), {keys})) AS symbol", "concat('V', pmod(id, 8)) AS venue",
        f"50 + 50 * rand({seed}) AS value")


def queries(bound: int, count: int) -> dict[str, str]:
    """Ten queries over one join: five windows, each of all rows and of some."""
    texts = {}
    for number in range(count):
        where = " WHERE t.value > 60" if number % 2 else ""
        texts[f"q{number}"] = (
            "SELECT t.venue, window.end AS at, count(*) AS c, avg(q.value - t.value) AS spread, max(q.value) AS high "
            f"FROM trades t JOIN quotes q ON {BOUND.format(bound)}{where} "
            f"GROUP BY t.venue, window(t.ts, {WINDOWS[number // 2 % len(WINDOWS)]})")
    return texts


def loom_over(spark: SparkSession, folder: Path, texts: dict[str, str]) -> Loom:
    """A loom of queries over two folders of Parquet."""
    loom = Loom(spark)
    for name in ("trades", "quotes"):
        loom.source(name, str(folder / name), time="ts")
    loom.add_queries(texts)
    return loom


def best(work, repeat: int) -> float:
    """The best of several runs after a first."""
    return min([seconds(work) for _ in range(repeat + 1)][1:])


def discard(frame: DataFrame) -> None:
    """Compute all rows, and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def write(spark: SparkSession, folder: Path, rows: int, keys: int) -> Path:
    """Both sources as Parquet."""
    for seed, name in enumerate(("trades", "quotes"), 1):
        table(spark, rows, keys, seed).repartition(4).write.mode("overwrite").parquet(str(folder / name))
    return folder


def batch(spark: SparkSession, folder: Path, rows: int, repeat: int) -> dict:
    """One query and ten, by Spark and by Weft, over the same files."""
    write(spark, folder, rows, rows // 50)
    found = {"rows": rows, "keys": rows // 50, "bound_seconds": 600}
    with loom_over(spark, folder, queries(600, 10)) as loom:
        join = loom.queries[0].join
        found["scans_of_ten"] = len(loom.plan().scans)  # from here on the join is made as samples say
        found["joined_rows"] = join_rows(join, loom._context.sources.frames, plain_method(join)).count()
        found["weft_join"] = best(lambda: discard(loom._context.sources.frames[join.name]), repeat)
        found["spark_join"] = best(lambda: discard(sparks_own(loom, 600)), 1)
        for count in (1, 10):
            names = [f"q{i}" for i in range(count)]
            found[f"weft_{count}"] = best(lambda names=names: loom.run("noop", queries=names), repeat)
            found[f"spark_{count}"] = min(seconds(lambda names=names: [discard(loom.native(n)) for n in names])
                                          for _ in range(1 if count > 1 else 2))
        scan = loom.explain().to_dict()["scans"][0]
    return {**found, "bins": scan["join"]["bins"], "ten_of_one": found["weft_10"] / found["weft_1"],
            "ten_of_sparks_one": found["weft_10"] / found["spark_1"],
            "faster_than_spark_10": found["spark_10"] / found["weft_10"]}


def bins(spark: SparkSession, folder: Path, rows: int, repeat: int) -> dict:
    """The join alone, with bins and without, of few keys and of many; and which of both is chosen."""
    found = {}
    for name, size, keys in (("hot", rows // 6, 20), ("warm", rows, rows // 250), ("cool", rows, rows // 10)):
        write(spark, folder / name, size, keys)
        found[name] = {"rows": size, "keys": keys, **bins_of(spark, folder / name, repeat)}
        print(name, found[name], flush=True)
    return found


def sparks_own(loom: Loom, bound: int) -> DataFrame:
    """The join as Spark runs it by itself, with all of its columns."""
    trades, quotes = (loom._context.sources.frames[name].alias(name[0]) for name in ("trades", "quotes"))
    return trades.join(quotes, F.expr(BOUND.format(bound)))


def bins_of(spark: SparkSession, folder: Path, repeat: int) -> dict:
    """The join of two sources without bins and in bins."""
    with loom_over(spark, folder, queries(30, 1)) as loom:
        join, frames = loom.queries[0].join, loom._context.sources.frames
        plain = plain_method(join)
        binned = replace(plain, steps=(in_bins(join, [plain.first], plain.steps[0].input, True),))
        chosen = choose_join_method(join, sample_inputs(join, frames) or ())
        took = {name: best(partial(discard, join_rows(join, frames, method)), repeat)
                for name, method in (("plain", plain), ("bins", binned))}
        took["spark"] = seconds(lambda: discard(sparks_own(loom, 30)))  # once: hot keys take it long
        return {**took, "faster": took["plain"] / took["bins"], "chosen": "bins" if chosen.steps[0].bin else "plain",
                "joined_rows": join_rows(join, frames, binned).count()}


def stream(spark: SparkSession, folder: Path, rows: int, repeat: int) -> dict:
    """Spark's join of two streams alone, and Weft's ten windows over it; triggers of a fifth of the rows a side."""
    size = rows // 5
    for number in range(TRIGGERS):
        for seed, name in enumerate(("trades", "quotes"), 1):
            made = table(spark, size, size // 50, seed + 10 * number, number * STREAM_SECONDS, STREAM_SECONDS)
            made.repartition(1).write.mode("append").parquet(str(folder / name))
    texts = {f"q{i}": text.replace("1 hour", "40 minutes") for i, text in enumerate(queries(10, 10).values())}
    found = {"rows_a_trigger": 2 * size, "keys": size // 50, "bound_seconds": 10}
    runs = {"spark_join": partial(spark_alone, spark, folder), "weft_1": partial(
                weft_stream, spark, folder, dict(list(texts.items())[:1])),
            "weft_10": partial(weft_stream, spark, folder, texts),
            "spark_join_set_alike": partial(spark_alone, spark, folder, {TRACKING: "false"})}
    rounds = [{name: run() for name, run in runs.items()} for _ in range(repeat + 1)][1:]  # the first warms up
    found |= {name: min((each[name] for each in rounds), key=lambda run: run["median"]) for name in runs}
    ten = found["weft_10"]["median"]
    return {**found, "ten_windows_of_join_alone": ten / found["spark_join"]["median"],
            "ten_windows_of_join_set_alike": ten / found["spark_join_set_alike"]["median"], "rounds": rounds}


def arriving(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    """A source as a stream, one file a trigger."""
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1").parquet(str(folder / name))


def spark_alone(spark: SparkSession, folder: Path, more: Mapping[str, str] = MappingProxyType({})) -> dict:
    """Spark's own join, of the columns that the queries read, thrown away; the files and the state of its checkpoint
    are in Weft's format, and `more` is set as Weft sets it."""
    sides = [arriving(spark, folder, name).select(*(F.col(c).alias(f"{short}_{c}") for c in columns))
             .withWatermark(f"{short}_ts", "0 seconds")
             for name, short, columns in (("trades", "t", ("ts", "symbol", "venue", "value")),
                                          ("quotes", "q", ("ts", "symbol", "value")))]
    condition = BOUND.format(10).replace("t.", "t_").replace("q.", "q_")
    joined = sides[0].join(sides[1], F.expr(condition))
    with tempfile.TemporaryDirectory(prefix="weft-bench-") as place, temporary_settings(
            spark, {**join_settings(spark), TRACKING: "true", MANAGER: BY_FILE_SYSTEM, **more}):
        running = (joined.writeStream.format("noop").outputMode("append").option("checkpointLocation", place)
                   .trigger(availableNow=True).start())
        running.awaitTermination()
        return told(f"spark's join alone {dict(more)}", triggers([json.loads(p.json) for p in running.recentProgress]))


def weft_stream(spark: SparkSession, folder: Path, texts: dict[str, str]) -> dict:
    """Weft's queries over the same join, their answers computed and thrown away."""
    with Loom(spark) as loom, tempfile.TemporaryDirectory(prefix="weft-bench-") as place:
        for name in ("trades", "quotes"):
            loom.source(name, arriving(spark, folder, name), time="ts", watermark="0 seconds")
        loom.add_queries(texts)
        running = loom.start(place, "noop", trigger="available", max_clock_skew=None)
        running.awaitTermination()
        took = [triggers([json.loads(p.json) for p in scan.query.recentProgress]) for scan in running.scans]
        slowest = max(took, key=lambda each: each["median"])
        return told(f"weft, {len(texts)} queries", {**slowest, "scans": len(took)})


def triggers(progress: list[dict]) -> dict:
    """Seconds of the triggers after the warm ones."""
    took = [p["durationMs"]["triggerExecution"] / 1000 for p in progress if p["numInputRows"]][WARM:]
    return {"median": round(statistics.median(took), 3), "best": min(took), "triggers": took}


def told(what: str, found: dict) -> dict:
    """What was measured, printed as soon as it is known."""
    print(what, found, flush=True)
    return found


def main() -> None:
    """Run, print and keep."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=500_000)
    options.add_argument("--repeat", type=int, default=2)
    options.add_argument("--only", default="batch,bins,stream")
    given = options.parse_args()
    spark = local_session("joins", **{"spark.sql.shuffle.partitions": "4"})
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    folder = Path(tempfile.mkdtemp(prefix="weft-joins-"))
    parts, kept = {"batch": batch, "bins": bins, "stream": stream}, RESULTS / "joins.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    try:
        for part in given.only.split(","):
            found[part] = parts[part](spark, folder / part, given.rows, given.repeat)
            print(part, json.dumps(found[part], indent=1), flush=True)
            save_json("joins", {**found, "machine": machine()})  # what is not run stays as it was
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
