"""Joins in batch: random joins against Spark's own join and aggregation, every way to make one against an oracle."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.harness.differential import require_equal
from tests.harness.join_oracle import joined_rows
from tests.strategies.join_queries import FIRMS, NAMES, SCHEMA, JoinTables, firms_of, join_queries, join_tables, rows_of
from weft import Loom
from weft.errors import RunError
from weft.model.join import JoinMethod, JoinStep
from weft.spark.stages.join import join_rows

W = "GROUP BY t0.k, window(t0.ts, '5 minutes', '1 minute')"
ON = "t0.k = t1.k AND t1.ts BETWEEN t0.ts - INTERVAL '30' SECOND AND t0.ts + INTERVAL '10' SECOND"
CHAIN = ("SELECT count(*) AS c FROM a t0 JOIN b t1 ON t0.k = t1.k AND t1.ts BETWEEN t0.ts - INTERVAL 30 SECONDS AND "
         "t0.ts JOIN c t2 ON t2.k = t1.k AND t2.g = t1.g AND t2.ts BETWEEN t1.ts AND t1.ts + INTERVAL 120 SECONDS "
         "JOIN firms f ON f.k = t2.k GROUP BY window(t0.ts, '5 minutes')")


def make_loom(spark, tables: JoinTables) -> Loom:
    """A loom over four streams and a table."""
    loom = Loom(spark)
    for number, name in enumerate(NAMES):
        loom.source(name, spark.createDataFrame(rows_of(tables, number), SCHEMA), time="ts")
    loom.source("firms", spark.createDataFrame(firms_of(tables), FIRMS))
    return loom


@pytest.fixture
def loom(spark):
    """A loom over tables of some dozens of rows."""
    made = make_loom(spark, JoinTables(40, 40, 3, 0.1, 7))
    yield made
    made.close()


@pytest.mark.usefixtures("interpreted")
def test_random_joins_give_sparks_own_rows(spark, request):
    """Joins of two to four streams and a table, however they are written, give the rows, names and types of Spark."""

    @settings(max_examples=max(2, round(request.config.getoption("--cases") * 0.04)),
              phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(tables=join_tables(), texts=st.lists(join_queries(), min_size=3, max_size=3, unique=True))
    def check(tables: JoinTables, texts: list[str]) -> None:
        require_equal(make_loom(spark, tables), texts, tables)

    check()


@pytest.mark.usefixtures("interpreted")
def test_every_order_and_all_bins_give_the_same_rows(spark, loom):
    """Whatever is joined first, with bins or without, and whichever side lies in two of them."""
    join = loom.query("q", CHAIN).join
    frames = {name: spark.table(loom._context.checker._views[name]).cache() for name in join.sources}
    tables = {name: [row.asDict() for row in frame.collect()] for name, frame in frames.items()}
    expected = sorted(map(repr, (list(row.values()) for row in joined_rows(join, tables))))
    assert len(expected) > 20
    for order in permutations(range(4)):
        if any(number not in join.linked(order[:i]) for i, number in enumerate(order) if i):
            continue
        for copied in (None, True, False):
            steps = tuple(step(join, order[:i], number, copied) for i, number in enumerate(order) if i)
            found = join_rows(join, frames, JoinMethod(order[0], steps)).collect()
            assert sorted(map(repr, map(list, found))) == expected, (order, copied)


def step(join, met, number, copied) -> JoinStep:
    """A step with bins of the time of the last stream before it, where there is one."""
    streams = [other for other in met if other in join.streams]
    if copied is None or number not in join.streams or not streams:
        return JoinStep(number)
    partner = streams[-1]
    width = int(join.reach[number][partner] + join.reach[partner][number])
    return JoinStep(number, partner, max(width, 1), copied)


def test_hot_keys_are_joined_in_bins(spark, monkeypatch):
    """Samples tell that one key has all rows; the plan says so, and the rows are Spark's."""
    monkeypatch.setattr("weft.spark.statistics.join_samples.FEW", 0)
    with Loom(spark) as loom:
        for seed, name in enumerate("ab"):
            rows = spark.range(1000).selectExpr(f"timestamp_seconds(1700000000 + pmod(hash(id, {seed}), 36000)) AS ts",
                                                "'k' AS k", "id AS n")
            loom.source(name, rows, time="ts")
        loom.query("q", f"SELECT t0.k, sum(t1.n) AS s, count(*) AS c FROM a t0 JOIN b t1 ON {ON} {W}")
        plan = loom.plan()
        assert plan.explain().to_dict()["scans"][0]["join"]["bins"] == {"b": "40 s"}
        assert "b in bins of 40 s" in str(plan)
        assert plan.verify().ok


def test_queries_over_equal_joins_share_one(loom):
    """However they are written: the plan reads one join, and says who shares it."""
    loom.query("one", f"SELECT t0.k, sum(t1.x) AS s FROM a t0 JOIN b t1 ON {ON} {W}")
    loom.query("two", f"SELECT t0.k, max(t0.n) AS m FROM b t1, a t0 WHERE {ON} AND t0.x > 0 {W}")
    loom.query("three", f"SELECT t0.k, count(*) FROM a t0 [RANGE 10 s], b t1 [RANGE 30 s] WHERE t0.k = t1.k {W}")
    plan = loom.plan()
    (scan,) = plan.explain().to_dict()["scans"]
    assert set(scan["join"]["queries"]) == {"one", "two", "three"}
    assert [each["source"] for each in scan["join"]["inputs"]] == ["a", "b"]
    assert "shared by 3 queries" in str(plan)
    assert "a ⋈ b" in plan.explain().to_html()
    assert [node.kind for node in plan.stages][:3] == ["Read", "Read", "Join"]
    fewer = loom.plan(["one", "two"])
    assert plan.diff(fewer).nodes.kept[:3] == tuple(node.id for node in plan.stages)[:3]
    assert loom.verify().ok


def test_joins_are_written_by_workers_and_read_back(spark, loom, tmp_path):
    """A folder of Parquet has the rows that Spark's own query gives."""
    loom.query("one", f"SELECT t0.k, sum(t1.n) AS s, count(*) AS c FROM a t0 JOIN b t1 ON {ON} {W}")
    loom.run(str(tmp_path / "out"))
    found = spark.read.parquet(str(tmp_path / "out/one")).select("k", "s", "c")
    assert sorted(map(repr, found.collect())) == sorted(map(repr, loom.native("one").collect()))


def test_new_files_of_an_input_are_read(spark, tmp_path):
    """A run joins the files that are there when it runs."""
    path, tables = str(tmp_path / "a"), JoinTables(30, 10, 2, 0.0, 3)
    spark.createDataFrame(rows_of(tables, 0), SCHEMA).write.parquet(path)
    with Loom(spark) as loom:
        loom.source("a", path, time="ts")
        loom.source("b", spark.createDataFrame(rows_of(tables, 1), SCHEMA), time="ts")
        loom.query("q", f"SELECT t0.k, count(*) AS c FROM a t0 JOIN b t1 ON {ON} {W}")
        before = sum(row.c for row in loom.run()["q"].collect())
        spark.createDataFrame(rows_of(tables, 2), SCHEMA).write.mode("append").parquet(path)
        after = sum(row.c for row in loom.run()["q"].collect())
        assert after > before
        assert loom.verify().ok


def test_a_source_of_a_join_can_be_replaced(spark, loom):
    """The join is made anew; where the query does not fit, all stays as it was, and an old plan does not run."""
    loom.query("q", f"SELECT t0.k, sum(t1.n) AS s FROM a t0 JOIN b t1 ON {ON} {W}")
    plan = loom.plan()
    with pytest.raises(Exception, match="is not replaced"):
        loom.source("b", spark.createDataFrame([], "ts timestamp, k string"), time="ts", replace=True)
    assert loom.verify().ok
    plan.run()["q"].count()
    loom.source("b", spark.createDataFrame([], SCHEMA), time="ts", replace=True)
    assert loom.run()["q"].count() == 0
    with pytest.raises(Exception, match="replaced since"):
        plan.run()


def test_incremental_runs_refuse_joins(spark, tmp_path):
    """Nobody keeps a join, and the sentence says what to do."""
    with Loom(spark, store=tmp_path / "store") as loom:
        for number, name in enumerate("ab"):
            loom.source(name, spark.createDataFrame(rows_of(JoinTables(3, 3, 1, 0, 1), number), SCHEMA), time="ts")
        loom.query("q", f"SELECT t0.k, count(*) FROM a t0 JOIN b t1 ON {ON} {W}")
        assert loom.run()["q"].count() >= 0
        with pytest.raises(RunError, match="cannot answer q: a join"):
            loom.run(incremental=True)
