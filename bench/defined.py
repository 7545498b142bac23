"""User-defined aggregates: the same mean built in, by partials, over arrays, over Python values, and as Spark runs it.

    python bench/defined.py [--rows N] [--repeat N]

Every query is 1 h / 10 min by symbol. Processor time is what all processes of the run used; the nanoseconds a row are
what it took beyond the built-in average. Spark's own run of a class gets one key in five only, and is not scaled up.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from common import machine, measured, save_json
from mixed import prepared

from weft import PlainAggregate, TrackClusterCenters, UserAggregate

QUERY = "SELECT symbol, window.end AS at, {} AS a FROM trades {} GROUP BY symbol, window(ts, '1 hour', '10 minutes')"
SAMPLE = 5
ANCHORS = [(50.0, 100.0), (100.0, 100.0), (150.0, 100.0), (100.0, 1000.0)]


class Means(UserAggregate):
    """A mean over arrays."""

    name, takes, returns, commutative = "means", ("double",), "double", True
    fields, identity, ufunc = ("float64", "int64"), (0.0, 0), np.add

    def lift(self, x):
        """The value, counted once."""
        return x, np.ones(len(x), np.int64)

    def lower(self, state):
        """Sum over count."""
        return pa.array(state[0] / np.maximum(state[1], 1), mask=state[1] == 0)


class PartialMeans(Means):
    """A mean whose slices Spark makes."""

    name, partials = "partial_means", ("sum({0})", "count({0})")


class PlainMeans(PlainAggregate):
    """A mean over Python values."""

    name, takes, returns, commutative, identity = "plain_means", ("double",), "double", True, (0.0, 0)

    def lift(self, x):
        """The value, counted once."""
        return x, 1

    def combine(self, a, b):
        """Both sums and counts."""
        return a[0] + b[0], a[1] + b[1]

    def lower(self, state):
        """Sum over count."""
        return state[0] / state[1] if state[1] else None


CASES = {
    "built in: avg(price)": "avg(price)",
    "partials": "partial_means(price)",
    "arrays": "means(price)",
    "Python values": "plain_means(price)",
    "TrackClusterCenters, 4 anchors of 2": "track_cluster_centers(price, volume)",
}
NATIVE = "Spark's own, arrays, a fifth of keys"


def main() -> None:
    """Measures every case in turn, round after round, and prints a line for each."""
    options = arguments()
    _, loom = prepared(options.rows)
    for aggregate in (Means(), PartialMeans(), PlainMeans(), TrackClusterCenters(ANCHORS)):
        loom.aggregate(aggregate)
    for i, call in enumerate(CASES.values()):
        loom.query(f"q{i}", QUERY.format(call, ""))
    loom.query("sample", QUERY.format("means(price)", f"WHERE pmod(hash(symbol), {SAMPLE}) = 0"))
    rounds = [[*(measured(lambda q=f"q{i}": loom.run(sink="noop", queries=[q])) for i in range(len(CASES))),
               measured(lambda: loom.native("sample").write.format("noop").mode("overwrite").save())]
              for _ in range(options.repeat + 1)][1:]
    best = [{unit: min(took[unit] for took in case) for unit in ("wall", "cpu")} for case in zip(*rounds, strict=True)]
    for name, took in zip((*CASES, NATIVE), best, strict=True):
        beyond = (took["cpu"] - best[0]["cpu"]) / options.rows * 1e9
        print(f"{name:<38}{took['wall']:>8.2f} s{took['cpu']:>8.2f} s of processors{beyond:>8.0f} ns a row")
    cases = dict(zip((*CASES, NATIVE), best, strict=True))
    print(f"raw results: {save_json('defined', {'machine': machine(), 'rows': options.rows, 'cases': cases})}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeat", type=int, default=2, help="rounds after a first; the best counts")
    return parser.parse_args()


if __name__ == "__main__":
    main()
