"""Adding queries whose windows and components exist: what each costs from 10 to 1000 queries over ten windows.

    python bench/add_queries.py [--rows N] [--queries N]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from cases import TEN
from common import machine, save_json, seconds, uniform_trades
from rich.console import Console
from rich.table import Table

TARGET = 10.0  # milliseconds a query
SHAPES = (
    "avg(price) AS average_{n}",
    "avg(price) AS average, max(price) AS high_{n}",
    "sum(volume) / count(*) AS size_{n}",
    "max(price) - {n} AS above, count(*) AS trades",
    "CASE WHEN max(price) > {n} THEN 'high' ELSE 'low' END AS level, avg(price) * {n} AS scaled",
    "max(price) AS high, avg(price) AS average, sum(volume) AS volume, count(*) AS trades_{n}",
)


def text(number: int) -> str:
    """The number-th query: its window comes round every ten, its outputs every six, its constants never."""
    window, shape = TEN[number % len(TEN)], SHAPES[number % len(SHAPES)]
    having = f" HAVING count(*) > {number % 7} AND max(price) > {number / 100}" if number % 2 else ""
    return (
        f"SELECT symbol, window.end AS at, {shape.format(n=number)} FROM trades "
        f"GROUP BY symbol, window(ts, '{window.range // 1_000_000} seconds', '1 minute'){having}"
    )


def main() -> None:
    """Adds, plans and runs (lazily) 10 queries and then many more, and says what one more costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--queries", type=int, default=1000)
    options = parser.parse_args()
    path = uniform_trades(options.rows)
    spark = session()
    measure(spark, path, 10)  # warms up the parser and the JVM
    few, many = measure(spark, path, 10), measure(spark, path, options.queries)
    results = {"machine": machine(), "few": few, "many": many, **per_query(few, many)}
    show(results)
    print(f"raw results: {save_json('add_queries', results)}")


def session() -> Any:
    """A local session."""
    from weft.spark.session.session import local_session

    return local_session("add queries")


def measure(spark: Any, path: Path, count: int) -> dict[str, float]:
    """Seconds to add, plan and lazily run `count` queries in a new loom, and to ask for every result's frame."""
    from weft.loom import Loom

    loom = Loom(spark)
    loom.source("trades", str(path), time="ts", format="parquet")
    results: list[Any] = []
    return {
        "queries": count,
        "add": seconds(lambda: [loom.query(f"q{number}", text(number)) for number in range(count)]),
        "plan": seconds(loom.plan),
        "run": seconds(lambda: results.append(loom.run())),
        "frames": seconds(lambda: [results[0][f"q{number}"] for number in range(count)]),
    }


def per_query(few: dict[str, float], many: dict[str, float]) -> dict[str, float]:
    """Milliseconds that each query beyond the first ones costs, step by step and in all."""
    more = many["queries"] - few["queries"]
    steps = {step: 1000 * (many[step] - few[step]) / more for step in ("add", "plan", "run", "frames")}
    return {"ms": steps, "ms_a_query": steps["add"] + steps["plan"] + steps["run"]}


def show(results: dict[str, Any]) -> None:
    """The table and the verdict."""
    table = Table("step", title="Adding queries to ten windows that exist", title_justify="left")
    for heading in ("10 queries, s", f"{results['many']['queries']} queries, s", "ms for one more"):
        table.add_column(heading, justify="right")
    for step in ("add", "plan", "run", "frames"):
        few, many = results["few"][step], results["many"][step]
        table.add_row(step, f"{few:.3f}", f"{many:.3f}", f"{results['ms'][step]:.2f}")
    Console().print(table)
    verdict = "reached" if results["ms_a_query"] <= TARGET else "NOT reached"
    print(f"adding, planning and running one more query: {results['ms_a_query']:.2f} ms "
          f"(target: at most {TARGET:g} ms, {verdict}); 'frames' asks for the lazy DataFrame of every query besides")


if __name__ == "__main__":
    main()
