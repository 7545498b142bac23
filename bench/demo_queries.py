"""The demo's queries: many SELECT lists, predicates and groupings over one source, thrown away, in one run.

    python bench/demo_queries.py [--rows N] [--repeat N] [--quick]

"first" is the first run of a new session, written to Parquet, with all that Spark compiles for it; "parquet" is a later
one. "noop" makes all rows in the workers and throws them away there. "spark's slices" is the same with slices made by
Spark, a scan for each grouping (decision 0033), and "spark" lets Spark also project every answer, so that rows arrive
in the JVM before they are thrown away; "slices" are Spark's slices alone.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from common import RESULTS, machine, measured, save_json, seconds
from spark_side import one_pass

sys.path.insert(0, str(Path(__file__).parents[1]))

AIM = 10.0


def main() -> None:
    """Runs one pass and the queries in both ways in turn; prints the best of each."""
    options = arguments()
    spark, data = prepared(options.rows)
    loom: list[Any] = []
    adding = seconds(lambda: loom.append(make_loom(spark, data)))
    print("first run ...", file=sys.stderr, flush=True)
    written = str(RESULTS / "tmp" / f"demo-{options.rows}-answers")
    first = measured(lambda: loom[0].run(sink=written))
    works = {
        "one pass": lambda: one_pass(spark),
        "slices": lambda: slices(loom[0]),
        "noop": lambda: loom[0].run(sink="noop"),
        "parquet": lambda: loom[0].run(sink=written),
        "spark's slices": lambda: by_spark(loom[0], "plan_passes"),
        "spark": lambda: by_spark(loom[0], "plan_jobs"),
    }
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in works}
    for turn in range(options.repeat):
        for name, work in works.items():
            print(f"round {turn}: {name} ...", file=sys.stderr, flush=True)
            rounds[name].append(measured(work))
    finish(options, adding, first, rounds)


def prepared(rows: int) -> tuple[Any, Path]:
    """A session with the demo's trades."""
    from examples.demo.run import start
    from weft.cli.sample_trades import Trades, make

    spark, data = start(), make(RESULTS / "tmp" / f"demo-{rows}", Trades(rows=rows))
    spark.read.parquet(str(data)).createOrReplaceTempView("trades")
    return spark, data


def make_loom(spark: Any, data: Path) -> Any:
    """A loom with the demo's queries, planned once."""
    from examples.demo.run import weave

    return weave(spark, data)


def slices(loom: Any) -> None:
    """The slices of all scans alone, thrown away."""
    plan = loom.plan()
    for node in plan.stages.roots:
        plan.context.slices(node).write.format("noop").mode("overwrite").save()


def by_spark(loom: Any, left: str) -> None:
    """The queries with what a function plans for workers left to Spark."""
    from weft.spark.write import write

    planned = getattr(write, left)
    setattr(write, left, lambda *_: [])
    try:
        loom.run(sink="noop")
    finally:
        setattr(write, left, planned)


def finish(options: argparse.Namespace, adding: float, first: dict[str, float], rounds: dict[str, list]) -> None:
    """The table, the verdict and the raw results."""
    best = {name: {unit: min(r[unit] for r in found) for unit in ("wall", "cpu")} for name, found in rounds.items()}
    one = best["one pass"]["wall"]
    print(f"{options.rows:,} rows, best of {options.repeat}; adding and planning {adding:.1f} s")
    print(f"{'':<15}{'seconds':>9}{'cpu':>8}{'× one pass':>12}")
    for name, found in {"first": first, **best}.items():
        print(f"{name:<15}{found['wall']:>9.2f}{found['cpu']:>8.1f}{found['wall'] / one:>12.2f}")
    times = best["noop"]["wall"] / one
    print(f"at most {AIM} × one pass: {times:.2f} ×, {'reached' if times <= AIM else 'NOT reached'}")
    raw = {"machine": machine(), "rows": options.rows, "adding": adding, "first": first, "rounds": rounds}
    print(f"raw results: {save_json('tmp/demo_queries_part' if options.quick else 'demo_queries', raw)}")


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
