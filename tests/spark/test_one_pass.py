"""Slices that workers cut in one pass: the rows that Spark's own slices give, its errors, and the sizes it counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from tests.harness.differential import collect, compare
from tests.strategies.queries import related_queries
from tests.strategies.tables import SCHEMA, Shape, rows_of, shapes
from weft import Loom
from weft.catalog.statistics import Sizes
from weft.io.sinks import NoopSink
from weft.optimize.groupings import may_derive
from weft.spark.batch.run import build_parts
from weft.spark.session.session import temporary_settings
from weft.spark.stages.partitions import JOINS_KEPT, PARTITIONS, keep_rows, repartition_evenly
from weft.spark.statistics.observe import SizeObserver
from weft.spark.write import one_pass, write

ROWS = ("timestamp_seconds(1700000000 + 37 * (id * 7919 % 600)) AS ts", "concat('k', id % 4) AS k",
        "CAST(id % 3 AS INT) AS i", "IF(id % 5 = 0, NULL, CAST(id * 7919 % 701 AS DOUBLE)) AS v", "id % 11 AS n",
        "CASE id % 13 WHEN 0 THEN DOUBLE('NaN') WHEN 1 THEN -0D WHEN 2 THEN 0D ELSE CAST(id AS DOUBLE) END AS f",
        "CAST(id % 17 AS DECIMAL(10, 2)) AS d", "id % 6 AS zero_at_times", "IF(id % 7 = 0, NULL, id % 2 = 0) AS even")
SHORT, LONG = "window(ts, '10 minutes', '2 minutes')", "window(ts, '1 hour', '7 minutes')"
QUERIES_OF_ALL_KINDS = {
    "by_k": f"SELECT k, window.end AS at, avg(v) AS a, count(v) AS c, sum(n) AS s FROM t GROUP BY k, {SHORT}",
    "by_i": f"SELECT i, window.end AS at, max(v) AS m, stddev(v) AS d, max_by(n, ts) AS l FROM t GROUP BY i, {LONG}",
    "no_keys": f"SELECT window.end AS at, sum(d) AS d, avg(d) AS a, kurtosis(n) AS q FROM t GROUP BY {LONG}",
    "floats": f"SELECT f, window.end AS at, count(*) AS c, corr(v, n) AS r FROM t GROUP BY f, {LONG}",
    "guarded": "SELECT k, window.end AS at, sum(n / zero_at_times) AS s FROM t WHERE zero_at_times > 0 "
               f"GROUP BY k, {LONG}",
    "keyed": "SELECT n % zero_at_times AS r, window.end AS at, count(*) AS c FROM t WHERE zero_at_times > 0 "
             f"GROUP BY n % zero_at_times, {LONG}",
    "filtered": "SELECT k, window.end AS at, count(*) FILTER (WHERE even) AS c, bit_or(n) AS b, min(even) AS e "
                f"FROM t WHERE v > 100 GROUP BY k, {SHORT}",
}
SHARDS = {f"shard_{i}": f"SELECT k, window.end AS at, sum(n) AS s, max(v) AS m, count(*) AS c FROM t WHERE n > {i} "
                        f"AND v < {600 - 20 * i} GROUP BY k, {SHORT}" for i in range(8)}


def make_loom(spark, queries, **options):
    """A loom over rows that do not come in the order of time."""
    loom = Loom(spark, **options)
    loom.source("t", spark.range(900).selectExpr(*ROWS), time="ts")
    loom.add_queries(queries)
    return loom


def passes_of(loom):
    """The passes that a run to noop has."""
    plan = loom.plan()
    parts = build_parts(plan.stages, plan.context.slices)
    jobs = write.plan_jobs(loom.spark, plan.stages, parts, NoopSink())
    access = one_pass.RowAccess(plan.context.rows, plan.context.sources.whole_parquet, plan.context.known_rows)
    return one_pass.plan_passes(plan.stages, jobs, access, True)


def written(loom, folder):
    """The rows of all queries as they were written, with their schemas."""
    report = loom.run(sink=str(folder)).report
    frames = {line["query"]: loom.spark.read.parquet(line["path"]) for line in report}
    rows = collect(frames)
    return {name: (frame.schema, rows[name]) for name, frame in frames.items()}


def require_both_ways_equal(loom, tmp_path, monkeypatch):
    """Cut by workers or by Spark, the same rows are written."""
    mine = written(loom, tmp_path / "workers")
    with monkeypatch.context() as patch:
        patch.setattr(write, "plan_passes", lambda *_: [])
        other = written(loom, tmp_path / "spark")
    assert mine.keys() == other.keys()
    for name, (schema, rows) in mine.items():
        assert schema == other[name][0], name
        assert compare(name, rows, other[name][1]) == [], name


def test_all_scans_of_a_source_are_one_pass(spark, tmp_path, monkeypatch):
    """Other keys, cuts, predicates and types; expressions that would raise on rows of other queries."""
    with make_loom(spark, QUERIES_OF_ALL_KINDS) as loom:
        [found] = passes_of(loom)
        assert len(found.scans) == len(loom.plan().stages.roots) > 3
        require_both_ways_equal(loom, tmp_path, monkeypatch)


def test_shards_are_cut_by_workers(spark, tmp_path, monkeypatch):
    """Marks come from Spark, and keep slices apart."""
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: 0)
    with make_loom(spark, SHARDS | {"by_i": QUERIES_OF_ALL_KINDS["by_i"]}) as loom:
        [found] = passes_of(loom)
        assert any(scan.root.marks for scan in found.scans)
        require_both_ways_equal(loom, tmp_path, monkeypatch)


def test_derived_groupings_are_merged_in_workers(spark, tmp_path, monkeypatch):
    """A coarser grouping that reads a finer one's slices is one more grouping of the pass."""
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    queries = {f"by_{number}": f"SELECT {keys}, window.end AS at, sum(n) AS s, max(v) AS m, stddev(v) AS d FROM t "
                               f"GROUP BY {keys}, {LONG}" for number, keys in enumerate(("k, i", "k", "i"))}
    with make_loom(spark, queries) as loom:
        [found] = passes_of(loom)
        assert [len(scan.groupings) for scan in found.scans] == [3]
        require_both_ways_equal(loom, tmp_path, monkeypatch)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("columns", [10_000, 0], ids=["filters", "shards"])
def test_random_queries_that_share_all_they_may(request, spark, tmp_path_factory, monkeypatch, columns):
    """Whatever workers cut of random queries over random tables, the rows are Spark's own."""
    monkeypatch.setattr("weft.optimize.predicates.FINER", 1000)
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: columns)
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    monkeypatch.setattr(one_pass.OnePass, "is_cheaper", lambda *_: True)
    cut: list[int] = []
    run = one_pass.OnePass.run
    monkeypatch.setattr(one_pass.OnePass, "run", lambda self, targets: cut.append(1) or run(self, targets))

    @settings(max_examples=max(3, request.config.getoption("--cases") // 33),
              phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(shape=shapes(), texts=st.lists(related_queries(), min_size=6, max_size=6, unique=True))
    def check(shape: Shape, texts: list[str]) -> None:
        with Loom(spark) as loom:
            loom.source("t", spark.createDataFrame(rows_of(shape), SCHEMA), time="ts")
            loom.add_queries({f"q{i}": text for i, text in enumerate(texts)})
            found = written(loom, tmp_path_factory.mktemp("answers"))
            native = collect({name: loom.native(name) for name in found})
            for name, (_, rows) in found.items():
                assert compare(name, rows, native[name]) == [], texts

    check()
    assert cut


def test_spark_raises_its_own_error(spark, tmp_path):
    """A row on which a lift raises: nothing is written, and the error is Spark's."""
    sql = f"SELECT k, window.end AS at, sum(n / zero_at_times) AS s FROM t GROUP BY k, {LONG}"
    with make_loom(spark, {"bad": sql, "good": QUERIES_OF_ALL_KINDS["by_i"]}) as loom:
        assert passes_of(loom)
        with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
            loom.run(sink=str(tmp_path / "out"))
        assert not (tmp_path / "out" / "good").exists()


def test_sizes_are_those_that_spark_counts(spark, tmp_path, monkeypatch):
    """What a store learns of slices does not depend on who cuts them, but that Spark only estimates the keys."""
    queries = {name: QUERIES_OF_ALL_KINDS[name] for name in ("by_k", "by_i", "no_keys", "filtered")}
    told: list[list[Sizes]] = []
    sizes = SizeObserver.sizes
    monkeypatch.setattr(SizeObserver, "sizes", lambda self: told.append(sizes(self)) or told[-1])
    for way in ("workers", "spark"):
        if way == "spark":
            monkeypatch.setattr(write, "plan_passes", lambda *_: [])
        with make_loom(spark, queries, store=str(tmp_path / way)) as loom:
            loom.run(sink="noop")
    keys = {("k",): 4.0, ("i",): 3.0, (): 1.0}
    by_workers, by_spark = ({(stage.keys, number): replace(found, keys=0.0) for stage, number, found in each}
                            for each in told)
    assert by_workers == by_spark
    assert all(found.keys == keys[stage.keys] for stage, _, found in told[0])


def test_slices_that_only_others_are_derived_from(spark, tmp_path, monkeypatch):
    """A grouping that nobody asks for is counted by nobody, and a run with a store does not wait for its size."""
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    monkeypatch.setattr("weft.optimize.groupings.union_gain", lambda *_: 1.0)
    monkeypatch.setattr(one_pass.OnePass, "is_cheaper", lambda *_: True)
    queries = {f"by_{keys}": f"SELECT {keys}, window.end AS at, sum(n) AS s FROM t GROUP BY {keys}, {LONG}"
               for keys in ("k", "i")}
    with make_loom(spark, queries, store=str(tmp_path / "store")) as loom:
        (found,) = passes_of(loom)
        assert [stage.keys for scan in found.scans for stage in scan.unread] == [("k", "i")]
        found = written(loom, tmp_path / "answers")
        native = collect({name: loom.native(name) for name in found})
        assert all(compare(name, rows, native[name]) == [] for name, (_, rows) in found.items())


@pytest.mark.parametrize("partitions, tasks", [("8", 8), ("9", 1)])
def test_spark_joins_no_partitions_of_workers_where_these_are_few(spark, partitions, tasks):
    with temporary_settings(spark, {PARTITIONS: partitions, "spark.sql.adaptive.enabled": "true"}):
        rows = repartition_evenly(spark.range(1000), "id").selectExpr("spark_partition_id() AS task")
        assert len({row["task"] for row in rows.collect()}) == tasks


def test_kept_rows_lie_in_few_partitions(spark):
    """Whatever the session says of moved rows; its settings stay as they are."""
    (name,) = JOINS_KEPT
    before = spark.conf.get(name)
    with temporary_settings(spark, {PARTITIONS: "60", "spark.sql.adaptive.enabled": "true"}):
        kept = keep_rows(spark.range(1000).groupBy("id").count())
        try:
            assert len({row["task"] for row in kept.selectExpr("spark_partition_id() AS task").collect()}) < 10
        finally:
            kept.unpersist()
    assert spark.conf.get(name) == before
