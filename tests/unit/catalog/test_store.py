"""The store: queries registered, plans recorded as nodes, sizes kept and recalled; nothing twice, nothing by halves."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.catalog.queries import MINUTE, bound, explained
from weft.aggregates.component import GUARD
from weft.aggregates.times import UNASKED
from weft.catalog import store as storing
from weft.catalog.database import FILE, open_catalog
from weft.catalog.expressions import expressions, keep_set
from weft.catalog.nodes import nodes
from weft.catalog.plans import plans
from weft.catalog.record import digest_plan
from weft.catalog.registrations import plan_uses, registrations, remove_registration
from weft.catalog.statistics import Origin, Sizes, statistics
from weft.catalog.store import Rows
from weft.model.statistics import Statistics
from weft.model.window import Window, rows_window
from weft.stages.build import build

ROOT = Path(__file__).parents[3]
REGISTERING = Path(__file__).with_name("registering.py")
HOME = {**os.environ, "PYTHONPATH": str(ROOT)}
TRADES = Rows("trades", None, "ts", ("symbol",))


def test_a_query_registered_again_is_the_same_registration(store):
    first = store.register([bound("a").query])
    assert store.register([bound("a").query]) == first
    (one,) = registrations(store.catalog)
    assert (one.name, one.sql, one.source, one.window) == ("a", "SELECT 1", "trades", Window(10 * MINUTE, MINUTE))
    assert one.removed is None and one.registered.endswith("+00:00")


def test_another_text_takes_its_place_and_the_history_stays(store):
    store.register([bound("a").query])
    store.register([bound("a", text="SELECT 2").query])
    old, new = registrations(store.catalog)
    assert (old.sql, new.sql) == ("SELECT 1", "SELECT 2")
    assert old.removed is not None and new.removed is None


def test_a_query_removed_may_come_again(store):
    store.register([bound("a").query])
    assert remove_registration(store.catalog, "a")
    assert not remove_registration(store.catalog, "a")
    assert not remove_registration(store.catalog, "b")
    store.register([bound("a").query])
    assert [bool(one.removed) for one in registrations(store.catalog)] == [True, False]


def test_expressions_of_one_meaning_are_one(store):
    store.register([bound("a", where="price > 100").query, bound("b", where="100 < price").query])
    found = {one.text: one for one in expressions(store.catalog)}
    assert sorted(found) == ["price > 100", "symbol", "ts", "volume"]
    assert plan_uses(store.catalog)[found["price > 100"].id] == ["a", "b"]


def test_a_set_has_no_order(catalog):
    for name in "abc":
        catalog.change("INSERT INTO expressions (source, canonical, text) VALUES ('t', ?, ?)", (name, name))
    assert keep_set(catalog, "t", (1, 2)) == keep_set(catalog, "t", (2, 1)) != keep_set(catalog, "t", (1, 3))
    assert keep_set(catalog, "t", ()) == keep_set(catalog, "t", ())


def test_queries_enter_together_or_not_at_all(store, monkeypatch):
    made = []

    def failing(*args):
        made.append(args)
        if len(made) > 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(storing, "use_plan", failing)
    with pytest.raises(KeyboardInterrupt):
        store.register([bound("a").query, bound("b").query])
    assert registrations(store.catalog) == [] and expressions(store.catalog) == []


def test_a_plan_is_recorded_as_its_stages(store, record):
    assert record(bound("a"), bound("b", 20, "price > 100"), bound("c", 60, keys=("venue", "symbol"), call="avg")) == 1
    by_symbol, by_both = sorted(nodes(store.catalog, 1), key=lambda node: len(node.keys))
    assert by_symbol.keys == ("symbol",) and by_symbol.predicates == (None, "price > 100")
    assert (by_symbol.source, by_symbol.time, by_symbol.sharing, by_symbol.parent) == ("trades", "ts", "shards", None)
    assert by_symbol.progressions == ((0, MINUTE),)
    assert sorted(by_both.keys) == ["symbol", "venue"] and by_both.predicates == (None,)
    assert "sum(volume)" in by_symbol.columns
    homes = {one.name: (one.node, one.plan) for one in registrations(store.catalog)}
    assert homes == {"a": (by_symbol.id, 1), "b": (by_symbol.id, 1), "c": (by_both.id, 1)}
    (plan,) = plans(store.catalog)
    assert plan.optimizer == "cheapest" and plan.cost > 0 and plan.explanation["totals"]["queries"] == 3


def test_slices_of_rows_are_another_node_than_slices_of_time(store, record):
    timed, counted = bound("a", 10), bound("b")
    window = rows_window(10 * MINUTE, MINUTE)
    counted = replace(counted, query=replace(counted.query, window=window, order=("ts",)), times=UNASKED)
    record(timed, counted)
    found = nodes(store.catalog, 1)
    assert [(node.unit, node.progressions) for node in found] == [("time", ((0, MINUTE),)), ("rows", ((0, MINUTE),))]
    assert [one.window for one in registrations(store.catalog)] == [Window(10 * MINUTE, MINUTE), window]


def test_a_plan_that_runs_alike_is_the_same_version(store, record):
    queries = [bound("a", where="price > 100"), bound("b", 20, where="price > 100")]
    assert record(*queries) == 1
    assert record(*queries, rows=5e7) == 1, "it only costs more"
    assert record(*(bound(b.query.name, b.query.window.range // MINUTE, "100 < price") for b in queries)) == 1
    assert record(*queries, bound("c", 30)) == 2
    assert record(*queries) == 3, "the last one was another"
    assert len(plans(store.catalog)) == 3


def test_a_version_is_explained_once(store):
    made, asked = explained(bound("a")), []

    def explain():
        asked.append(1)
        return made

    for _ in range(3):
        store.record(made.plan.optimizer, [b.query for b in made.plan.queries], made.stages, explain)
    assert len(asked) == 1


def test_a_node_is_widened_and_cut_otherwise_is_another(store, record):
    record(bound("a"))
    record(bound("a"), bound("b", call="max"))
    (node,) = nodes(store.catalog, 2)
    assert node.id == nodes(store.catalog, 1)[0].id and {"sum(volume)", "max(volume)"} <= set(node.columns)
    odd = bound("odd")
    record(replace(odd, query=replace(odd.query, window=Window(10 * MINUTE, 7 * MINUTE))))
    assert nodes(store.catalog, 3)[0].id != node.id


def test_what_is_computed_from_a_node_has_it_as_parent(store):
    fine, coarse = explained(bound("a", keys=("symbol", "venue"))), explained(bound("b"))
    nested = build(replace(fine.plan, scans=(replace(fine.plan.scans[0], derived=coarse.plan.scans),)))
    store.record("cheapest", [bound("a").query, bound("b").query], nested, lambda: fine)
    parent, child = sorted(nodes(store.catalog, 1), key=lambda node: -len(node.keys))
    assert parent.parent is None and child.parent == parent.id
    assert {one.name: one.node for one in registrations(store.catalog)} == {"a": parent.id, "b": child.id}


def test_a_digest_is_the_same_in_every_process(store, record):
    """Weft's own marks differ from process to process; hashes of texts too."""
    made = explained(bound("a"), bound("b", 20, "price > 100"))
    record(bound("a"), bound("b", 20, "price > 100"))
    assert not any(GUARD in sql for (sql,) in store.catalog.rows("SELECT sql FROM node_columns"))
    code = ("from tests.unit.catalog.queries import *; from weft.catalog.record import digest_plan; "
            "made = explained(bound('a'), bound('b', 20, 'price > 100')); "
            "print(digest_plan(made.plan.optimizer, made.stages))")
    shown = subprocess.run([sys.executable, "-c", code], env=HOME, cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == digest_plan(made.plan.optimizer, made.stages)


def test_sizes_are_recalled_by_meaning(store):
    rows = Rows("trades", "price > 100", "ts", ("symbol", "venue"))
    assert store.known(rows) is None
    store.keep([(rows, Sizes(10, 2, 60, None))], Origin.MEASURED)
    assert store.known(Rows("trades", "100 < price", "ts", ("venue", "symbol"))) == Statistics(10, 2, 60)
    assert store.known(Rows("trades", None, "ts", ("symbol", "venue"))) is None
    assert store.known(Rows("trades", "price > 100", "ts", ("symbol",))) is None
    assert store.known(Rows("trades", "price > 7", "ts", ("symbol", "venue"))) is None
    assert store.known(Rows("other", "price > 100", "ts", ("symbol", "venue"))) is None


def test_what_was_counted_comes_before_what_was_sampled(store):
    store.keep([(TRADES, Sizes(100, 20, 50))], Origin.SAMPLE)
    assert store.known(TRADES) == Statistics(100, 20, 50)
    store.keep([(TRADES, Sizes(90, 18, 60))], Origin.MEASURED)
    store.keep([(TRADES, Sizes(100, 21, 50))], Origin.SAMPLE)
    assert store.known(TRADES) == Statistics(90, 18, 60)
    stage = explained(bound("a")).stages.root.stage
    store.keep_run([(stage, 0, Sizes(None, 19, 61, 7))])
    assert store.known(TRADES) == Statistics(90, 19, 61), "the newest, and what it leaves open from the one before"
    store.keep([(TRADES, Sizes(95, 17, 62))], Origin.MEASURED)
    assert store.known(TRADES) == Statistics(95, 17, 62)
    assert sorted(one.origin for one in statistics(store.catalog)) == ["measured", "run", "sample"]


def test_runs_leave_the_sizes_of_each_node(store):
    """Two scans of the same rows that cut time differently: what one does not count, the other may."""
    odd = bound("odd", call="max")
    odd = replace(odd, query=replace(odd.query, window=Window(10 * MINUTE, 7 * MINUTE)))
    fine, coarse = (explained(query).stages.root.stage for query in (bound("a", call="avg"), odd))
    for slices in (80, 90):
        store.keep_run([(fine, 0, Sizes(500, 3, 60, slices)), (coarse, 0, Sizes(None, 3, 70, 20))])
    assert sorted(one.sizes.slices for one in statistics(store.catalog)) == [20, 90]
    assert len({one.node for one in statistics(store.catalog)}) == 2
    assert store.known(TRADES) == Statistics(500, 3, 70)


def test_sizes_that_are_not_all_known_are_not_planned_with(store):
    store.keep([(TRADES, Sizes(keys=5))], Origin.SAMPLE)
    assert store.known(TRADES) is None
    store.keep([(TRADES, Sizes(0, 0, 0))], Origin.MEASURED)
    assert store.known(TRADES) == Statistics(1, 1, 1), "rates are divided by them"


def test_two_processes_register_at_once(tmp_path):
    arguments = [[sys.executable, str(REGISTERING), str(tmp_path), who, "200"] for who in ("left", "right")]
    processes = [subprocess.Popen(argument, env=HOME) for argument in arguments]
    assert [process.wait() for process in processes] == [0, 0]
    with open_catalog(tmp_path / FILE, create=False) as catalog:
        found = registrations(catalog)
        assert catalog.rows("PRAGMA integrity_check") == [("ok",)]
        assert catalog.rows("PRAGMA foreign_key_check") == []
    current = [one.name for one in found if not one.removed]
    assert sorted(current) == sorted([f"{who}_{n}" for who in ("left", "right") for n in range(200)] + ["common"])
    common = [one for one in found if one.name == "common"]
    assert len(common) == 400 and [one.removed is None for one in common] == [False] * 399 + [True]
    assert common[-1].sql in ("SELECT 199 AS left", "SELECT 199 AS right")
