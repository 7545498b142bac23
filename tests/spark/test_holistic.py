"""Holistic aggregates on Spark: types, nulls, empty groups, filters, shared columns, predicates, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.errors import PythonException
from pyspark.sql import functions as F

from tests.harness.differential import differences
from tests.strategies.tables import SCHEMA, Shape, rows_of
from weft import Loom
from weft.aggregates.sketches import marked
from weft.errors import QueryError, RefusedError, RunError
from weft.final.bags import BY_MONOID, Bag, BagLane
from weft.optimize import predicates

W = "window(ts, '10 minutes', '3 minutes')"
NUMBERS = ("t", "n", "f", "x", "d")
COLUMNS = (("t", "n", "w", "s"), ("f", "x", "b"), ("d", "day", "at", "nt"))
FUNCTIONS = (
    "count(DISTINCT {})", "mode({}, true)", "sort_array(collect_list({}))", "sort_array(collect_set({}))",
    "approx_count_distinct({})",
)
# Where there are NaN, percentile_approx in Spark hangs on how rows are parted.
ORDER = ("median({0})", "percentile({0}, array(0, 0.3, 0.5, 1))", "approx_percentile({1}, 0.5, 100000)",
         "percentile_approx({1}, array(0, 0.3, 0.5, 1))")


@pytest.fixture(scope="module")
def table(spark):
    """Rows of every type with nulls, NaN, infinities and zeros of both signs."""
    shape = Shape(rows=250, span=7_200, origin=0, keys=3, nulls=0.2, odd=0.3, gap=True, seed=5)
    return spark.createDataFrame(rows_of(shape), SCHEMA).cache()


@pytest.fixture
def loom(spark, table, interpreted):
    """A loom over that table, Spark's code generation off: compiling takes far longer than running."""
    made = Loom(spark)
    made.source("t", table, time="ts")
    yield made
    made.close()


def calls(column: str) -> list[str]:
    """Every function that takes the column."""
    functions = (*FUNCTIONS, *ORDER) if column in NUMBERS else FUNCTIONS
    known = f"IF(isnan({column}), NULL, {column})" if column in ("f", "x") else column
    return [function.format(column, known) for function in functions]


def test_every_type_gives_sparks_own_rows(loom):
    """Queries of a few types each, all over the same keys and window, so that they share one scan."""
    for i, columns in enumerate(COLUMNS):
        items = [call for column in columns for call in calls(column)]
        listed = ", ".join(f"{call} AS a{j}" for j, call in enumerate(items))
        loom.query(f"q{i}", f"SELECT k, window.start, {listed} FROM t GROUP BY k, {W}")
    assert len(loom.plan().scans) == 1
    assert differences(loom) == []


def test_filters_predicates_and_several_arguments(loom):
    """Filters and predicates leave windows without values, where counts are 0, lists empty and the rest null."""
    items = ("count(DISTINCT k, x) AS a, median(x) FILTER (WHERE x > 6000) AS b, sort_array(collect_set(s)) AS c, "
             "count(DISTINCT n) FILTER (WHERE b) AS d, mode(day, true) FILTER (WHERE b) AS e, count(*) AS n, "
             "sort_array(collect_list(addr) FILTER (WHERE i > 0)) AS f, percentile(i, 0.25D) AS g, max(i) AS h, "
             "approx_count_distinct(i, 0.2) FILTER (WHERE t > 0) AS i, CAST(percentile_approx(w, 0.3) AS DOUBLE) AS j")
    for i, where in enumerate(("", "WHERE b", "WHERE t < 0 AND s IS NOT NULL")):
        loom.query(f"q{i}", f"SELECT g, window, {items} FROM t {where} GROUP BY g, {W}")
    loom.query("all", f"SELECT window.end, {items}, count(DISTINCT g) + median(i) AS z FROM t GROUP BY {W} "
                      f"HAVING count(DISTINCT s) > 1")
    assert differences(loom) == []


def test_predicates_share_by_shards(loom, monkeypatch):
    """Shards of a slice are merged by Spark: bags by joining them, sets by joining and thinning them."""
    monkeypatch.setattr(predicates, "most_filtered", lambda *_: 10)
    for i in range(3):
        loom.query(f"q{i}", f"SELECT k, window.start, median(n) AS a, count(DISTINCT t) AS b, mode(g, true) AS c, "
                            f"percentile_approx(n, 0.9) AS d, sort_array(collect_set(b)) AS e FROM t "
                            f"WHERE t > {50 * i - 60} GROUP BY k, {W}")
    assert "rows are grouped by which" in str(loom.explain())
    assert differences(loom) == []


def test_equal_bags_are_one_column(loom):
    """Aggregates of one argument keep one column, and the median is a percentile."""
    loom.query("a", f"SELECT median(x), mode(x), percentile(x, 0.9) FROM t GROUP BY {W}")
    loom.query("b", f"SELECT percentile(x, array(0.5, 0.9)), array_agg(x), approx_percentile(x, 0.5) AS p FROM t "
                    f"GROUP BY {W}")
    loom.query("c", f"SELECT count(DISTINCT s), size(collect_set(s)) FROM t GROUP BY {W}")
    explained = loom.explain(algorithm="chain").to_dict()
    (scan,) = explained["scans"]
    assert scan["components"] == [
        "percentile(x, 0.5)", "mode(x)", "percentile(x, 0.9)", "collect_list(x)", "percentile_approx(x, 0.5, 10000)",
        "count(DISTINCT s)", "collect_set(s)",
    ]
    assert scan["trees"][0]["algorithms"] == {
        "percentile(x, 0.5)": "wavelet", "mode(x)": "envelope", "percentile(x, 0.9)": "wavelet",
        "collect_list(x)": "gather", "percentile_approx(x, 0.5, 10000)": "wavelet", "count(DISTINCT s)": "repeats",
        "collect_set(s)": "gather",
    }
    assert [column.sql for column in loom.plan().stages.root.stage.columns] == ["collect_list(x)", "collect_set(s)"]


SIZES = (0, 1, 2, 3, 5, 8, 13, 20, 35, 60, 80, 100, 150, 220, 300, 390, 410, 500, 700, 900, 1000, 1280, 1500, 2000,
         2560, 3500, 5000, 8000, 20000)
DEVIATIONS = {4: 0.39, 5: 0.25, 6: 0.15, 9: 0.05, 12: 0.02}


def test_approximate_counts_are_sparks_own_for_any_size(spark):
    """From nothing to 20,000 distinct values, with few registers and many: through linear counting and every bias."""
    sizes = spark.createDataFrame(list(enumerate(SIZES)), "g int, n int")
    rows = sizes.selectExpr("g", "explode(sequence(0, n)) AS j", "n").selectExpr(
        "g", "IF(j = n, NULL, CAST(j * 7919L + g * 1000003L AS STRING)) AS v")
    theirs = [F.expr(f"approx_count_distinct(v, {deviation}) AS a{bits}") for bits, deviation in DEVIATIONS.items()]
    states = [F.expr(f"collect_set({marked('v', bits)}) AS c{bits}") for bits in DEVIATIONS]
    found = rows.groupBy("g").agg(*theirs, *states).toArrow().sort_by("g")
    first = np.arange(len(SIZES))
    for bits in DEVIATIONS:
        lane = BagLane(BY_MONOID["registers"], (bits,), Bag.of(found[f"c{bits}"].combine_chunks()))
        (ours,), _ = lane.over(slice(0, len(SIZES)))(first, first + 1)
        assert ours.to_pylist() == found[f"a{bits}"].to_pylist()


REFUSED = [
    ("approx_count_distinct(x, 0.001)", "0.0022 to 0.39"),
    ("approx_count_distinct(x, i)", "double literal"),
    ("percentile(x, 1.5)", "1.5"),
    ("percentile(x, i)", "percentage"),
    ("percentile(x, 1 / 2)", "written out"),
    ("percentile(x, array(0.1, NULL))", "ARRAY<DOUBLE>"),
    ("percentile(x, 0.5, 2)", "frequencies"),
    ("percentile_approx(x, 0.5, 10 * 10)", "accuracy"),
    ("mode(x, 1 = 1)", "true or false"),
    ("median(b)", "median"),
    ("collect_set(tags)", "array<string> does not run"),
    ("count(DISTINCT addr)", "count(DISTINCT addr) over struct"),
    ("collect_list(map(k, x))", "map<string,double> does not run"),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_what_does_not_run_is_refused(loom, call, word):
    """A sentence with the query's name and the place, and nothing registered."""
    with pytest.raises(QueryError) as caught:
        loom.query("q", f"SELECT {call} FROM t GROUP BY {W}")
    assert word in str(caught.value) and "query 'q'" in str(caught.value)
    assert loom.queries == ()


def test_a_bound_on_values_is_kept(spark, table):
    """A query that must break the bound is refused once its source is measured; a worker that meets more says so."""
    loom = Loom(spark, max_bag_values=50)
    loom.source("t", table, time="ts")
    median = f"SELECT median(x) FROM t GROUP BY {W}"
    loom.query("early", median)
    with pytest.raises(PythonException, match=r"max_bag_values"):
        loom.run()["early"].collect()
    said = r"^percentile\(x, 0.5\) keeps .* max_bag_values higher .* Nothing was written\.$"
    with pytest.raises(RunError, match=said):
        loom.run("noop")
    loom.query("counted", f"SELECT count(*) FROM t GROUP BY {W}")
    loom.measure(["counted"])
    with pytest.raises(RefusedError, match=r"percentile\(x, 0.5\) keeps every value.*250 rows.*max_bag_values"):
        loom.query("late", median)
    loom.query("thinned", f"SELECT median(x) FILTER (WHERE b) FROM t GROUP BY {W}")
    assert [q.name for q in loom.queries] == ["early", "counted", "thinned"]
    loom.close()
