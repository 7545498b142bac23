"""Predicates: 1 … 1000 of them over one scan, shared and one by one, in one run; and filters against shards.

    python bench/predicates.py [--rows N] [--repeat N] [--most N]
    python bench/predicates.py --crossover [--rows N] [--repeat N]

Every query is 10 min / 1 min by symbol with a predicate of its own: thresholds contained in one another, values that
exclude each other, or both at once. One by one is sampled: ten queries are run and the rest taken to be like them.
The crossover runs few predicates both ways, over many keys with few rows a slice and few keys with many, and says which
way the model would take.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from common import RESULTS, machine, measured, save_json, uniform_trades
from mixed import PREDICATES, prepared
from spark_side import one_pass

COUNTS = (1, 10, 100, 1000)
SAMPLE = 10
SHAPES: dict[str, Callable[[int, int], str]] = {
    "contained": lambda i, n: f"price > {round(2 + 200 * i / n, 3)}",
    "disjoint": lambda i, n: f"volume % {n} = {i}",
    "both": lambda i, n: f"price > {round(2 + 200 * (i // 10) / n, 3)} AND volume % 10 = {i % 10}",
}
QUERY = ("SELECT symbol, window.end AS at, sum(volume) AS volume, max(price) AS high FROM trades WHERE {} "
         "GROUP BY symbol, window(ts, '10 minutes', '1 minute')")


# Predicates of one scale, or of several columns; three columns a predicate under filters.
FEW: dict[str, Callable[[int, int], str]] = {
    "one scale": SHAPES["contained"],
    "several columns": lambda i, n: [*PREDICATES[1:], "price > 20", "volume > 100"][i],
}
FEW_COUNTS, KEYS = (2, 4, 6, 10), (1000, 20)


def main() -> None:
    """Measures what is asked for."""
    options = arguments()
    if options.crossover:
        compare_ways(options)
    else:
        measure_shapes(options)


def compare_ways(options: argparse.Namespace) -> None:
    """Prints a line for each number of predicates, by filters and by shards, and keeps all beside the other results."""
    print(f"{'keys':<7}{'predicates':<22}{'columns':>8}{'filters':>9}{'shards':>8}  chosen (processor seconds)")
    found = []
    for row in both_ways(options):
        found.append(row)
        print(f"{row['keys']:<7}{row['predicates']:>2} of {row['shape']:<16}{row['columns']:>8}"
              f"{row['filters']['cpu']:>9.1f}{row['shards']['cpu']:>8.1f}  {row['chosen']}", flush=True)
    print(f"raw results: {keep(crossover={'machine': machine(), 'cases': found})}")


def keep(**found: Any) -> Any:
    """Keep what was measured, beside what was not measured now."""
    file = RESULTS / "predicates.json"
    return save_json("predicates", {**(json.loads(file.read_text()) if file.exists() else {}), **found})


def both_ways(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every case of the crossover, the best of the rounds after a first."""
    for keys in KEYS:
        for shape, predicate in FEW.items():
            for count in FEW_COUNTS:
                texts = {f"q{i}": QUERY.format(predicate(i, count)) for i in range(count)}
                ways = {way: run_way(texts, keys, most, options) for way, most in (("filters", 10_000), ("shards", 0))}
                yield {"keys": keys, "shape": shape, "predicates": count, "columns": 3 * count, **ways,
                       "chosen": chosen_way(texts, keys, options)}


def run_way(texts: dict[str, str], keys: int, most: int, options: argparse.Namespace) -> dict[str, float]:
    """Seconds and processor seconds of queries, by filters while they make so many columns."""
    with patch("weft.optimize.predicates.most_filtered", lambda *_: most), loom_of(texts, keys, options.rows) as loom:
        rounds = [measured(lambda: loom.run(sink="noop")) for _ in range(options.repeat + 1)][1:]
    return {unit: min(each[unit] for each in rounds) for unit in ("wall", "cpu")}


def chosen_way(texts: dict[str, str], keys: int, options: argparse.Namespace) -> str:
    """Which way the model takes."""
    with loom_of(texts, keys, options.rows) as loom:
        return loom.explain().to_dict()["scans"][0]["sharing"]


def loom_of(texts: dict[str, str], keys: int, rows: int) -> Any:
    """A loom of queries over trades of so many symbols."""
    from weft import Loom
    from weft.spark.session.session import local_session

    loom = Loom(local_session("bench"))
    loom.source("trades", str(uniform_trades(rows, keys)), time="ts")
    loom.add_queries(texts)
    return loom


def measure_shapes(options: argparse.Namespace) -> None:
    """Measures every shape and number, and prints a line for each."""
    spark, _ = prepared(options.rows)
    one_pass(spark)
    one = min(measured(lambda: one_pass(spark))["wall"] for _ in range(3))
    print(f"{options.rows:,} rows; one pass {one:.2f} s")
    print(f"{'shape':<12}{'predicates':>11}{'shared by':>11}{'plan s':>8}{'seconds':>9}{'× one pass':>12}"
          f"{'one by one':>12}{'× faster':>10}")
    found = []
    for shape in SHAPES:
        for count in (c for c in COUNTS if c <= options.most):
            print(f"{shape}, {count} ...", file=sys.stderr, flush=True)
            row = {"shape": shape, "predicates": count, **case(shape, count, options)}
            found.append(row)
            took = row["seconds"]
            print(f"{shape:<12}{count:>11}{row['sharing']:>11}{row['plan']:>8.2f}{took:>9.2f}{took / one:>12.2f}"
                  f"{row['apart']:>12.1f}{row['apart'] / took:>10.1f}", flush=True)
    print(f"raw results: {keep(machine=machine(), one_pass=one, cases=found)}")


def case(shape: str, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds of one number of predicates, shared and one by one."""
    _, loom = prepared(options.rows)
    texts = {f"q{i}": QUERY.format(SHAPES[shape](i, count)) for i in range(count)}
    adding = measured(lambda: loom.add_queries(texts))
    shared = [measured(lambda: loom.run(sink="noop"))["wall"] for _ in range(options.repeat + 1)]
    names = [f"q{i * count // min(SAMPLE, count)}" for i in range(min(SAMPLE, count))]
    apart = [measured(lambda: [loom.run(sink="noop", queries=[n]) for n in names])["wall"] for _ in range(2)]
    (scan,) = loom.explain().to_dict()["scans"]
    loom.close()
    return {"plan": adding["wall"], "seconds": min(shared[1:]), "sharing": scan["sharing"] or "–",
            "apart": min(apart) * count / len(names)}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=1, help="rounds after a first; the best counts")
    parser.add_argument("--most", type=int, default=1000, help="the most predicates")
    parser.add_argument("--crossover", action="store_true", help="few predicates, by filters and by shards")
    return parser.parse_args()


if __name__ == "__main__":
    main()
