"""Queries that differ in WHERE share one scan, rows grouped by the predicates they pass; answers stay Spark's own."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.harness.differential import differences
from weft import Loom
from weft.spark.batch.verify import compare_tables, number_columns

pytestmark = pytest.mark.usefixtures("interpreted")

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, venue int, price double, volume bigint, cost decimal(9,2)"
ROWS = 400
WINDOW = "window(ts, '{}', '1 minute')"


def rows():
    return [(NOON + dt.timedelta(seconds=11 * i + i * i % 17), "ABC"[i // 2 % 3], i % 4,
             None if i % 13 == 0 else float("nan") if i % 37 == 0 else 100.0 + i * 7 % 11, i * 31 % 1009 - 5, None)
            for i in range(ROWS)]


@pytest.fixture(scope="module")
def trades(spark):
    return spark.createDataFrame(rows(), SCHEMA).cache()


def check(loom, optimizer="cheapest"):
    """Every query's rows are those of Spark."""
    assert not differences(loom, optimizer)


PREDICATES = {
    "all": "", "dear": "WHERE price > 104", "dearer": "WHERE price > 108", "cheap": "WHERE price <= 104",
    "unknown": "WHERE price IS NULL", "odd": "WHERE volume % 2 = 1 AND price > 101", "none": "WHERE venue = 99",
    "venue_0": "WHERE venue = 0", "venue_1": "WHERE venue = 1", "maybe": "WHERE price > 104 OR NULL",
}
CALLS = {
    "plain": "sum(volume) AS v, count(*) AS n, max(price) AS high, min(symbol) AS first",
    "counted": "count(price) AS n, avg(price) AS mean, count_if(volume > 500) AS big, "
               "sum(volume) FILTER (WHERE venue = 2) AS v2",
    "moments": "stddev(price) AS spread, max_by(symbol, volume) AS top, corr(price, volume) AS c",
}


@pytest.mark.parametrize(("calls", "keys"), [*((calls, "symbol") for calls in CALLS), ("counted", "")])
@pytest.mark.parametrize("most", [0, 200])
def test_one_scan_for_all_predicates(loom, monkeypatch, calls, keys, most):
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)  # none: by shards
    for name, where in PREDICATES.items():
        for minutes in (1, 7) if name in ("all", "odd") else (7,):
            group = ", ".join(filter(None, (keys, WINDOW.format(f"{minutes} minutes"))))
            items = ", ".join(filter(None, (keys, "window.start AS at", CALLS[calls])))
            loom.query(f"{name}_{minutes}", f"SELECT {items} FROM trades {where} GROUP BY {group}")
    plan = loom.plan()
    assert len(plan.scans) == 1 and len(plan.scans[0].predicates) == len(PREDICATES)
    assert f"{len(PREDICATES)} predicates: " in str(loom.explain())
    check(loom)


@pytest.mark.parametrize("most", [0, 200])
def test_queries_that_share_little_but_the_scan(loom, monkeypatch, most):
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    for i, (name, where) in enumerate(PREDICATES.items()):
        calls = list(CALLS.values())[i % 3]
        loom.query(name, f"SELECT symbol, window.end AS at, {calls} FROM trades {where} "
                         f"GROUP BY symbol, window(ts, '{i + 2} minutes', '{i % 2 + 1} minutes') HAVING count(*) > 1")
    check(loom)
    check(loom, "no_share")


def test_more_predicates_than_a_number_has_bits(loom, spark, tmp_path):
    for i in range(130):
        loom.query(f"above_{i}", f"SELECT symbol, window.start AS at, sum(volume) AS v FROM trades "
                                 f"WHERE volume > {i * 8} GROUP BY symbol, {WINDOW.format('5 minutes')}")
    assert len(loom.plan().scans) == 1
    loom.run(sink=str(tmp_path))
    for i in (0, 61, 62, 63, 124, 129):
        found = number_columns(spark.read.parquet(str(tmp_path / f"above_{i}"))).toArrow()
        assert compare_tables(found, number_columns(loom.native(f"above_{i}")).toArrow()) == []
    assert len(list(tmp_path.iterdir())) == 130


@pytest.mark.parametrize("most", [0, 200])
def test_no_query_sees_errors_of_rows_that_it_does_not_let_pass(loom, spark, trades, monkeypatch, most):
    """1 / volume fails where volume is 0, a sum of two bigints where they are too large."""
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    extra = spark.createDataFrame([(NOON, "A", 7, 1.0, 0, None), (NOON, "A", 8, 2.0, 2**63 - 1, None),
                                   (NOON, "A", 8, 2.0, 2**63 - 1, None)], SCHEMA)
    loom.source("more", trades.union(extra), time="ts")
    group = f"GROUP BY symbol, {WINDOW.format('2 minutes')}"
    start = "SELECT symbol, window.start AS at"
    loom.query("inverse", f"{start}, sum(1 / volume) AS s FROM more WHERE volume <> 0 {group}")
    loom.query("everything", f"{start}, count(*) AS n FROM more {group}")
    loom.query("sane", f"{start}, sum(volume) AS v FROM more WHERE venue < 8 {group}")
    assert len(loom.plan().scans) == 1
    check(loom)


def test_keys_that_may_fail_keep_their_scan(loom):
    group = f"GROUP BY 1 / volume, {WINDOW.format('2 minutes')}"
    loom.query("safe", f"SELECT 1 / volume AS k, count(*) AS n FROM trades WHERE volume <> 0 {group}")
    loom.query("safer", f"SELECT 1 / volume AS k, count(*) AS n FROM trades WHERE volume > 0 {group}")
    assert len(loom.plan().scans) == 2
    check(loom)


def test_windows_that_cut_time_otherwise_keep_their_scan(loom):
    loom.query("fine", "SELECT symbol, count(*) AS n FROM trades WHERE volume > 900 "
                       "GROUP BY symbol, window(ts, '10 seconds', '7 seconds')")
    loom.query("coarse", f"SELECT symbol, count(*) AS n FROM trades GROUP BY symbol, {WINDOW.format('2 minutes')}")
    assert len(loom.plan().scans) == 2
    check(loom)


@pytest.mark.parametrize("most", [0, 200])
def test_names_and_texts_of_users_are_left_alone(spark, monkeypatch, most):
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    names = Loom(spark)
    odd = "SELECT TIMESTAMP'2024-03-01 12:00:00' AS ts, 1 AS m0, 2 AS q, 3 AS w, '<guard>' AS slice, 5 AS p0, 6 AS k0"
    names.source("odd", spark.sql(odd), time="ts")
    for i, where in enumerate(("WHERE m0 = 1", "WHERE q > 5", "")):
        names.query(f"odd_{i}", f"SELECT m0, max(p0) AS p, count_if(slice = '<guard>') AS n, min(slice) AS s FROM odd "
                                f"{where} GROUP BY m0, window(ts, '1 minute')")
    names.query("other", "SELECT m0, sum(k0) AS k, sum(w) AS w FROM odd WHERE slice <> '' "
                         "GROUP BY m0, window(ts, '1 minute')")
    assert len(names.plan().scans) == 1
    check(names)
    names.close()


def test_places_on_scales_are_sparks_own_comparisons(loom, monkeypatch):
    """Nulls, NaN, both zeros, numbers between, beyond and equal to those compared with; decimals and integers."""
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: 0)
    asked = [f"price {op} {n}" for op in ("<", "<=", "=", ">=", ">") for n in (100, 103, 104, 111)]
    asked += [f"volume % 7 = {n}" for n in range(6)]
    asked += [f"price > {n}.5 AND volume <= {100 * n}" for n in range(100, 105)]
    asked += ["cost > 1.5", "cost IS NULL AND price > 103", "volume BETWEEN -5 AND 17", "-3 < volume", "volume = -2"]
    for i, predicate in enumerate(asked):
        loom.query(f"q{i}", f"SELECT symbol, window.start AS at, count(*) AS n, sum(volume) AS v FROM trades "
                            f"WHERE {predicate} GROUP BY symbol, {WINDOW.format('3 minutes')}")
    (scan,) = loom.explain().to_dict()["scans"]
    assert scan["sharing"] == "shards"
    assert not differences(loom)


def test_a_comparison_that_spark_would_not_come_to_is_not_made(loom, spark, trades, monkeypatch):
    """A text that is no number where the venue is not 0 must not be compared with one there."""
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: 0)
    mixed = trades.selectExpr("*", "IF(venue = 0, CAST(volume AS STRING), 'none') AS code")
    loom.source("coded", mixed, time="ts")
    for i in range(6):
        loom.query(f"q{i}", f"SELECT symbol, count(*) AS n FROM coded WHERE venue = 0 AND code > {i * 100} "
                            f"GROUP BY symbol, {WINDOW.format('3 minutes')}")
    assert len(loom.plan().scans) == 1
    check(loom)
