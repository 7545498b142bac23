"""Predicates: 1 … 1000 of them over one scan, shared and one by one, in one run.

    python bench/predicates.py [--rows N] [--repeat N] [--most N]

Every query is 10 min / 1 min by symbol with a predicate of its own: thresholds contained in one another, values that
exclude each other, or both at once. One by one is sampled: ten queries are run and the rest taken to be like them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from common import machine, measured, save_json
from mixed import prepared
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


def main() -> None:
    """Measures every shape and number, and prints a line for each."""
    options = arguments()
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
    print(f"raw results: {save_json('predicates', {'machine': machine(), 'one_pass': one, 'cases': found})}")


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
    return parser.parse_args()


if __name__ == "__main__":
    main()
