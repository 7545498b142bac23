"""Every optimizer on Spark: whatever the plan, the answers are Spark's own."""

from __future__ import annotations

import datetime as dt

import pytest

from weft import Loom, Optimizer, Problem
from weft.errors import PlanError
from weft.model.statistics import Statistics
from weft.optimize import EVERY_OPTIMIZER
from weft.spark.batch.verify import compare_tables, number_columns

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, venue int, price double, volume bigint"
ROWS = 300
# So large that a second scan costs less than passing fine slices to projections that need none.
LARGE = Statistics(rows=2e7, keys=1000, span=3.6e10)
FINE = "symbol, window.start AS at, sum(volume) AS total, count(*) AS n"
QUERIES = {
    "fine_7": (FINE, "symbol", "'60 seconds', '7 seconds'"),
    "fine_7_long": (FINE, "symbol", "'5 minutes', '7 seconds'"),
    "fine_11": (FINE, "symbol", "'100 seconds', '11 seconds'"),
    "fine_13": (FINE, "symbol", "'61 seconds', '13 seconds', '3 seconds'"),
    "mean_10m": ("symbol, window.end AS at, avg(price) AS mean", "symbol", "'20 minutes', '10 minutes'"),
    "high_10m": ("symbol, window.end AS at, max(price) AS high", "symbol", "'10 minutes', '10 minutes'"),
    "spread_10m": ("symbol, window.end AS at, stddev(price) AS spread", "symbol", "'30 minutes', '10 minutes'"),
    "busy_10m": ("symbol, window.end AS at, sum(volume) AS v", "symbol", "'15 minutes', '10 minutes'"),
    "venue_7": ("venue, window.start AS at, min(price) AS low", "venue", "'63 seconds', '7 seconds'"),
    "venue_11": ("venue, window.start AS at, min(price) AS low", "venue", "'33 seconds', '11 seconds'"),
    "venue_13": ("window.start AS at, count(price) AS n, venue", "venue", "'26 seconds', '13 seconds'"),
    "venue_10m": ("venue, window.start AS at, max_by(symbol, volume) AS s", "venue", "'10 minutes', '10 minutes'"),
}


@pytest.fixture(scope="module")
def loom(spark):
    """A dozen queries over a small table that the planner takes for a large one."""
    rows = [(NOON + dt.timedelta(seconds=37 * i + i * i % 29), "ABC"[i // 2 % 3], i % 2,
             None if i % 13 == 0 else 100.0 + i * 7 % 11, i * 31 % 1009) for i in range(ROWS)]
    made = Loom(spark)
    made.source("trades", spark.createDataFrame(rows, SCHEMA).cache(), time="ts")
    for name, (items, key, window) in QUERIES.items():
        made.query(name, f"SELECT {items} FROM trades GROUP BY {key}, window(ts, {window})")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.loom.sizes.measure_scan", lambda frame, bound: LARGE)
        made.measure()
    yield made
    made.close()


def tables(results):
    """The rows of every query."""
    return {name: number_columns(results[name]).toArrow() for name in QUERIES}


@pytest.fixture(scope="module")
def native(loom):
    """Spark's own rows."""
    found = {name: number_columns(loom.native(name)).toArrow() for name in QUERIES}
    assert all(table.num_rows > 5 for table in found.values())
    return found


@pytest.fixture(scope="module")
def answers(loom):
    """Runs a plan, each different one once."""
    kept: dict[tuple, dict] = {}

    def run(optimizer):
        key = grouping(loom.plan(optimizer=optimizer))
        if key not in kept:
            with loom.run(optimizer=optimizer) as results:
                kept[key] = tables(results)
        return kept[key]

    return run


def grouping(plan):
    """Which queries stand together."""
    return tuple(tuple(tuple(b.query.name for b in tree.queries) for tree in scan.trees) for scan in plan.scans)


@pytest.mark.parametrize("optimizer", [o.name for o in EVERY_OPTIMIZER])
def test_whatever_the_plan_the_answers_are_sparks_own(answers, native, optimizer):
    found = answers(optimizer)
    for name, rows in native.items():
        assert compare_tables(found[name], rows) == [], name


def test_weave_share_scans_more_than_once_where_that_pays(loom):
    woven, shared = loom.plan(optimizer="weave_share"), loom.plan(optimizer="share_all")
    by_symbol = [scan for scan in woven.scans if scan.head.query.keys == ("symbol",)]
    assert len([node for node in shared.nodes if node.keys == ("symbol",)]) == 1 and len(by_symbol) > 1
    coarse = {"mean_10m", "high_10m", "spread_10m"}
    assert any({b.query.name for b in scan.queries} >= coarse and len(scan.queries) < 8 for scan in by_symbol)
    costs = {name: loom.explain(optimizer=name).to_dict()["cost"] for name in ("weave_share", "share_all", "no_share")}
    assert costs["weave_share"]["cost"] < min(costs["share_all"]["cost"], costs["no_share"]["cost"])


def test_measuring_a_small_source_shares_one_scan(loom, spark):
    small = Loom(spark)
    small.source("trades", loom._context.sources.frames["trades"], time="ts")
    for name, (items, key, window) in QUERIES.items():
        small.query(name, f"SELECT {items} FROM trades GROUP BY {key}, window(ts, {window})")
    found = small.measure()
    assert {s.rows for s in found.values()} == {ROWS} and sorted(s.keys for s in found.values()) == [2, 3]
    assert len(small.plan(optimizer="weave_share").scans) == 2
    assert all(scan["estimated_for"] == {**scan["estimated_for"], "rows": ROWS, "measured": True}
               for scan in small.explain().to_dict()["scans"])
    small.close()


def test_sinks_and_verify_take_an_optimizer(loom, spark, tmp_path):
    names = ["fine_7", "mean_10m", "venue_7"]
    loom.run(sink=str(tmp_path), queries=names, optimizer="no_share")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)
    assert spark.read.parquet(str(tmp_path / "mean_10m")).count() == loom.native("mean_10m").count()
    assert loom.verify(names, optimizer="weave_share").ok
    with pytest.raises(PlanError, match="did you mean 'weave_share'"):
        loom.verify(optimizer="weave_sare")


def by_slide(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Queries of one slide share a tree."""
    trees: dict[int, list[int]] = {}
    for number, window in enumerate(problem.windows):
        trees.setdefault(window.slide, []).append(number)
    return tuple(map(tuple, trees.values()))


def test_an_optimizer_from_outside_plans_and_runs(loom, answers, native):
    own = Optimizer("by_slide", "By slide", "Queries of one slide share a tree.", "none", by_slide)
    plan = loom.plan(optimizer=own)
    assert plan.optimizer == "by_slide"
    assert all(len({b.query.window.slide for b in tree.queries}) == 1 for scan in plan.scans for tree in scan.trees)
    found = answers(own)
    assert all(compare_tables(found[name], rows) == [] for name, rows in native.items())
    assert "by_slide" in str(loom.explain(optimizer=own))
    careless = Optimizer("careless", "Careless", "Forgets all but the first query.", "none", lambda problem: ((0,),))
    with pytest.raises(PlanError, match="optimizer 'careless' lost or doubled queries"):
        loom.plan(optimizer=careless)
