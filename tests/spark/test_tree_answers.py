"""Several projections of one tree: written results, whose answers are folded once, equal each query asked alone."""

from __future__ import annotations

import pytest

from tests.harness.differential import compare
from weft import Loom
from weft.model.stages import FinalStage
from weft.spark.batch.run import build_parts, share_answers
from weft.spark.stages.partial import run_partial

WINDOWS = ("'10 minutes', '2 minutes'", "'30 minutes', '2 minutes'", "'7 minutes', '4 minutes'")
CALLS = ("avg(v) AS a", "max(v) AS h, count(*) AS n", "min_by(s, v) AS f, sum(n) AS t", "count(v) AS c",
         "median(v) AS m, max(s) AS l", "sort_array(collect_list(n)) AS x", "sum(d) AS d, stddev(v) AS s",
         "count(DISTINCT n) AS u, bool_or(v > 600) AS b")
ROWS = ("timestamp_seconds(1700000000 + 37 * id + id % 7) AS ts", "concat('k', id % 4) AS k", "id % 11 AS n",
        "IF(id % 5 = 0, NULL, CAST(id * 7919 % 701 AS DOUBLE)) AS v", "IF(id % 9 = 0, NULL, concat('s', id % 13)) AS s",
        "CAST(id % 17 AS DECIMAL(10, 2)) AS d")


def rows_of(spark):
    return spark.range(700).selectExpr(*ROWS)


@pytest.fixture(autouse=True, params=["workers", "spark"])
def makers(request, monkeypatch):
    """Who makes the output rows: workers what they can, or Spark all of them."""
    if request.param == "spark":
        monkeypatch.setattr("weft.spark.write.write.plan_jobs", lambda *_: [])


@pytest.fixture
def loom(spark):
    made = Loom(spark)
    made.source("t", rows_of(spark), time="ts")
    yield made
    made.close()


def add_queries(loom, predicates, keys="k"):
    """Every projection over some windows and predicates, never all of both."""
    for i, calls in enumerate(CALLS):
        for j, window in enumerate(WINDOWS):
            where = predicates[(i + j) % len(predicates)]
            if (i + j) % 4:
                named = f"{keys}, " if keys else ""
                loom.query(f"q{i}_{j}", f"SELECT {named}window.start AS at, {calls} FROM t {where} "
                                        f"GROUP BY {named}window(ts, {window})")


def require_equal(loom, folder):
    """What is written equals what each query gives alone, folded for itself."""
    loom.run(sink=str(folder))
    with loom.run() as lazy:
        for name in lazy:
            mine, alone = loom.spark.read.parquet(str(folder / name)), lazy[name]
            rows = [[list(row) for row in frame.collect()] for frame in (mine, alone)]
            assert rows[0] and compare(name, *rows) == []


@pytest.mark.parametrize(("predicates", "most"), [
    (("",), 40), (("", "WHERE v > 300", "WHERE n % 3 = 0"), 1000),
    pytest.param(("", "WHERE v > 300", "WHERE n % 3 = 0"), 1, marks=pytest.mark.long),
    pytest.param(("WHERE v > 300", "WHERE n % 3 = 0 AND v IS NOT NULL"), 1, marks=pytest.mark.long)])
def test_answers_folded_once_equal_those_folded_for_each(loom, tmp_path, monkeypatch, predicates, most):
    """Without predicates, by filters and by shards."""
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    add_queries(loom, predicates)
    require_equal(loom, tmp_path / "out")


def test_answers_without_keys_and_of_derived_groupings(loom, tmp_path):
    add_queries(loom, ("",), keys="")
    loom.query("fine", f"SELECT k, n, max(v) AS h FROM t GROUP BY k, n, window(ts, {WINDOWS[0]})")
    require_equal(loom, tmp_path / "out")


def test_a_tree_is_folded_once_for_what_is_asked(loom):
    add_queries(loom, ("", "WHERE v > 300"))
    plan = loom.plan(optimizer="share_all")
    graph = plan.stages
    parts = share_answers(graph, build_parts(graph, lambda node: run_partial(rows_of(loom.spark), node.stage)))
    trees = {id(part.tree): part.tree for part in parts.values() if part.tree is not None}
    several = [node for node in graph.of(FinalStage) if len(graph.answers(node.id)) > 1]
    assert len(trees) == len(several) >= 1
    for tree in trees.values():
        asked = sum(len(fold.components) for fold in tree.final.asked)
        everything = len(tree.final.windows) * len(tree.final.components) * max(1, len(tree.final.predicates))
        assert 0 < asked < everything
