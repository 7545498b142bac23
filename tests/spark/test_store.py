"""A loom with a store: what one loom registers, measures and runs, the next one knows."""

from __future__ import annotations

import datetime as dt

import pytest

from weft import Loom
from weft.catalog.database import FILE, open_catalog
from weft.catalog.expressions import expressions
from weft.catalog.nodes import nodes
from weft.catalog.plans import plans
from weft.catalog.registrations import registrations
from weft.catalog.statistics import Origin, statistics
from weft.catalog.store import CatalogWarning
from weft.errors import CatalogError, QueryError
from weft.spark.statistics.measure import measure_keys

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
HOUR = 3600 * 10**6
SCHEMA = "ts timestamp, symbol string, venue int, price double, volume bigint"
MEANS = ("SELECT symbol, window.end, avg(price) AS x FROM trades {} "
         "GROUP BY symbol, window(ts, '{} minutes', '1 minute')")
QUERIES = {"short": MEANS.format("", 10), "long": MEANS.format("", 30), "large": MEANS.format("WHERE volume > 150", 10)}


@pytest.fixture(scope="module")
def trades(spark):
    """300 trades of three symbols and two venues in an hour and a half."""
    rows = [(NOON + dt.timedelta(seconds=18 * i), "ABC"[i % 3], i % 2, float(i % 11), i) for i in range(300)]
    return spark.createDataFrame(rows, SCHEMA).cache()


@pytest.fixture
def weave(spark, trades, tmp_path):
    """Makes looms over the trades with a store, by default the test's own."""
    looms = []

    def make_loom(queries=QUERIES, store=tmp_path / "store"):
        looms.append(Loom(spark, store=store))
        looms[-1].source("trades", trades, time="ts")
        for name, sql in queries.items():
            looms[-1].query(name, sql)
        return looms[-1]

    yield make_loom
    for loom in looms:
        loom.close()


@pytest.fixture
def catalog(tmp_path):
    """The store's catalog, as another process would open it."""
    with open_catalog(tmp_path / "store" / FILE) as opened:
        yield opened


def test_what_one_loom_leaves_the_next_one_finds(weave, catalog, tmp_path):
    first = weave()
    assert first.explain().to_dict()["scans"][0]["estimated_for"]["measured"] is False
    report = first.run(sink=str(tmp_path / "out")).report
    assert {row["query"] for row in report} == set(QUERIES)
    found = {one.predicate: one for one in statistics(catalog)}
    assert {one.origin for one in found.values()} == {Origin.RUN}
    assert (found[None].sizes.rows, found[None].sizes.keys) == (300, 3)
    slices = {(i % 3, 18 * i // 60) for i in range(151, 300)}
    assert (found["volume > 150"].sizes.rows, found["volume > 150"].sizes.slices) == (149, len(slices))
    assert found[None].sizes.span == pytest.approx(1.5 * HOUR, rel=0.02)
    (node,) = nodes(catalog, 1)
    assert {one.node for one in found.values()} == {node.id}
    assert node.keys == ("symbol",) and set(node.predicates) == {None, "volume > 150"}
    assert {(one.node, one.plan) for one in registrations(catalog)} == {(node.id, 1)}

    again = weave()
    again.run()  # now by sizes that are known, which say that predicates share by shards
    weave().run()
    assert len(plans(catalog)) == 2 and len(registrations(catalog)) == 3
    source = again.explain().to_dict()["scans"][0]["estimated_for"]
    assert (source["rows"], source["keys"], source["measured"]) == (300, 3, True)


def test_what_is_measured_is_kept_and_recalled_by_meaning(weave, catalog):
    weave({"large": QUERIES["large"]}).measure()
    other = weave({"other": QUERIES["long"].replace("GROUP", "WHERE 150 < volume GROUP", 1)})
    assert other.explain().to_dict()["scans"][0]["estimated_for"]["rows"] == 149
    (one,) = statistics(catalog)
    assert one.origin == Origin.MEASURED and one.predicate == "volume > 150"
    assert plans(catalog) == [] and {r.plan for r in registrations(catalog)} == {None}


def test_a_refused_query_registers_nothing(weave, catalog):
    loom = weave({})
    for sql in ("SELECT 1", "SELECT avg(prise) FROM trades GROUP BY window(ts, '1 minute')"):
        with pytest.raises(QueryError):
            loom.query("bad", sql)
    assert registrations(catalog) == [] and expressions(catalog) == []


def test_verify_leaves_no_plan(weave, catalog):
    assert weave({"short": QUERIES["short"]}).verify(algorithm="recalc").ok
    assert plans(catalog) == []


def test_a_loom_without_a_store_writes_nothing(spark, trades, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loom = Loom(spark)
    loom.source("trades", trades, time="ts")
    loom.query("short", QUERIES["short"])
    loom.measure()
    loom.run(sink="noop")
    loom.close()
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_given_once(weave, tmp_path):
    with pytest.raises(CatalogError, match="make another loom"):
        weave({}).attach(tmp_path / "other")


def test_answers_stay_though_their_sizes_cannot_be_kept(weave, tmp_path, monkeypatch):
    loom = weave({"short": QUERIES["short"]})

    def fail(*_):
        raise CatalogError("catalog 'x': the disk is full.")

    monkeypatch.setattr("weft.catalog.store.Store.keep_run", fail)
    with pytest.warns(CatalogWarning, match="its sizes were not kept: catalog 'x'"):
        loom.run(sink=str(tmp_path / "out"))
    assert (tmp_path / "out" / "short").is_dir()


def test_many_groupings_are_measured_in_one_job(trades):
    sets = (("symbol",), ("symbol", "venue"), (), ("volume",), ("CASE WHEN volume > 7 THEN symbol END",))
    whole = measure_keys(trades, "volume < 200", "ts", sets)
    assert [s.keys for s in whole] == pytest.approx([3, 6, 1, 200, 4], rel=0.1)
    assert {s.rows for s in whole} == {200} and {s.span for s in whole} == {199 * 18 * 10**6}
    sampled = measure_keys(trades, None, "ts", sets, fraction=0.5)
    assert [s.keys for s in sampled] == pytest.approx([3, 6, 1, 300, 4], rel=0.3)
    assert sampled[0].rows == pytest.approx(300, rel=0.3)
