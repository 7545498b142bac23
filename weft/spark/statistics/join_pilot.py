"""A pilot over a join: of how many rows of an input, or keys, answers are made, and how what these bring is spread.

Whole answers are looked at, of one time in sixteen: a filter on the window's time that Spark asks before it joins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.model.workload import BoundQuery
from weft.optimize.shed.join_boxes import UnitNeeds
from weft.spark.stages.partial import to_micros
from weft.spark.statistics.pilot import (
    BIN,
    COVERED,
    FEWEST,
    ONE_IN,
    call_value,
    finite_or_inf,
    is_estimated,
    relative_spread,
)

UNIT = "__weft_unit"


@dataclass(frozen=True)
class UnitPilot:
    """Of the answers that were looked at: how many, how few units one in twenty is made of, how great its V is for
    these and for single rows, and of how many joined rows all answers are made."""

    answers: int
    units: float
    variance: float
    pairs: float
    rows: float

    def needs(self, bound: float) -> UnitNeeds:
        """What an error bound needs."""
        squared = bound * bound
        return UnitNeeds(self.units if self.answers else 0.0, self.variance / squared, self.pairs / squared)


def look_at_units(rows: DataFrame, unit: str, bound: BoundQuery) -> UnitPilot:
    """The pilot of a query over the rows of a join; `unit` tells rows apart that are kept for themselves."""
    found = look(rows, unit, bound, ONE_IN)
    return found if found.answers >= FEWEST else look(rows, unit, bound, 1)


def look(rows: DataFrame, unit: str, bound: BoundQuery, one_in: int) -> UnitPilot:
    """The pilot of the answers of one time in so many."""
    query = bound.query
    calls = [call for call in query.calls if is_estimated(call)]
    texts = ["1.0D", *(call_value(call) for call in calls)]
    place = f"floor(({to_micros(query.time, bound.time_type)}) / {query.window.range})"
    passing = rows.where(f"({query.time}) IS NOT NULL").where(query.where or "true")
    if one_in > 1:
        passing = passing.where(f"pmod(hash({place}), {one_in}) = 0")
    keys = [F.expr(key).alias(f"__weft_key_{i}") for i, key in enumerate(query.keys)]
    values = [F.expr(text).alias(f"v{i}") for i, text in enumerate(texts)]
    groups = [BIN, *(f"__weft_key_{i}" for i in range(len(keys)))]
    read = passing.select(F.expr(place).alias(BIN), *keys, F.expr(unit).alias(UNIT), *values)
    units = read.groupBy(*groups, UNIT).agg(*(part for i in range(len(texts)) for part in unit_sums(i)))
    answers = units.groupBy(*groups).agg(*(part for i in range(len(texts)) for part in answer_sums(i)))
    means = [False, *(call.function == "avg" for call in calls)]
    each = answers.select(
        lowest(F.col(f"u{i}") for i in range(len(texts))).alias("units"), F.col("n0").alias("rows"),
        highest(unit_spread(i, mean) for i, mean in enumerate(means)).alias("variance"),
        highest(row_spread(i, mean) for i, mean in enumerate(means)).alias("pairs"))
    found = each.agg(F.count("*"), F.percentile_approx("units", 1 - COVERED), F.percentile_approx("variance", COVERED),
                     F.percentile_approx("pairs", COVERED), F.sum("rows")).first()
    assert found is not None
    variance, pairs = map(finite_or_inf, found[2:4])
    return UnitPilot(found[0], float(found[1] or 0), variance, pairs, float(found[4] or 0) * one_in)


def unit_sums(i: int) -> list[Column]:
    """Of the rows of a unit: how many bring a value, its sum, and the sum of its squares."""
    value = F.col(f"v{i}")
    return [F.count(value).alias(f"n{i}"), F.coalesce(F.sum(value), F.lit(0.0)).alias(f"y{i}"),
            F.coalesce(F.sum(value * value), F.lit(0.0)).alias(f"q{i}")]


def answer_sums(i: int) -> list[Column]:
    """Of the units of an answer: how many bring anything, and the sums that variances are made of."""
    n, y, q = (F.col(f"{part}{i}") for part in "nyq")
    return [F.count_if(n > 0).alias(f"u{i}"), F.sum(n).alias(f"n{i}"), F.sum(y).alias(f"y{i}"),
            F.sum(y * y).alias(f"yy{i}"), F.sum(y * n).alias(f"yn{i}"), F.sum(n * n).alias(f"nn{i}"),
            F.sum(q).alias(f"q{i}")]


def unit_spread(i: int, mean: bool) -> Column:
    """V of units: Σ Y² / (ΣY)², of an average Σ (Y − mean · n)² / (ΣY)²."""
    m = F.col(f"y{i}") / F.col(f"n{i}")
    squares = F.col(f"yy{i}")
    over = squares - 2 * m * F.col(f"yn{i}") + m * m * F.col(f"nn{i}") if mean else squares
    return relative(i, over)


def row_spread(i: int, mean: bool) -> Column:
    """V of single joined rows."""
    total, squares = F.col(f"y{i}"), F.col(f"q{i}")
    return relative(i, squares - total * total / F.col(f"n{i}") if mean else squares)


def relative(i: int, squares: Column) -> Column:
    """Squares by the square of a sum: infinite where that is about 0 or not finite, and 0 where nothing is brought."""
    return F.when(F.col(f"n{i}") > 0, relative_spread(squares, F.col(f"y{i}"))).otherwise(F.lit(0.0))


def lowest(columns: Iterable[Column]) -> Column:
    """The least of some columns."""
    each = list(columns)
    return F.least(*each) if len(each) > 1 else each[0]


def highest(columns: Iterable[Column]) -> Column:
    """The greatest of some columns."""
    each = list(columns)
    return F.greatest(*each) if len(each) > 1 else each[0]
