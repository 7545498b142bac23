"""How cost grows: with rows, with keys, with queries, and with workers of a cluster; one pass beside each.

    python bench/growth.py [--only rows,keys,queries,cluster] [--repeat N] [--quick]

Queries ask avg, max, sum and count over ten windows that slide by 5 minutes, each under one of some predicates; rows
are made and thrown away (`noop`). A cluster is Spark's own of processes on this machine, each with one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import growth_page
from common import RESULTS, in_new_process, machine, measured, save_json, uniform_trades
from spark_side import one_pass

AXES = {"rows": (1_000_000, 2_000_000, 4_000_000), "keys": (100, 1_000, 10_000, 100_000), "queries": (10, 100, 1000)}
FIXED = {"rows": {"keys": 1000, "queries": 100}, "keys": {"rows": 2_000_000, "queries": 10},
         "queries": {"rows": 2_000_000, "keys": 1000}}
WORKERS = (1, 2)
MINUTES = (5, 10, 15, 20, 30, 45, 60, 90, 120, 240)


def texts(count: int) -> dict[str, str]:
    """So many queries: ten windows, and as many thresholds as it takes."""
    made = {}
    for number in range(count):
        minutes, step = MINUTES[number % len(MINUTES)], number // len(MINUTES)
        where = f"WHERE volume > {step * 5} " if step else ""
        made[f"q{number}"] = (
            "SELECT symbol, window.end AS at, avg(price) AS average, max(price) AS high, sum(volume) AS volume, "
            f"count(*) AS trades FROM trades {where}"
            f"GROUP BY symbol, window(ts, '{minutes} minutes', '5 minutes')")
    return made


def main() -> None:
    """Measures every point in a process of its own, prints tables, draws the chart and keeps the raw results."""
    options = arguments()
    if options.child:
        print(json.dumps(measure(json.loads(options.child), options.repeat)))
        return
    kept = RESULTS / "growth.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() and not options.quick else {}
    results |= {"machine": machine(), "repeat": options.repeat}
    for axis in options.only.split(","):
        results[axis] = [run_point(point, options) for point in points(axis, options.quick)]
    growth_page.show(results)
    print(f"raw results: {save_json('tmp/growth_part' if options.quick else 'growth', results)}")
    if not options.quick and all(axis in results for axis in ALL.split(",")):
        print(f"tables: {growth_page.publish(results)}")


ALL = ",".join((*AXES, "cluster"))


def points(axis: str, quick: bool) -> list[dict[str, Any]]:
    """What is measured along an axis."""
    shrink = 10 if quick else 1
    if axis == "cluster":
        return [{"rows": 2_000_000 // shrink, "keys": 1000, "queries": 100, "workers": count} for count in WORKERS]
    found = [{**FIXED[axis], axis: value} for value in AXES[axis]]
    return [{**point, "rows": point["rows"] // shrink} for point in found]


def run_point(point: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """One point, in a process of its own."""
    print(f"{point} ...", file=sys.stderr, flush=True)
    uniform_trades(point["rows"], point["keys"])
    return in_new_process(__file__, "--child", json.dumps(point), "--repeat", str(options.repeat))


def measure(point: dict[str, Any], repeat: int) -> dict[str, Any]:
    """Adding, the first run, and the best later one beside one pass."""
    from weft import Loom

    path = str(uniform_trades(point["rows"], point["keys"]))
    spark = session(point.get("workers"))
    spark.read.parquet(path).createOrReplaceTempView("trades")
    loom = Loom(spark)
    loom.source("trades", path, time="ts", format="parquet")
    found: dict[str, Any] = {**point, "add": measured(lambda: (loom.add_queries(texts(point["queries"])), loom.plan()))}
    found["first"] = measured(lambda: loom.run(sink="noop"))
    rounds = [(measured(lambda: one_pass(spark)), measured(lambda: loom.run(sink="noop"))) for _ in range(repeat)]
    for i, name in enumerate(("one_pass", "weft")):
        found[name] = {unit: min(each[i][unit] for each in rounds) for unit in ("wall", "cpu")}
    loom.close()
    spark.stop()  # else a cluster starts its processes again and again while this one ends
    return found


def session(workers: int | None) -> Any:
    """Weft's local session, or one on a cluster of so many processes."""
    from weft.spark.session.session import local_session, set_environment

    if workers is None:
        return local_session("growth")
    from pyspark.sql import SparkSession

    set_environment()
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,2048]").config("spark.executor.memory", "2g")
    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1",
               "spark.sql.shuffle.partitions": "4",
               "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1])}
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default=ALL, help=f"which axes, of {ALL}")
    parser.add_argument("--repeat", type=int, default=2, help="later runs; the best counts")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
