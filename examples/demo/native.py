"""What Spark alone would take for all the queries: an estimate from a few cheap ones that are run and timed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.model import Query

# A tumbling window and ten overlapping ones by symbol, and six overlapping ones for a handful of keys.
SAMPLED = ("candles_15m", "moving_average_10m", "exchange_pulse_30s")


@dataclass(frozen=True)
class Sample:
    """One query as Spark ran it alone."""

    query: Query
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """Seconds of Spark's own for all the queries, and the samples they come from."""

    samples: tuple[Sample, ...]
    seconds: float


def sample(spark: Any, path: str, queries: Iterable[Query]) -> tuple[Sample, ...]:
    """Runs the sampled queries as Spark runs them, computing every value and writing none."""
    spark.read.parquet(path).createOrReplaceTempView("trades")
    chosen = {query.name: query for query in queries if query.name in SAMPLED}
    return tuple(Sample(chosen[name], run_alone(spark, chosen[name])) for name in SAMPLED if name in chosen)


def run_alone(spark: Any, query: Query) -> float:
    """Seconds of one query, without Weft."""
    begun = time.perf_counter()
    spark.sql(query.text).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


def estimate(samples: Sequence[Sample], queries: Iterable[Query]) -> Estimate:
    """A fixed cost a query, and one that grows with range / slide, the number of copies Spark makes of each row.

    What is not known counts in Spark's favour: a query with a WHERE is given the fixed cost alone, and the line
    goes through the cheapest windows, though long ones take more than the line says.
    """
    fixed = min(each.seconds for each in samples)
    wide = growth([each for each in samples if "symbol" in each.query.keys], fixed)
    narrow = growth([each for each in samples if "symbol" not in each.query.keys], fixed)
    total = 0.0
    for query in queries:
        a_copy = 0.0 if query.where else wide if "symbol" in query.keys else narrow
        total += fixed + a_copy * (float(query.window.overlap) - 1)
    return Estimate(tuple(samples), total)


def growth(samples: Sequence[Sample], fixed: float) -> float:
    """Seconds that each further copy of the rows adds, from the sample with the most copies."""
    copies, seconds = max(((float(each.query.window.overlap), each.seconds) for each in samples), default=(1.0, fixed))
    return max(seconds - fixed, 0.0) / (copies - 1) if copies > 1 else 0.0
