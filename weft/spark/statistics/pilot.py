"""A pilot: what share of a query's rows keeps its answers within an error bound, looked up in some of its answers.

Whole answers are taken, chosen by a hash of their keys and time: how many rows they are made of, and how their values
are spread, is then exact for those. Windows are taken one after another instead of sliding, which have the same sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.aggregates.weighted import FEWEST_KEPT
from weft.cost.shedding.bounds import needed_integer_share
from weft.model.query import Call
from weft.model.workload import BoundQuery
from weft.spark.stages.partial import to_micros

# One answer in so many is looked at; all of them where that finds fewer than FEWEST.
ONE_IN, FEWEST = 16, 100
# A bound holds for this share of the answers.
COVERED = 0.95
# How far back a stream is looked at, in ranges of a window.
LAST_WINDOWS = 1
BIN, ROWS, SPREAD = "__weft_bin", "__weft_rows", "__weft_spread"


@dataclass(frozen=True)
class Pilot:
    """Of the answers that were looked at: how many, how few rows one in twenty is made of, and how great its V is."""

    answers: int
    rows: float
    variance: float

    def needed(self, bound: float) -> float:
        """The share of rows that a bound needs: V tells, and there must be enough of them for an error to mean much."""
        if not self.answers or self.rows <= 0:
            return 1.0
        return min(1.0, max(needed_integer_share(self.variance, bound), FEWEST_KEPT / self.rows))


def look_at_answers(rows: DataFrame, bound: BoundQuery) -> Pilot:
    """The pilot of a query over the rows of its source."""
    found = look(rows, bound, ONE_IN)
    return found if found.answers >= FEWEST else look(rows, bound, 1)


def last_rows(rows: DataFrame, bound: BoundQuery, newest: float) -> DataFrame:
    """The rows of the last windows that are over before a time, in seconds."""
    time, length = bound.query.time, bound.query.window.range
    over = int(newest * 1_000_000) // length * length
    ends = (over - LAST_WINDOWS * length, over)
    if bound.time_type == "timestamp":  # files tell what times are in them
        first, last = (f"timestamp_micros({end}L)" for end in ends)
        return rows.where(f"({time}) >= {first} AND ({time}) < {last}")
    micros = to_micros(time, bound.time_type)
    return rows.where(f"({micros}) >= {ends[0]}L AND ({micros}) < {ends[1]}L")


def look(rows: DataFrame, bound: BoundQuery, one_in: int) -> Pilot:
    """The pilot of one in so many answers."""
    query = bound.query
    passing = rows.where(f"({query.time}) IS NOT NULL").where(query.where or "true")
    place = F.expr(f"floor(({to_micros(query.time, bound.time_type)}) / {query.window.range})").alias(BIN)
    keys = [F.expr(key).alias(f"__weft_key_{i}") for i, key in enumerate(query.keys)]
    calls = [call for call in query.calls if is_estimated(call)]
    values = [F.expr(call_value(call)).alias(f"__weft_value_{i}") for i, call in enumerate(calls)]
    groups = [BIN, *(f"__weft_key_{i}" for i in range(len(keys)))]
    read = passing.select(place, *keys, *values)
    chosen = read if one_in == 1 else read.where(F.pmod(F.hash(*groups), F.lit(one_in)) == 0)
    parts = [part for i, call in enumerate(calls) for part in value_sums(call, i)]
    answers = chosen.groupBy(*groups).agg(F.count("*").alias(ROWS), *parts)
    counts = [F.col(ROWS), *(F.col(f"__weft_n_{i}") for i in range(len(calls)))]
    spreads = [F.lit(1.0) / F.col(ROWS), *(spread(call, i) for i, call in enumerate(calls))]
    each = answers.select(F.least(*counts).alias(ROWS) if len(counts) > 1 else counts[0],
                          (F.greatest(*spreads) if len(spreads) > 1 else spreads[0]).alias(SPREAD))
    found = each.agg(F.count("*"), F.percentile_approx(ROWS, 1 - COVERED), F.percentile_approx(SPREAD, COVERED)).first()
    assert found is not None
    return Pilot(found[0], float(found[1] or 0), finite_or_inf(found[2]))


def finite_or_inf(spread: float | None) -> float:
    """A spread as Spark found it, infinite where there is none or it is NaN: of values that are not finite nothing can
    be left out."""
    return inf if spread is None or isnan(spread) else float(spread)


def is_estimated(call: Call) -> bool:
    """Whether a call has an error: extremes are those of the sample."""
    return call.function in ("count", "count_if", "sum", "avg")


def call_value(call: Call) -> str:
    """Spark SQL for what a row brings to a call as a double, NULL where it brings nothing."""
    if call.function in ("count", "count_if"):
        test = " AND ".join(f"({arg}) IS NOT NULL" for arg in call.args) or "true"
        value = f"IF({call.args[0] if call.function == 'count_if' else test}, 1.0D, NULL)"
    else:
        value = f"CAST({call.args[0]} AS DOUBLE)"
    return f"IF({call.filter}, {value}, NULL)" if call.filter else value


def value_sums(call: Call, i: int) -> list[Column]:
    """The number, the sum and the sum of squares of a call's values."""
    value = F.col(f"__weft_value_{i}")
    return [F.count(value).alias(f"__weft_n_{i}"), F.sum(value).alias(f"__weft_s_{i}"),
            F.sum(value * value).alias(f"__weft_q_{i}")]


def spread(call: Call, i: int) -> Column:
    """V of a call: the relative variance of its answer for a weight variance of 1; infinite where it is about 0 or not
    finite."""
    number, total, squares = (F.col(f"__weft_{part}_{i}") for part in "nsq")
    over = squares - total * total / number if call.function == "avg" else squares
    return F.when(number > 0, relative_spread(over, total)).otherwise(F.lit(0.0))


def relative_spread(squares: Column, total: Column) -> Column:
    """Squares by the square of a sum; infinite where that is about 0, infinite or NaN."""
    found = F.when(total * total != 0, F.greatest(squares, F.lit(0.0)) / (total * total))
    return F.coalesce(F.nanvl(found, F.lit(inf)), F.lit(inf))
