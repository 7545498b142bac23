"""Plans on Spark: 60 queries whose slides weave badly, run as each optimizer groups them, in one run.

    python bench/spark_plans.py [--rows N] [--repeat N] [--optimizers weave_share,share_all] [--quick]

40 queries slide by 7, 11, 13 and 17 s, 20 by 1 h; the hourly ones ask for ten different things.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from common import machine, measured, save_json, uniform_trades

FINE = [(slide, ranges) for slide in (7, 11, 13, 17) for ranges in (20, 30, 45, 60, 75, 90, 110, 140, 200, 300)]
HOURS = (2, 3)
HOURLY = (
    "avg(price) AS price", "max(price) AS high", "min(price) AS low", "sum(volume) AS volume", "count(*) AS trades",
    "stddev(price) AS spread", "max(price) - min(price) AS range", "sum(price * volume) / sum(volume) AS vwap",
    "max_by(price, ts) AS last", "min_by(price, ts) AS first",
)
OPTIMIZERS = ("cheapest", "weave_share", "tri_weave", "share_all", "no_share")


def queries() -> dict[str, str]:
    """The 60 queries by name."""
    group = "FROM trades GROUP BY symbol, window(ts, '{}', '{}')"
    fine = {f"fine_{s}_{r}": "SELECT symbol, window.end, avg(price) AS price, max(price) AS high, count(*) AS trades "
            + group.format(f"{r} seconds", f"{s} seconds") for s, r in FINE}
    hourly = {f"hourly_{i}_{h}": f"SELECT symbol, window.end, {what} " + group.format(f"{h} hours", "1 hour")
              for i, what in enumerate(HOURLY) for h in HOURS}
    return {**fine, **hourly}


def main() -> None:
    """Runs every optimizer's plan in turn and prints what each takes."""
    options = arguments()
    loom = weave(options.rows)
    print("measured:", loom.measure())
    found: list[dict[str, Any]] = [describe(loom, name) for name in options.optimizers]
    for row in found:
        print(f"warming up {row['optimizer']}: {row['scans']} scans, {row['trees']} trees", file=sys.stderr, flush=True)
        loom.run(sink="noop", optimizer=row["optimizer"])
    for row in found * options.repeat:
        run = partial(loom.run, sink="noop", optimizer=row["optimizer"])
        row.setdefault("rounds", []).append(measured(run))
    finish(found, options)


def finish(found: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Best times, the table and the raw results."""
    for row in found:
        row["seconds"] = min(each["wall"] for each in row["rounds"])
        row["cpu"] = min(each["cpu"] for each in row["rounds"])
    least = min(row["seconds"] for row in found)
    print(f"{'optimizer':<14}{'scans':>6}{'trees':>6}{'seconds':>9}{'cpu':>8}{'× best':>8}{'model s':>9}")
    for row in found:
        print(f"{row['optimizer']:<14}{row['scans']:>6}{row['trees']:>6}{row['seconds']:>9.2f}{row['cpu']:>8.1f}"
              f"{row['seconds'] / least:>8.2f}{row['model']:>9.2f}")
    name = "tmp/spark_plans_part" if options.quick else "spark_plans"
    print(f"raw results: {save_json(name, {'machine': machine(), 'rows': options.rows, 'plans': found})}")


def weave(rows: int) -> Any:
    """A loom with the trades and all queries."""
    from weft import Loom
    from weft.spark.session.session import local_session

    loom = Loom(local_session("bench"))
    loom.source("trades", str(uniform_trades(rows, keys=100)), time="ts")
    for name, sql in queries().items():
        loom.query(name, sql)
    return loom


def describe(loom: Any, optimizer: str) -> dict[str, Any]:
    """A plan's size, and its cost by the Spark model in seconds."""
    from weft.loom.sizes import model_of
    from weft.optimize.plan import find_optimizer, problem_of, sharing
    from weft.optimize.problem import price_groups
    from weft.stages.build import projection

    plan = loom.plan(optimizer=optimizer)
    (group,) = sharing(plan.workload)
    model = model_of(plan.workload, plan.context.sizes.samples)
    problem = problem_of(group, find_optimizer(optimizer), model(group[0]), projection)
    numbers = {bound.query.name: i for i, bound in enumerate(group)}
    trees = [tree for scan in plan.scans for tree in scan.trees]
    groups = tuple(tuple(numbers[b.query.name] for b in tree.queries) for tree in trees)
    cost = price_groups(problem, groups).total * problem.model.span
    return {"optimizer": optimizer, "scans": len(plan.scans), "trees": len(trees), "model": cost}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the best of each plan counts")
    parser.add_argument("--optimizers", default=",".join(OPTIMIZERS), help="names, separated by commas")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the rows")
    options = parser.parse_args()
    options.optimizers = options.optimizers.split(",")
    if options.quick:
        options.rows, options.repeat = options.rows // 10, 1
    return options


if __name__ == "__main__":
    main()
