"""Shedding: what a drop box saves, what errors cost, and streams at twice and four times what the machine can do.

    .venv/bin/python bench/shedding.py [--seconds 120] [--rows 8000000] [--only static,overload]

Overload: files of trades come at a pace, each with the trades of that time: for a while half of what the stream can do
with its trigger, measured first, and then a multiple of it. The lag is how far the newest trade that a trigger has read
is behind the clock.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import RESULTS, machine, save_json
from pyspark.sql import SparkSession

from weft import Loom
from weft.optimize.shed.controller import ControllerPolicy
from weft.spark.session.session import local_session

SCHEMA = "ts timestamp, symbol string, price double, size bigint"
BEGIN = 1_767_225_600_000_000
KEYS, RANGE, SLIDE, TRIGGER, PIECE = 5, 20, 5, 3, 1  # seconds; a file has the trades of PIECE seconds
BOUND, WAIT = 0.02, 6  # the error that queries accept, and for how many seconds their answers may wait
# Sooner than in production, where a spike is waited out for minutes.
POLICY = ControllerPolicy(act_after=0.0, dwell=2, recover_after=300.0)
CALM = 24  # seconds at half of what it can do
WARM_UP = 3  # triggers before the clock starts
FACTORS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "price": lambda price, size: price, "size": lambda price, size: size.astype(float),
    "price * size": lambda price, size: price * size, "price / (size + 1)": lambda price, size: price / (size + 1),
    "price * price": lambda price, size: price * price, "size * size": lambda price, size: (size * size).astype(float),
    "price + size": lambda price, size: price + size, "sqrt(price)": lambda price, size: np.sqrt(price)}
# Rows of the triggers that tell what the stream can do, after some that warm it up: Java compiles for long.
SMALL, LARGE = 50_000, 800_000
WARM = (100_000, *(LARGE,) * 6)
WINDOW = f"GROUP BY symbol, window(ts, '{RANGE} seconds', '{SLIDE} seconds')"
ROUNDS = 2


def queries(errors: bool = False) -> dict[str, str]:
    """A query for each factor: its sum and average by symbol, and the errors of both if they are asked for."""
    besides = ", error(sum({0})) AS se, error(avg({0})) AS me" if errors else ""
    return {f"q{i}": f"SELECT symbol, window.end AS at, count(*) AS n, sum({f}) AS s, avg({f}) AS m"
                     f"{besides.format(f)} FROM trades {WINDOW}" for i, f in enumerate(FACTORS)}


def trades(rows: int, first: float, seconds: float, seed: int) -> pa.Table:
    """So many trades, evenly over some seconds from `first` on."""
    symbol, price, size = drawn(rows, seed)
    at = BEGIN + ((first + np.arange(rows) * (seconds / rows)) * 1e6).astype(np.int64)
    return pa.table({
        "ts": pa.array(at, pa.timestamp("us", "UTC")),
        "symbol": pa.array([f"S{i}" for i in range(KEYS)]).take(pa.array(symbol)),
        "price": price,
        "size": size,
    })


def drawn(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The numbers of symbols, prices and sizes of trades."""
    draw = np.random.default_rng(seed)
    return draw.integers(0, KEYS, rows), draw.lognormal(3, 0.5, rows), draw.integers(1, 100, rows)


def loom_over(spark: SparkSession, folder: Path, shed: bool = False, errors: bool = False, **options: Any) -> Loom:
    """A loom over the trades of a folder."""
    loom = Loom(spark)
    loom.source("trades", str(folder), time="ts", format="parquet", schema=SCHEMA, watermark="0 seconds", **options)
    bounds = dict.fromkeys(queries(), f"{100 * BOUND:g}%") if shed else None
    waits = dict.fromkeys(queries(), f"{WAIT} seconds") if shed else None
    loom.add_queries(queries(errors), shed=bounds, every=waits)
    return loom


def static(spark: SparkSession, home: Path, rows: int) -> dict[str, Any]:
    """Rows a second of a batch and of a stream's trigger that keep all rows and a quarter; what errors cost."""
    folder = home / "static"
    folder.mkdir()
    for i in range(4):
        pq.write_table(trades(rows // 4, i * 150.0, 150.0, i), folder / f"{i}.parquet")
    cases = {"all": {}, "quarter": {"drop": 0.75}, "errors": {"errors": True}}
    looms = {name: loom_over(spark, folder, **options) for name, options in cases.items()}
    found: dict[str, Any] = {"rows": rows, "queries": len(FACTORS)}
    for way, work in (("batch", run_batch), ("stream", run_stream)):
        seconds: dict[str, list[float]] = {name: [] for name in looms}
        for turn in range(ROUNDS + 1):
            for name, loom in looms.items():
                took = work(loom, home / f"{way}-{name}-{turn}")
                if turn:  # the first one warms up
                    seconds[name].append(took)
        best = {name: min(each) for name, each in seconds.items()}
        found[way] = {"seconds": seconds, "rows_per_second": {name: rows / best[name] for name in best},
                      "quarter_to_all": best["all"] / best["quarter"], "errors_to_all": best["errors"] / best["all"]}
        print(way, {name: round(value, 2) for name, value in best.items()}, flush=True)
    return found


def run_batch(loom: Loom, home: Path) -> float:
    """Seconds of a batch whose answers are thrown away."""
    began = time.perf_counter()
    loom.run("noop")
    return time.perf_counter() - began


def run_stream(loom: Loom, home: Path) -> float:
    """Seconds of one trigger over all rows."""
    with loom.start(home, "noop", trigger="available") as stream:
        stream.awaitTermination()
        (scan,) = stream.scans
        return max(p["durationMs"]["triggerExecution"] for p in map(as_dict, scan.query.recentProgress)) / 1000


def as_dict(progress: Any) -> dict[str, Any]:
    """A trigger's progress."""
    return json.loads(progress.json)


def exact_sums(symbol: np.ndarray, price: np.ndarray, size: np.ndarray) -> np.ndarray:
    """By symbol: how many trades there are, and the sum of each factor, by NumPy."""
    parts = [np.ones(len(symbol)), *(factor(price, size) for factor in FACTORS.values())]
    return np.array([np.bincount(symbol, part, KEYS) for part in parts])


class Feed(threading.Thread):
    """Moves files into a folder at their times; they are made before the clock starts."""

    def __init__(self, home: Path, rates: list[float]):
        super().__init__(daemon=True)
        self.folder, self.made = home / "in", home / "made"
        self.folder.mkdir(parents=True)
        self.made.mkdir()
        self.files, self.sums = [], []
        for i, rate in enumerate(rates):
            file = self.made / f"{i:04d}.parquet"
            pq.write_table(trades(int(rate * PIECE), i * PIECE, PIECE, i), file, compression="none")
            self.files.append(file)
            self.sums.append(exact_sums(*drawn(int(rate * PIECE), i)))
        self.began = 0.0

    def run(self) -> None:
        """Each file comes when the last of its trades has happened."""
        self.began = time.time()
        for i, file in enumerate(self.files):
            time.sleep(max(0.0, self.began + (i + 1) * PIECE - time.time()))
            file.rename(self.folder / file.name)


def capacity(spark: SparkSession, home: Path) -> dict[str, float]:
    """Rows a second that a stream with the trigger can just do: what is fixed, and what a row takes, by the best of
    small and of large triggers."""
    folder = home / "in"
    folder.mkdir(parents=True)
    loom = loom_over(spark, folder, shed=True)
    with loom.start(home / "checkpoint", "noop", trigger="1 second", overload=never()) as stream:
        for i, rows in enumerate((*WARM, *(SMALL, LARGE) * 3)):
            made = home / "made.parquet"
            pq.write_table(trades(rows, i * TRIGGER, TRIGGER, i), made)
            made.rename(folder / f"{i}.parquet")
            stream.processAllAvailable()
        (scan,) = stream.scans
        seen = [p for p in map(as_dict, scan.query.recentProgress) if p["numInputRows"]]
        small, large = (min(p["durationMs"]["triggerExecution"] / 1000 for p in seen if p["numInputRows"] == rows)
                        for rows in (SMALL, LARGE))
    row = (large - small) / (LARGE - SMALL)
    fixed = small - row * SMALL
    if fixed >= TRIGGER:
        raise SystemExit(f"a trigger without rows takes {fixed:.1f} s, not less than {TRIGGER} s: the machine is busy.")
    found = {"fixed": float(fixed), "row_microseconds": float(row * 1e6),
             "rows_per_second": float((1 - fixed / TRIGGER) / row)}
    print("capacity", found, flush=True)
    return found  # with the trigger that the stream begins with


def never() -> ControllerPolicy:
    """A controller that never acts."""
    return ControllerPolicy(act_after=1e9, recover_after=1e9)


def overload(spark: SparkSession, home: Path, able: float, times: int, seconds: float, shed: bool) -> dict[str, Any]:
    """A stream to which so many times the rows come that it can do: its lag after each trigger, and how far its answers
    are off."""
    rates = [able / 2] * (CALM // PIECE) + [able * times] * round(seconds / PIECE)
    feed = Feed(home, rates)
    loom = loom_over(spark, feed.folder, shed=True)
    stream = loom.start(home / "checkpoint", str(home / "out"), trigger=f"{TRIGGER} seconds",
                        overload=POLICY if shed else never())
    seen: dict[int, dict[str, Any]] = {}
    with stream:
        for i in range(WARM_UP):  # workers are up and code is compiled before the clock starts
            pq.write_table(trades(round(able), i - 10.0, 1.0, 99 + i), feed.made / "first.parquet")
            (feed.made / "first.parquet").rename(feed.folder / f"first-{i}.parquet")
            stream.processAllAvailable()
        feed.start()
        until = time.time() + len(rates) * PIECE
        while time.time() < until:
            time.sleep(0.5)
            for scan in stream.scans:
                for p in map(as_dict, scan.query.recentProgress):
                    if seen.setdefault(p["batchId"], p) is p and p["numInputRows"] and "eventTime" in p:
                        print({k: round(v, 1) for k, v in lag(p, feed.began).items()}, flush=True)
        decisions = list(stream.decisions)
        lags = [lag(p, feed.began) for p in seen.values() if p["numInputRows"] and "eventTime" in p]
        stream.stop(5)
    feed.join()
    shutil.rmtree(home / "made")
    errors = compare(spark, feed, home) if shed else {}
    return {"rate": able * times, "lags": [each for each in lags if each["at"] > 0],
            "decisions": [{"kind": d.kind, "at": d.at - feed.began, "reason": d.reason,
                           "shares": dict(d.settings.shares)} for d in decisions], **errors}


def lag(progress: dict[str, Any], began: float) -> dict[str, float]:
    """How far behind the clock the newest trade was that a trigger had read when it was done."""
    took = progress["durationMs"]["triggerExecution"] / 1000
    ended = datetime.fromisoformat(progress["timestamp"]).timestamp() + took
    newest = datetime.fromisoformat(progress["eventTime"]["max"]).timestamp() - BEGIN / 1e6
    return {"at": ended - began, "lag": ended - began - newest, "rows": progress["numInputRows"],
            "seconds": took}


def compare(spark: SparkSession, feed: Feed, home: Path) -> dict[str, Any]:
    """The share of each query's answers that are within the bound of the exact ones, and the greatest errors."""
    sums, within, worst, number = np.array(feed.sums), {}, {}, 0
    for i, name in enumerate(queries()):
        read = spark.read.parquet(str(home / "out" / name))
        ours = read.selectExpr("symbol", "unix_seconds(at) AS at", "n", "s", "m").toArrow().to_pydict()
        values = []
        for symbol, at, *got in zip(*(ours[c] for c in ("symbol", "at", "n", "s", "m")), strict=True):
            end = (at - BEGIN // 1_000_000) // PIECE
            if end * PIECE < RANGE:  # what came before the clock started is in it
                continue
            whole = sums[end - RANGE // PIECE : end, :, int(symbol[1:])].sum(axis=0)
            exact = (whole[0], whole[1 + i], whole[1 + i] / whole[0])
            values += [abs(one / other - 1) for one, other in zip(got, exact, strict=True)]
        within[name], worst[name] = float((np.array(values) <= BOUND).mean()), float(max(values))
        number += len(values)
    return {"answers": number, "within": within, "worst": worst}


def keep(found: dict[str, Any]) -> None:
    """Keep the results; what was not asked for stays as it was."""
    raw = RESULTS / "shedding.json"
    save_json("shedding", {**(json.loads(raw.read_text()) if raw.is_file() else {}), **found})


def main() -> None:
    """Runs what is asked for and keeps the raw results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--only", default="static,overload")
    parser.add_argument("--cases", default="2x with,4x with,2x without,4x without", help="of the overload")
    asked = parser.parse_args()
    spark = local_session("shedding bench")
    found: dict[str, Any] = {"machine": machine(), "bound": BOUND, "trigger": TRIGGER, "wait": WAIT,
                             "seconds": asked.seconds}
    home = Path(tempfile.mkdtemp(prefix="weft-shedding-"))
    try:
        if "static" in asked.only:
            found["static"] = static(spark, home, asked.rows)
        if "overload" in asked.only:
            found["capacity"] = capacity(spark, home / "capacity")
            for name in asked.cases.split(","):
                able, times, shed = found["capacity"]["rows_per_second"], int(name[0]), not name.endswith("out")
                place = home / name.replace(" ", "-")
                made = found[name] = overload(spark, place, able, times, asked.seconds, shed)
                shutil.rmtree(place, ignore_errors=True)
                ends = [round(each["lag"], 1) for each in made["lags"]]
                print(name, "lag", ends, made.get("within"), [d["reason"] for d in made["decisions"]], flush=True)
                keep(found)
        keep(found)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
