"""Mixed queries: 10 windows × 10 predicates over three groupings, with and without sharing across both, in one run.

    python bench/mixed.py [--rows N] [--repeat N] [--quick]

Without sharing, the queries of each predicate and grouping are run for themselves: windows are shared, nothing else.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from cases import TEN
from common import machine, measured, save_json, uniform_trades
from spark_side import one_pass

GROUPINGS = ("symbol", "exchange", "symbol, exchange")
PREDICATES = (
    "", "price > 50", "price > 100", "price > 150", "price <= 50", "volume > 200", "volume <= 80",
    "exchange IN (1, 2)", "volume BETWEEN 80 AND 200 AND price > 50", "exchange <> 3",
)
AIM = 12.0


def queries() -> dict[str, tuple[str, tuple[int, int]]]:
    """The queries by name, each with the numbers of its predicate and grouping."""
    made = {}
    for w, window in enumerate(TEN):
        spans = ", ".join(f"'{micros // 1_000_000} seconds'" for micros in (window.range, window.slide))
        for p, predicate in enumerate(PREDICATES):
            g = (w + p) % len(GROUPINGS)
            where = f"WHERE {predicate} " if predicate else ""
            made[f"q{w}_{p}"] = (
                f"SELECT {GROUPINGS[g]}, window.end AS at, avg(price) AS average, max(price) AS high, "
                f"sum(volume) AS volume, count(*) AS trades FROM trades {where}"
                f"GROUP BY {GROUPINGS[g]}, window(ts, {spans})", (p, g))
    return made


def main() -> None:
    """Runs one pass, the shared plan and the plans apart in turn; prints the best of each."""
    options = arguments()
    spark, loom = prepared(options.rows)
    asked, groups = queries(), {}
    for name, (sql, group) in asked.items():
        loom.query(name, sql)
        groups.setdefault(group, []).append(name)
    works = {
        "one pass": lambda: one_pass(spark),
        "shared": lambda: loom.run(sink="noop"),
        "apart": lambda: [loom.run(sink="noop", queries=names) for names in groups.values()],
    }
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in works}
    for turn in range(options.repeat + 1):
        for name, work in works.items():
            print(f"round {turn}: {name} ...", file=sys.stderr, flush=True)
            found = measured(work)
            if turn:
                rounds[name].append(found)
    finish(options, len(asked), rounds)


def prepared(rows: int) -> tuple[Any, Any]:
    """A session with the trades, and a loom over them."""
    from weft import Loom
    from weft.spark.session.session import local_session

    spark, path = local_session("bench"), str(uniform_trades(rows))
    spark.read.parquet(path).createOrReplaceTempView("trades")
    loom = Loom(spark)
    loom.source("trades", path, time="ts")
    return spark, loom


def finish(options: argparse.Namespace, count: int, rounds: dict[str, list[dict[str, float]]]) -> None:
    """The table, the verdict and the raw results."""
    best = {name: {unit: min(r[unit] for r in found) for unit in ("wall", "cpu")} for name, found in rounds.items()}
    one = best["one pass"]["wall"]
    print(f"{count} queries, {options.rows:,} rows, best of {options.repeat}")
    print(f"{'':<10}{'seconds':>9}{'cpu':>8}{'× one pass':>12}")
    for name, found in best.items():
        print(f"{name:<10}{found['wall']:>9.2f}{found['cpu']:>8.1f}{found['wall'] / one:>12.2f}")
    times = best["shared"]["wall"] / one
    print(f"at most {AIM} × one pass: {times:.2f} ×, {'reached' if times <= AIM else 'NOT reached'}")
    print(f"sharing across predicates and groupings: {best['apart']['wall'] / best['shared']['wall']:.2f} × faster")
    name = "tmp/mixed_part" if options.quick else "mixed"
    print(f"raw results: {save_json(name, {'machine': machine(), 'rows': options.rows, 'rounds': rounds})}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the best of each counts")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the rows")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.repeat = options.rows // 10, 1
    return options


if __name__ == "__main__":
    main()
