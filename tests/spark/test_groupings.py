"""Coarser groupings read the slices of finer ones; answers stay Spark's own."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from tests.harness.differential import differences
from weft import Loom

pytestmark = pytest.mark.usefixtures("interpreted")

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, a string, b int, c int, x double, n bigint, d decimal(12,2), s string"
ROWS = 6000


def rows():
    return [(NOON + dt.timedelta(milliseconds=157 * i), "uvw"[i % 3], i // 3 % 4, None if i % 5 == 0 else i % 2,
             None if i % 13 == 0 else float("nan") if i % 37 == 0 else 100.0 + i * 7 % 11, i * 31 % 1009 - 500,
             None if i % 7 == 0 else Decimal(i % 900) / 4, f"s{i % 17}") for i in range(ROWS)]


@pytest.fixture(scope="module")
def table(spark):
    return spark.createDataFrame(rows(), SCHEMA).cache()


@pytest.fixture
def weave(spark, table):
    """A loom over the table."""
    loom = Loom(spark)
    loom.source("t", table, time="ts")
    yield loom
    loom.close()


@pytest.fixture
def dense(spark):
    """A loom over a thousand rows a second."""
    loom = Loom(spark)
    made = "timestamp_micros(1709294400000000 + id * 1000) AS ts, id % 3 AS a, id * 7 % 5 AS b, id * 31 % 1009 AS n"
    loom.source("t", spark.range(20_000).selectExpr(*made.split(", ")), time="ts")
    yield loom
    loom.close()


SLIDING = "window(ts, '5 seconds', '1 second')"
CALLS = {
    "merged": "sum(n) AS n, count(*) AS m, max(x) AS high, min(s) AS first, avg(x) AS mean, bit_xor(n) AS bits, "
              "max_by(s, n * 10000 + b) AS top, count(c) AS known",
    "in workers": "stddev(x) AS spread, sum(d) AS total, avg(d) AS price, corr(x, n) AS c, count(*) AS m",
}


def ask(loom, name, keys, calls, where="", window="window(ts, '2 minutes', '1 minute')"):
    items = ", ".join((*keys, "window.start AS at", calls))
    loom.query(name, f"SELECT {items} FROM t {where} GROUP BY {', '.join((*keys, window))}")


def lattice(loom):
    """The keys of each scan with the keys of what it reads, if that is not the source."""
    return {tuple(s["keys"]): s["read_from"] and tuple(s["read_from"]) for s in loom.explain().to_dict()["scans"]}


@pytest.mark.parametrize("calls", CALLS)
def test_coarser_groupings_read_finer_ones(weave, calls):
    for keys in (("a", "b", "c"), ("b", "a"), ("c",), ()):
        ask(weave, "by_" + "_".join(keys), keys, CALLS[calls])
    ask(weave, "odd", ("c",), CALLS[calls], window="window(ts, '90 seconds', '40 seconds')")
    found = lattice(weave)
    assert found[("a", "b", "c")] is None and found[("b", "a")] == ("a", "b", "c") and found[()] == ("c",)
    text = str(weave.explain())
    assert "derived from the slices by a, b, c (saves" in text and "derived grouping" in text
    assert not differences(weave)


@pytest.mark.parametrize("most", [0, 200])
def test_predicates_of_a_grouping_are_known_to_what_it_reads(weave, monkeypatch, most):
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)  # none: by shards
    ask(weave, "all", ("a", "b"), CALLS["merged"])
    ask(weave, "dear", ("a",), CALLS["merged"], "WHERE x > 104")
    ask(weave, "few", ("b",), "sum(n) AS n, max(s) AS last", "WHERE n % 7 = 0")
    ask(weave, "spread", ("a", "b"), CALLS["in workers"], "WHERE n % 7 = 0")
    ask(weave, "none", (), "count(*) AS m, min(d) AS low", "WHERE b = 99")
    found = lattice(weave)
    assert found[("a", "b")] is None and found[("a",)] == ("a", "b") and found[("b",)] == ("a", "b")
    assert not differences(weave)


def test_a_grouping_nobody_asks_for_serves_two(dense, tmp_path, spark):
    ask(dense, "one", ("a",), "sum(n) AS s", window=SLIDING)
    ask(dense, "two", ("b",), "max(n) AS m, count(*) AS c", window="window(ts, '3 seconds', '2 seconds')")
    assert lattice(dense) == {("a", "b"): None, ("a",): ("a", "b"), ("b",): ("a", "b")}
    assert "no query asks for it: 2 groupings read its slices" in str(dense.explain())
    assert not differences(dense)
    dense.run(sink=str(tmp_path))
    for name in ("one", "two"):
        assert spark.read.parquet(str(tmp_path / name)).count() == dense.native(name).count()


def test_parts_of_the_cost_add_up(dense):
    ask(dense, "one", ("a",), "sum(n) AS s", window=SLIDING)
    ask(dense, "two", ("b",), "sum(n) AS s", window=SLIDING)
    plan = dense.explain().to_dict()
    assert sum(q["cost"] for q in plan["queries"].values()) == pytest.approx(plan["cost"]["cost"])
    assert plan["totals"]["scans"] == 1 and plan["totals"]["derived"] == 2


def test_other_optimizers_derive_nothing(weave):
    for keys in (("a", "b"), ("a",)):
        ask(weave, "by_" + "_".join(keys), keys, CALLS["merged"])
    assert len(weave.plan(optimizer="tri_weave").scans) == 2 and len(weave.plan().scans) == 1


def test_keys_almost_as_many_as_rows_serve_nobody(weave):
    ask(weave, "fine", ("a", "n"), "count(*) AS m")
    ask(weave, "coarse", ("a",), "count(*) AS m")
    assert lattice(weave) == {("a", "n"): None, ("a",): None}


def test_the_catalog_knows_the_lattice_and_its_sizes(spark, table, tmp_path):
    loom = Loom(spark, store=tmp_path / "store")
    loom.source("t", table, time="ts")
    ask(loom, "fine", ("a", "b"), CALLS["merged"])
    ask(loom, "coarse", ("a",), CALLS["merged"])
    loom.run(sink="noop")
    loom.close()
    again = Loom(spark, store=tmp_path / "store")
    again.source("t", table, time="ts")
    ask(again, "fine", ("a", "b"), CALLS["merged"])
    assert again.explain().to_dict()["scans"][0]["estimated_for"] == {
        "rows": ROWS, "keys": 12, "hours": pytest.approx(0.267, abs=0.02), "measured": True, "sampled": False}
    again.close()
