"""Weft extended from outside, by its public interface alone: the answers are still Spark's own."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F

from tests.harness.differential import collect, compare, differences
from tests.strategies import extensions
from tests.strategies.extensions import multiplied, pairwise_tree, product, regr_count, regr_slope
from weft import AggregateError, Loom, RefusedError
from weft.extend import Aggregate

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, x double, y double"
QUERY = "SELECT symbol, window.end AS at, {} FROM trades GROUP BY symbol, window(ts, '3 minutes', '70 seconds')"


@pytest.fixture(scope="module", autouse=True)
def by_value():
    """Workers get what the module holds from the stages, as they get what a notebook defines."""
    cloudpickle.register_pickle_by_value(extensions)
    yield
    cloudpickle.unregister_pickle_by_value(extensions)


@pytest.fixture(scope="module")
def trades(spark):
    """Factors whose products are exact, beside some numbers, with nulls and minutes without any."""
    rows = [(NOON + dt.timedelta(seconds=9 * i + (900 if i > 100 else 0)), "AB"[i % 2],
             None if i % 7 == 0 else 2.0 ** (i % 3 - 1), None if i % 5 == 0 else float(i * 31 % 17))
            for i in range(200)]
    return spark.createDataFrame(rows, SCHEMA).coalesce(2).cache()


@pytest.fixture(scope="module", autouse=True)
def oracle(spark):
    """Spark's own product, as a user registers it."""
    def aggregate(values: pa.Array) -> float:
        return multiplied(values)

    spark.udf.register("product", F.arrow_udf(aggregate, "double"))
    yield
    spark.sql("DROP TEMPORARY FUNCTION IF EXISTS product")


def test_an_algorithm_of_one_s_own_folds(loom):
    loom.query("all", QUERY.format("sum(y) AS s, max(x) AS m, stddev(y) AS d, count(*) AS n"))
    loom.query("long", QUERY.format("max(x) AS m").replace("'3 minutes'", "'20 minutes'"))
    mine = pairwise_tree()
    assert "pairwise_tree" in str(loom.explain(algorithm=mine))
    assert loom.verify(algorithm=mine).ok
    assert loom.verify(["long"], algorithm={"max": mine}).ok


def test_an_aggregate_over_a_monoid_that_there_is(loom):
    with pytest.raises(RefusedError):
        loom.query("slope", QUERY.format("regr_slope(y, x) AS b"))
    loom.aggregate(regr_slope())
    loom.aggregate(regr_count())
    loom.query("slope", QUERY.format("regr_slope(y, x) AS b, regr_slope(y, x) FILTER (WHERE y > 3) AS c, corr(y, x)"))
    loom.query("pairs", QUERY.format("regr_count(y, x) AS n, max(x) AS m"))
    assert differences(loom) == []


def test_a_monoid_of_one_s_own(loom):
    loom.aggregate(product())
    loom.query("alone", QUERY.format("product(x) AS p"))
    loom.query("wide", QUERY.format("product(x) AS p").replace("'3 minutes'", "'20 minutes'"))
    assert differences(loom) == []
    assert loom.verify(algorithm=pairwise_tree()).ok


def test_a_stream_with_both(spark, trades, tmp_path):
    folder, sink = tmp_path / "in", tmp_path / "out"
    trades.write.parquet(str(folder))
    loom = Loom(spark)
    loom.source("trades", str(folder), time="ts", format="parquet", schema=SCHEMA, watermark="1 second")
    loom.aggregate(product())
    loom.query("p", QUERY.format("product(x) AS p"))
    last = NOON + dt.timedelta(seconds=9 * 199 + 900 - 1)
    loom.start(tmp_path / "checkpoint", {"format": "parquet", "path": str(sink)}, trigger="available",
               algorithm=pairwise_tree()).awaitTermination(120)
    rows = collect({"found": spark.read.parquet(str(sink / "p")),
                    "wanted": loom.native("p").where(F.col("at") <= F.lit(last))})
    assert len(rows["found"]) > 20
    assert compare("p", rows["found"], rows["wanted"]) == []
    loom.close()


@pytest.mark.parametrize(("aggregate", "said"), [
    (Aggregate("sum", regr_slope().lower), "there is already an aggregate of this name"),
    (Aggregate("no_such_function", regr_slope().lower), "Spark has no function of this name"),
])
def test_a_function_that_nothing_can_be_compared_with_is_refused(loom, aggregate, said):
    with pytest.raises(AggregateError, match=said):
        loom.aggregate(aggregate)


def test_two_monoids_of_one_name_are_refused(loom):
    """Each call of product() makes another value, which might fold in another way."""
    loom.aggregate(Aggregate("product", lambda args, only: product().lower(args, only)))
    loom.query("x", QUERY.format("product(x) AS p"))
    with pytest.raises(RefusedError, match="two monoids of the name 'product'"):
        loom.query("y", QUERY.format("product(y) AS p"))
