"""User-defined aggregates on Spark: called by name, shared, and equal to what Spark makes of the same class."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.fixtures.versions import needs_user_aggregates
from tests.harness.differential import differences
from tests.strategies.aggregates import Longest, Parity, Spread, Weighted
from tests.strategies.queries import queries
from tests.strategies.tables import SCHEMA, Shape, rows_of, shapes
from weft import AggregateError, CheckError, Loom, PlainAggregate, RefusedError, TrackClusterCenters, UserAggregate
from weft.cli.init import create_project
from weft.cli.main import app
from weft.errors import PlanError

pytestmark = needs_user_aggregates
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
ANCHORS = [(100.0, 0.0), (104.0, 300.0), (108.0, 900.0)]
QUERY = "SELECT symbol, window.end AS at, {} FROM trades {} GROUP BY symbol, window(ts, {})"


@pytest.fixture(scope="module")
def trades(spark):
    """Trades of which minutes on end have no price, and some no volume."""
    rows = [(NOON + dt.timedelta(seconds=7 * i + i * i % 5), "ABC"[i % 3],
             None if 60 < i < 130 or i % 11 == 0 else 100.0 + i * 7 % 11 + i % 3 / 8,
             None if i % 13 == 0 else i * 31 % 1009, f"n{i % 17}" * (i % 4) if i % 5 else None) for i in range(260)]
    schema = "ts timestamp, symbol string, price double, volume bigint, note string"
    return spark.createDataFrame(rows, schema).coalesce(2).cache()


@pytest.fixture
def defined(loom):
    """The loom with one aggregate of each kind."""
    for aggregate in (TrackClusterCenters(ANCHORS), Spread(), Weighted(), Parity(), Longest()):
        loom.aggregate(aggregate)
    return loom


def test_answers_are_spark_s_own(defined):
    """Several windows, several predicates in one scan, nulls, windows without values, and built-ins beside them."""
    centers = "track_cluster_centers(price, volume) AS centers, spread(price), longest(note) AS note"
    for name, where in (("all", ""), ("dear", "WHERE price > 104"), ("some", "WHERE volume % 2 = 1")):
        defined.query(f"centers_{name}", QUERY.format(centers, where, "'3 minutes', '70 seconds'"))
    short = "spread(volume + 1) AS s, parity(volume).odd"
    defined.query("short", QUERY.format(short, "WHERE volume > 2", "'10 seconds'"))
    mixed = "Weighted(price, volume) / avg(price) AS w, sum(volume), parity(volume) AS p, spread(price) AS s"
    defined.query("mixed", QUERY.format(mixed, "", "'3 minutes', '70 seconds'") + " HAVING count(*) > 3")
    assert differences(defined) == []
    assert (None, "price > 104", "volume % 2 = 1") in [scan.predicates for scan in defined.plan().scans]
    assert defined.verify(["centers_dear"]).ok


def test_shards_of_predicates_are_merged_in_python(defined, monkeypatch):
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: 0)
    items = "weighted(price, volume) AS w, track_cluster_centers(price, volume) AS c"
    for name, where in (("all", ""), ("dear", "WHERE price > 104")):
        defined.query(name, QUERY.format(items, where, "'2 minutes', '1 minute'"))
    assert differences(defined) == []


def test_partials_are_shared_with_built_ins(loom):
    class Total(UserAggregate):
        name, takes, returns = "total", ("double",), "double"
        fields, identity, ufunc, commutative, partials = ("float64",), (0.0,), np.add, True, ("sum({0})",)

        def lift(self, x):
            return (x,)

        def lower(self, state):
            return state[0]

    loom.aggregate(Total())
    loom.query("mine", QUERY.format("total(price) AS t", "", "'3 minutes', '1 minute'"))
    loom.query("mean", QUERY.format("avg(price) AS m", "", "'3 minutes', '1 minute'"))
    columns = loom.explain().stages.root.stage.columns
    assert [column.plain for column in columns] == ["sum(price)", "count(1)", "count(price)"]
    assert "total(price)" in str(loom.explain()) and loom.explain().to_dict()["totals"]["scans"] == 1
    found = {(r.symbol, r.at): r.t for r in loom.run()["mine"].collect()}
    wanted = {(r.symbol, r.at): r.s for r in loom.native("mine").selectExpr("symbol", "at", "t AS s").collect()}
    assert found == pytest.approx(wanted) and 0.0 in found.values()


def test_an_algorithm_may_be_forced_for_one(defined):
    defined.query("q", QUERY.format("parity(volume) AS p, spread(price) AS s", "", "'3 minutes', '1 minute'"))
    text = str(defined.explain(algorithm={"parity": "prefix", "spread": "doubling"}))
    assert "parity(volume) by prefix" in text and "spread(price) by doubling" in text
    with pytest.raises(PlanError, match="subtracts what leaves a window, which is not exact for spread of object"):
        defined.plan(algorithm={"spread": "prefix"})
    assert defined.verify(algorithm={"parity": "prefix", "spread": "doubling"}).ok


class Averaging(Spread):
    """Averages of averages, which depend on how rows are cut."""

    name = "averaging"
    idempotent = False

    def combine(self, a, b):
        if a is None or b is None:
            return b if a is None else a
        return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


class Counting(Weighted):
    """Partials that count rows which lift never sees."""

    name = "counting"
    partials = ("sum({0} * {1})", "count(*)")


class Misspelled(Weighted):
    """Partials that Spark does not know."""

    name = "misspelled"
    partials = ("summ({0} * {1})", "sum({1})")


@pytest.mark.parametrize(("aggregate", "sentence"), [
    (Averaging(), "it breaks the law 'associative', combine(combine(a, b), c) = combine(a, combine(b, c)): with a = ("),
    (Counting(), "its partials are not the state that lift and combine give: of the rows ("),
    (Misspelled(), "Spark cannot compute its partials summ("),
    (TrackClusterCenters(ANCHORS, name="sum"), "Spark or Weft has a function of this name"),
    (TrackClusterCenters(ANCHORS, name="abs"), "Spark or Weft has a function of this name"),
    (TrackClusterCenters(ANCHORS, name="moments"), "Spark or Weft has a function of this name"),
    (TrackClusterCenters(ANCHORS, name="select"), "SQL cannot call a function of this name"),
], ids=lambda value: getattr(value, "name", None))
def test_what_cannot_be_used_is_refused_and_nothing_is_registered(loom, spark, aggregate, sentence):
    known = spark.catalog.functionExists(aggregate.name)
    with pytest.raises(AggregateError) as raised:
        loom.aggregate(aggregate)
    assert sentence in str(raised.value) and spark.catalog.functionExists(aggregate.name) == known
    if not known and aggregate.name != "select":
        with pytest.raises(CheckError, match="Cannot resolve routine"):
            loom.query("q", QUERY.format(f"max({aggregate.name}(price, volume))", "", "'1 minute'"))


REFUSED = (
    ("spread(note)", "over string, where it takes double, does not run in Weft yet. Cast it: CAST(note AS DOUBLE)."),
    ("spread(price, volume)", "spread() takes 1 arguments, not 2."),
    ("spread(price) FILTER (WHERE volume > 1)", "Write spread(CASE WHEN volume > 1 THEN price END)"),
    ("spread(max(price))", "an aggregate (max) cannot stand in another aggregate"),
)


def test_calls_that_cannot_run_are_refused(loom):
    loom.aggregate(Spread())
    for call, sentence in REFUSED:
        with pytest.raises((CheckError, RefusedError)) as raised:
            loom.query("q", QUERY.format(call, "", "'1 minute'"))
        assert sentence in str(raised.value) and "query 'q', line 1, column " in str(raised.value)


def test_looms_of_one_session_keep_their_own(spark, trades):
    """Another loom's aggregate of the same name is another one; what a loom made goes with it."""
    looms = [Loom(spark), Loom(spark)]
    for loom, anchors in zip(looms, ([(0.0,)], [(0.0,), (104.0,)]), strict=True):
        loom.source("trades", trades, time="ts")
        loom.aggregate(TrackClusterCenters(anchors, name="centers"))
        loom.query("q", QUERY.format(r"centers(price) AS c", r"WHERE note <> '\\'", "'5 minutes'"))
    for loom, size in zip(looms, (1, 2), strict=True):
        assert {len(row.c) for row in loom.native("q").collect()} == {size}
        assert differences(loom) == []
    with pytest.raises(AggregateError, match="there is already an aggregate of this name"):
        looms[0].aggregate(TrackClusterCenters([(0.0,)], name="Centers"))
    looms[1].close()
    looms[0].close()
    assert not spark.catalog.functionExists("centers")


class Latest(PlainAggregate):
    """The last time and day, and how many there were: types that are no numbers."""

    name, takes, returns, commutative = "latest", ("timestamp", "date"), "struct<at:timestamp,day:date,n:int>", True
    identity = (None, None, 0)

    def lift(self, at, day):
        return at, day, 1

    def combine(self, a, b):
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        return max(a[0], b[0]), max(a[1], b[1]), a[2] + b[2]

    def lower(self, state):
        return {"at": state[0], "day": state[1], "n": state[2]}


CALLS = ("spread_of(x)", "spread_of(i)", "pairs(x, z)", "pairs(f, x)", "latest(at, day)", "odd(n).odd", "longest(s)")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_random_queries_with_them_equal_spark_s_own(spark, zone):
    """A few random tables, each asked random queries in which user-defined aggregates stand beside built-ins."""
    aggregates = (named(Spread, "spread_of"), TrackClusterCenters([(5e3, 5.0), (4e3, 4.0)], "pairs"), Latest(),
                  named(Parity, "odd"), Longest())

    @settings(max_examples=3, phases=[Phase.generate])
    @given(shapes(), st.lists(queries(st.sampled_from(CALLS)), min_size=2, max_size=2))
    def check(shape, texts):
        sized = Shape(**{**shape.__dict__, "rows": max(shape.rows, 40), "odd": 0.0})
        loom = Loom(spark)
        loom.source("t", spark.createDataFrame(rows_of(sized), SCHEMA), time="ts")
        for aggregate in aggregates:
            loom.aggregate(aggregate)
        for i, text in enumerate(texts):
            loom.query(f"q{i}", text)
        found = differences(loom)
        loom.close()
        assert found == [], texts

    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        check()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def named(kind, name):
    """An instance under another name."""
    made = kind()
    made.name = name
    return made


FILE = """
import numpy as np
from weft import PlainAggregate, TrackClusterCenters, UserAggregate

class Span(PlainAggregate):
    name, takes, returns, commutative, identity = "span", ("double",), "double", True, None
    def lift(self, x):
        return (x, x)
    def combine(self, a, b):
        return (b if a is None else a) if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
    def lower(self, state):
        return None if state is None else state[1] - state[0]

class Two(Span):
    def __init__(self, more):
        pass

prices = TrackClusterCenters([(50.0,), (150.0,)], name="prices")
broken = 1 / 0 if False else 1
"""


@pytest.fixture
def project(spark, tmp_path, monkeypatch):
    """A new project with a file of aggregates; gives a function that names some of them and runs a command."""
    create_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILE)
    plain = Path("weft.toml").read_text()

    def weft(table, *args):
        Path("weft.toml").write_text(plain + "\n[aggregates]\n" + table)
        return CliRunner().invoke(app, args)

    return weft


def test_a_project_has_aggregates_of_its_own(project):
    Path("queries/own.sql").write_text("SELECT symbol, window.end, span(price) AS s, prices(price) AS p FROM trades "
                                       "GROUP BY symbol, window(ts, '20 minutes', '10 minutes')")
    result = project('span = "mine:Span"\nprices = "mine:prices"', "verify", "--query", "own", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["results"][0]["rows"] > 0


WRONG = (
    ('span = "mine:Spam"', "aggregates.span: module 'mine' has no 'Spam'. Did you mean 'Span'?"),
    ('span = "yours:Span"', "no module 'yours' is installed"),
    ('span = "mine"', "aggregates.span 'mine' names no class: write span = \"aggregates:Span\""),
    ('other = "mine:Span"', "Span calls itself 'span': write span = \"mine:Span\""),
    ('span = "mine:Two"', "Two() failed: TypeError"),
    ('broken = "mine:broken"', "this is no aggregate of Weft's classes"),
    ("span = 1", "'aggregates.span' must be a string"),
)


def test_a_project_is_told_what_is_wrong_with_its_aggregates(project):
    for table, sentence in WRONG:
        result = project(table, "check", "--json")
        assert result.exit_code != 0 and sentence in json.loads(result.stdout)["errors"][0]["reason"], table
