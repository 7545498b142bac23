"""The API around a plan: it is a value; queries go and sources are replaced; what a loom made is released."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import functions as F

from weft import Loom, Plan, PlanError, QueryError, SourceError
from weft.catalog.registrations import registrations
from weft.spark.session.session import has_session

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, price double, volume bigint"
SUM = "SELECT symbol, window.end AS at, sum({}) AS s FROM trades GROUP BY symbol, window(ts, '{} minutes', '1 minute')"
QUERIES = {"short": SUM.format("volume", 2), "long": SUM.format("price", 5)}


def rows(spark, count, price="double"):
    """So many trades, ten seconds apart, with prices of a type."""
    values = [(NOON + dt.timedelta(seconds=10 * i), "AB"[i % 2], float(i), i) for i in range(count)]
    return spark.createDataFrame(values, SCHEMA).withColumn("price", F.col("price").cast(price))


@pytest.fixture(scope="module")
def trades(spark):
    """Sixty trades."""
    return rows(spark, 60).cache()


@pytest.fixture
def loom(spark, trades, tmp_path):
    """A loom of two queries, with a store."""
    with Loom(spark, store=tmp_path / "store") as made:
        made.source("trades", trades, time="ts", watermark="0 seconds")
        for name, sql in QUERIES.items():
            made.query(name, sql)
        yield made


def totals(results, name="short"):
    """The sum of a query's sums."""
    return sum(row.s for row in results[name].collect())


def current(loom):
    """The queries that the catalog has, by name."""
    return {one.name: one.sql for one in registrations(loom._store.catalog) if one.removed is None}


def test_a_plan_is_a_value_that_explains_runs_and_verifies(loom):
    plan = loom.plan(["long", "short"])
    assert isinstance(plan, Plan) and plan == loom.plan(["long", "short"]) != loom.plan(["long"])
    assert str(plan) == str(plan.explain()) == str(loom.explain(["long", "short"])) and "<svg" in plan._repr_html_()
    assert repr(plan) == "<Plan by cheapest: 2 queries in 1 scan>"
    assert (plan.optimizer, len(plan.scans), len(plan.nodes), plan.forced) == ("cheapest", 1, 1, ())
    with plan.run() as ours, loom.run() as theirs:
        assert set(ours) == set(theirs) == set(QUERIES) and totals(ours) == totals(theirs) > 0
    assert [one.query for one in plan.verify().results] == ["long", "short"] and plan.verify().ok
    assert [row["query"] for row in plan.run(sink="noop").report]


def test_a_plan_stays_when_its_queries_go_and_not_when_its_source_does(loom, spark):
    plan = loom.plan()
    loom.drop("short")
    assert [query.name for query in loom.queries] == ["long"] and set(current(loom)) == {"long"}
    assert set(loom.plan().run()) == {"long"} and set(plan.run()) == set(QUERIES)
    with pytest.raises(QueryError, match=r"query 'lon': there is no query of this name\. Did you mean 'long'"):
        loom.drop("lon")
    loom.source("trades", rows(spark, 30), time="ts", replace=True)
    for act in (plan.run, plan.verify, lambda: plan.start("checkpoint", "memory")):
        with pytest.raises(PlanError, match="source 'trades' was replaced since this plan was made: plan again"):
            act()


def test_a_plan_of_some_queries_costs_what_it_does_without_the_others(loom, spark, trades):
    with Loom(spark) as alone:
        alone.source("trades", trades, time="ts")
        alone.query("short", QUERIES["short"])
        assert str(alone.explain()) == str(loom.explain(["short"]))


def test_a_query_is_replaced_by_one_that_can_run(loom):
    cell = SUM.format("volume", 3)
    with pytest.raises(QueryError, match=r"already a query of this name\. Choose another name, or give replace=True"):
        loom.query("short", cell)
    with pytest.raises(QueryError, match="prise"):
        loom.query("short", SUM.format("prise", 3), replace=True)
    assert loom.queries[0].text == current(loom)["short"] == QUERIES["short"]
    for _ in range(2):
        loom.query("short", cell, replace=True)
    loom.query("new", cell, replace=True)
    assert [query.name for query in loom.queries] == ["short", "long", "new"]
    assert loom.queries[0].text == current(loom)["short"] == cell
    assert loom.verify(["short", "long"]).ok


def test_a_source_is_replaced_and_its_queries_checked(loom, spark):
    before, measured = loom.plan(["short"]), loom.measure()
    assert {found.rows for found in measured.values()} == {60}
    with pytest.raises(SourceError, match="already a source 'trades': choose another name, or give replace=True"):
        loom.source("trades", rows(spark, 30), time="ts")
    loom.source("trades", rows(spark, 30, "decimal(9,2)"), time="ts", replace=True)
    assert loom.plan(["short"]).run()["short"].dtypes == loom.native("short").dtypes
    assert dict(loom.run()["long"].dtypes)["s"] == "decimal(19,2)" and loom.verify().ok
    assert loom.plan(["short"]) != before and {found.rows for found in loom.measure().values()} == {30}


def test_a_source_that_a_query_does_not_fit_changes_nothing(loom, spark):
    with loom.run() as results:
        before = totals(results)
    listed = rows(spark, 30).withColumn("price", F.array("price"))
    for frame, reason in ((rows(spark, 30).drop("volume"), "query 'short'.*volume"), (listed, "query 'long'")):
        with pytest.raises(SourceError, match=rf"'trades' is not replaced, .*{reason}.*loom\.drop"):
            loom.source("trades", frame, time="ts", replace=True)
    with pytest.raises(SourceError, match="no column 'at'"):
        loom.source("trades", rows(spark, 30), time="at", replace=True)
    assert totals(loom.run()) == before and loom.verify().ok
    loom.query("again", SUM.format("volume ", 4))
    assert len(loom.plan().scans) == 1 and loom.verify(["again"]).ok


def test_a_plan_starts_a_stream_and_goes_on_by_the_plan_of_the_checkpoint(loom, spark, tmp_path):
    rows(spark, 60).coalesce(1).write.parquet(str(tmp_path / "in"))
    loom.source("trades", str(tmp_path / "in"), time="ts", format="parquet", watermark="0 seconds", replace=True)
    plan = loom.plan(optimizer="no_share")
    stream = plan.start(tmp_path / "checkpoint", "memory", trigger="available", max_clock_skew=None)
    assert stream.awaitTermination(300) and len(stream.scans) == 2
    last, recent = stream.lastProgress, stream.recentProgress
    assert set(last) == set(recent) == {scan.name for scan in stream.scans}
    assert all(sum(p["numInputRows"] for p in found) == 60 for found in recent.values())
    assert all(last[name]["batchId"] == recent[name][-1]["batchId"] for name in last)
    again = loom.plan(optimizer="share_all").start(tmp_path / "checkpoint", "memory", trigger="available",
                                                   max_clock_skew=None)
    assert again.awaitTermination(300) and again.plan.optimizer == "no_share" and len(again.scans) == 2


def test_a_loom_releases_what_it_made_and_leaves_the_users_session(spark, trades, compiled):
    views = {table.name for table in spark.catalog.listTables()}
    with Loom() as made:
        made.source("trades", trades, time="ts")
        assert made.spark is spark or made.spark.version == spark.version
        assert {table.name for table in spark.catalog.listTables()} > views
    assert {table.name for table in spark.catalog.listTables()} == views
    assert has_session() and trades.count() == 60
    made.close()  # once more is nothing
