"""Every final algorithm on Spark: forced, it gives Spark's own rows; where it must not fold, the plan says why."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from weft import Loom
from weft.errors import PlanError
from weft.final.algorithms import ALGORITHMS
from weft.final.choose import folding
from weft.spark.batch.verify import compare_tables, number_columns

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "ts timestamp, symbol string, price double, volume bigint, amount decimal(30,2), ok boolean"
ROWS = 400
# Whatever a component may be made of: exact sums of one field and of several, sums that round, selections, moments.
CALLS = ("sum(volume)", "sum(amount)", "avg(price)", "max(price)", "min(symbol)", "max(volume)",
         "max_by(symbol, price)", "bool_or(ok)", "bit_xor(volume)", "stddev(price)", "corr(price, volume)",
         "count(price)")
ONE = ["'7 minutes', '2 minutes'"]  # no multiple of its slide
TWO = [*ONE, "'12 minutes', '2 minutes'"]


@pytest.fixture(scope="module")
def trades(spark):
    """Rows of three keys with gaps, nulls, a spike and an infinity."""
    def price(i: int) -> float | None:
        return None if i % 11 == 0 else {150: 1e16, 250: float("inf")}.get(i, 100.0 + i * 7 % 13)

    rows = [(NOON + dt.timedelta(seconds=40 * i + (3600 if i > 300 else 0)), "ABC"[i * i % 3], price(i), i * 31 % 17,
             Decimal(10**24 + i), i % 5 == 0) for i in range(ROWS)]
    return spark.createDataFrame(rows, SCHEMA).cache()


def ask(loom, calls, windows):
    """A query for each window."""
    items = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
    for i, window in enumerate(windows):
        loom.query(f"q{i}", f"SELECT symbol, window.start, {items} FROM trades GROUP BY symbol, window(ts, {window})")


def components_of(loom, call):
    """What a call is made of."""
    name = f"probe_{len(loom.queries)}"
    query = loom.query(name, f"SELECT {call} FROM trades GROUP BY window(ts, '1 minute')")
    return loom.plan([query.name]).scans[0].components


@pytest.fixture(scope="module")
def parts(spark, trades):
    """The components of every call."""
    loom = Loom(spark)
    loom.source("trades", trades, time="ts")
    yield {call: components_of(loom, call) for call in CALLS}
    loom.close()


@pytest.fixture(scope="module")
def native(spark, trades):
    """Spark's own rows of every call, for each window."""
    loom = Loom(spark)
    loom.source("trades", trades, time="ts")
    ask(loom, CALLS, TWO)
    yield {query.name: number_columns(loom.native(query.name)).toArrow() for query in loom.queries}
    loom.close()


def foldable(algorithm, parts):
    """The calls all of whose components the algorithm may fold."""
    return [call for call, components in parts.items()
            if all(algorithm.supports(*folding(c), [2]) is None for c in components)]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
def test_a_forced_algorithm_gives_sparks_own_rows(loom, parts, native, algorithm):
    if algorithm.missing:
        pytest.skip(algorithm.missing)
    calls = foldable(algorithm, parts)
    assert calls
    ask(loom, calls, ONE if algorithm.card.multi is None else TWO)
    places = [0, 1, *(2 + CALLS.index(call) for call in calls)]  # behind the key and the window's start
    with loom.run(algorithm=algorithm.card.name) as results:
        for query in loom.queries:
            assert results[query.name].dtypes == loom.native(query.name).dtypes
            found, wanted = number_columns(results[query.name]).toArrow(), native[query.name].select(places)
            assert found.num_rows > 20
            assert compare_tables(found, wanted.rename_columns(found.column_names)) == [], query.name


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
def test_explain_names_the_algorithm_of_every_component(loom, parts, algorithm):
    if algorithm.missing:
        pytest.skip(algorithm.missing)
    calls, name = foldable(algorithm, parts), algorithm.card.name
    ask(loom, calls, ONE)
    plan = loom.explain(algorithm=name)
    (scan,) = plan.to_dict()["scans"]
    (tree,) = scan["trees"]
    # Rows are counted by prefix differences whatever is forced: they say which answers exist.
    assert tree["algorithms"] == {c: "prefix" if c == "count(1)" else name for c in scan["components"]}
    assert f" by {name}" in str(plan)


def test_functions_are_forced_apart(loom):
    ask(loom, ["sum(volume)", "max(price)", "min(price)"], TWO)
    forced = {"add": "recalc", "max": "disjoint"}
    (tree,) = loom.explain(algorithm=forced).to_dict()["scans"][0]["trees"]
    assert tree["algorithms"]["sum(volume)"] == "recalc" and tree["algorithms"]["max(price)"] == "disjoint"
    alone = loom.explain().to_dict()["scans"][0]["trees"][0]["algorithms"]
    assert tree["algorithms"]["min(price)"] == alone["min(price)"]
    assert "sum(volume) by recalc" in str(loom.explain(algorithm=forced))
    assert loom.verify(algorithm=forced).ok


def test_results_and_sinks_take_it_too(loom, tmp_path, spark):
    ask(loom, ["max(price)", "sum(volume)"], TWO)
    with loom.run(algorithm="disjoint") as results:
        assert sorted(map(tuple, results["q1"].collect())) == sorted(map(tuple, loom.run()["q1"].collect()))
    loom.run(sink=str(tmp_path), algorithm="block")
    assert spark.read.parquet(str(tmp_path / "q1")).count() == loom.native("q1").count()


def test_windows_far_apart_have_an_algorithm_each(loom):
    """Very long windows lie on a grid of their own, where another algorithm may be the cheapest."""
    ask(loom, ["avg(price)"], ["'4 minutes', '2 minutes'", "'100 days', '2 minutes'"])
    (tree,) = loom.explain().to_dict()["scans"][0]["trees"]
    assert tree["algorithms"]["sum(price)"].endswith("binary")
    with pytest.raises(PlanError, match="65536 slices, not 72000"):
        loom.plan(algorithm="chain")


REFUSED = {
    "doubles are not subtracted from": ("prefix", "avg(price)", ONE, "is not exact for add of float64"),
    "sums select nothing": ("slick_deque", "sum(volume)", ONE, "needs a selective function, and add of int64 is not"),
    "two ranges, one served": ("two_stacks", "max(volume)", TWO, "TwoStacks serves one range, not 2"),
    "sums are not idempotent": ("doubling", "sum(volume)", ONE, "needs an idempotent function"),
    "one function of several": ({"add": "chain", "moments": "prefix"}, "stddev(price)", ONE, "moments"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_must_not_be_is_refused_when_it_is_planned(loom, case):
    algorithm, call, windows, said = REFUSED[case]
    ask(loom, [call], windows)
    name = algorithm if isinstance(algorithm, str) else "prefix"
    for attempt in (loom.plan, loom.explain, loom.run, loom.verify):
        with pytest.raises(PlanError) as refused:
            attempt(algorithm=algorithm)
        assert str(refused.value).startswith(f"'{name}' cannot fold ") and said in str(refused.value)
        assert str(refused.value).endswith("leave the algorithm out and Weft chooses it.")


def test_names_that_there_are_not_are_refused(loom):
    ask(loom, ["sum(volume)"], ONE)
    with pytest.raises(PlanError, match="did you mean 'slick_deque'"):
        loom.plan(algorithm="slickdeque")
    with pytest.raises(PlanError, match="cannot force 'chain' for 'sum': did you mean 'add'"):
        loom.run(algorithm={"sum": "chain"})
