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

from cases import TEN
from common import DOCS, RESULTS, in_new_process, machine, measured, save, save_json, uniform_trades
from plots import Line, Panel, chart
from spark_side import one_pass

AXES = {"rows": (1_000_000, 2_000_000, 4_000_000), "keys": (100, 1_000, 10_000, 100_000), "queries": (10, 100, 1000)}
FIXED = {"rows": {"keys": 1000, "queries": 100}, "keys": {"rows": 2_000_000, "queries": 10},
         "queries": {"rows": 2_000_000, "keys": 1000}}
WORKERS = (1, 2)


def texts(count: int) -> dict[str, str]:
    """So many queries: ten windows, and as many thresholds as it takes."""
    made = {}
    for number in range(count):
        window, step = TEN[number % len(TEN)], number // len(TEN)
        where = f"WHERE volume > {step * 5} " if step else ""
        made[f"q{number}"] = (
            "SELECT symbol, window.end AS at, avg(price) AS average, max(price) AS high, sum(volume) AS volume, "
            f"count(*) AS trades FROM trades {where}"
            f"GROUP BY symbol, window(ts, '{window.range // 1_000_000} seconds', '5 minutes')")
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
        show(axis, results[axis])
    print(f"raw results: {save_json('tmp/growth_part' if options.quick else 'growth', results)}")
    if not options.quick and all(axis in results for axis in ALL.split(",")):
        print(f"chart: {save(DOCS / 'growth.svg', draw(results))}")


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
    return found


def session(workers: int | None) -> Any:
    """Weft's local session, or one on a cluster of so many processes."""
    from weft.spark.session.session import local_session, set_environment

    if workers is None:
        return local_session("growth")
    from pyspark.sql import SparkSession

    set_environment()
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,2048]").config("spark.executor.memory", "2g")
    options = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.driver.host": "127.0.0.1",
               "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1])}
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def show(axis: str, found: list[dict[str, Any]]) -> None:
    """The table of an axis."""
    print(f"{axis:>10}{'add s':>8}{'first s':>9}{'warm s':>8}{'cpu s':>8}{'one pass s':>12}{'× one pass':>12}")
    for each in found:
        value = each["workers" if axis == "cluster" else axis]
        print(f"{value:>10,}{each['add']['wall']:>8.2f}{each['first']['wall']:>9.2f}{each['weft']['wall']:>8.2f}"
              f"{each['weft']['cpu']:>8.1f}{each['one_pass']['wall']:>12.2f}"
              f"{each['weft']['wall'] / each['one_pass']['wall']:>12.2f}")


LINES = {"weft": "Weft, warm", "one_pass": "one pass", "first": "Weft, first run"}


def draw(results: dict[str, Any]) -> str:
    """A panel an axis: first run, later runs, one pass."""
    names = {"rows": "rows (100 queries, 1000 keys)", "keys": "keys (10 queries, 2 million rows)",
             "queries": "queries (1000 keys, 2 million rows)", "cluster": "workers of one core (100 queries)"}
    panels = []
    for axis, title in names.items():
        value = "workers" if axis == "cluster" else axis
        lines = [Line(text, [(each[value], each[name]["wall"]) for each in results[axis]], i, dashed=name == "one_pass")
                 for i, (name, text) in enumerate(LINES.items())]
        panels.append(Panel(title, title.split(" (")[0], "seconds", lines))
    return chart("How cost grows", panels)


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
