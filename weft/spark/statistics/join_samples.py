"""Samples of what is joined: how many rows an input has, over what time, and how common its commonest keys are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from weft.io.java import Py4JJavaError
from weft.model.join import Join, backquoted
from weft.optimize.join_method import InputSample, KeyShares
from weft.spark.stages.join import input_rows
from weft.spark.stages.partial import to_micros

ROWS = 200_000  # the first of an input
COMMONEST = 1000
FEW = 5_000  # as many rows are joined in any way in no time
Ends = tuple[int, int]  # an input, and another one that it has keys with


def sample_inputs(join: Join, frames: Mapping[str, DataFrame]) -> tuple[InputSample, ...] | None:
    """What is known of each input, by counts of its rows and, where there are many, of its first rows' keys; None where
    one cannot be read, and the run will say why."""
    inputs = [input_rows(join, number, frames) for number in range(len(join.inputs))]
    try:
        counted = count_rows(join, inputs)
        many = any(row["rows"] > FEW for row in counted)
        shares = key_shares(join, inputs, counted) if many else {}
    except (PySparkException, Py4JJavaError):
        return None
    return tuple(InputSample(float(row["rows"]), float(row["span"] or 0),
                             {other: shares[number, other] for mine, other in shares if mine == number})
                 for number, row in enumerate(counted))


def count_rows(join: Join, inputs: Sequence[DataFrame]) -> list[Row]:
    """The rows of each input, how many microseconds they cover, and how many keys it has with each other one, about; in
    one job."""
    counts = [rows.agg(F.count(F.lit(1)).alias("rows"), span_of(join, number, rows).alias("span"), F.array(
        *(F.approx_count_distinct(hashed_keys(join, *ends)) for ends in key_ends(join) if ends[0] == number),
        F.lit(0).cast("bigint")).alias("keys"), F.lit(number).alias("number")) for number, rows in enumerate(inputs)]
    return sorted(reduce(DataFrame.unionAll, counts).collect(), key=lambda row: row["number"])


def span_of(join: Join, number: int, rows: DataFrame) -> Column:
    """How many microseconds lie between the first time and the last; none for a table."""
    time = join.inputs[number].event_time
    if time is None:
        return F.lit(0).cast("bigint")
    at = F.expr(to_micros(backquoted(time), rows.schema[time].dataType.simpleString()))
    return F.max(at) - F.min(at)


def key_ends(join: Join) -> list[Ends]:
    """Every input with each one that it has keys with."""
    return sorted({ends for key in join.keys for ends in ((key.left, key.right), (key.right, key.left))})


def hashed_keys(join: Join, number: int, other: int) -> Column:
    """A number for each combination of an input's keys with another one, null where a key is: such rows meet none."""
    texts = [F.expr(f"CAST({key.left_sql if key.left == number else key.right_sql} AS STRING)") for key in join.keys
             if {key.left, key.right} == {number, other}]
    return F.when(F.concat(*texts).isNotNull(), F.xxhash64(*texts))


def key_shares(join: Join, inputs: Sequence[DataFrame], counted: Sequence[Row]) -> dict[Ends, KeyShares]:
    """Which share of the first rows each of the commonest keys has, and how many more keys there are; in one job."""
    ends, shares = key_ends(join), {}
    counts = [inputs[number].limit(ROWS).groupBy(hashed_keys(join, number, other).alias("key")).count()
              .orderBy(F.desc("count")).limit(COMMONEST).select("key", "count", F.lit(place).alias("place"))
              for place, (number, other) in enumerate(ends)]
    found = reduce(DataFrame.unionAll, counts).collect()
    for place, (number, other) in enumerate(ends):
        row = counted[number]
        keys = row["keys"][[end for end in ends if end[0] == number].index((number, other))]
        common = {each["key"]: each["count"] / max(min(row["rows"], ROWS), 1) for each in found
                  if each["place"] == place and each["key"] is not None}
        shares[number, other] = KeyShares(common, max(keys - len(common), 0))
    return shares
