"""Drop boxes below joins: weights that multiply, errors by sketches, keys where legal, and what is refused."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from pyspark.sql import functions as F

from weft import Loom
from weft.aggregates.joined import BOTH, SIGNS, SKETCHES, TURN, Parts, pair_columns, variance_sql
from weft.aggregates.weighted import FEWEST_KEPT, WEIGHT, added
from weft.cost.shedding.join_variance import JoinedPair, join_estimate
from weft.errors import QueryError, RunError

ON = "t.k = q.k AND q.ts BETWEEN t.ts - INTERVAL '5' MINUTE AND t.ts + INTERVAL '5' MINUTE"
CALLS = ("count(*)", "sum(q.x * t.x)", "avg(q.x)", "count_if(q.x > 3)")
ITEMS = ", ".join(f"{call} AS v{i}, error({call}) AS e{i}" for i, call in enumerate(CALLS))
TEXT = "SELECT {0} AS g, window.start AS at, {1} FROM trades t JOIN quotes q ON " + ON + \
       " GROUP BY {0}, window(t.ts, '10 minutes')"
BY_VENUE = TEXT.format("t.venue", ITEMS)
PLAIN = TEXT.format("t.venue", "count(*) AS v0, sum(q.x * t.x) AS v2, avg(q.x) AS v3")
LIGHT = TEXT.format("t.venue", "count(*) AS v0, sum(q.x * t.x) AS v2, error(count(*)) AS e2")


@pytest.fixture(scope="module")
def folder(spark, tmp_path_factory):
    """Two sources of 4,000 rows and 500 keys in twenty minutes."""
    path = tmp_path_factory.mktemp("joined")
    for seed, name in enumerate(("trades", "quotes")):
        spark.range(4000).selectExpr(
            "timestamp_millis(1700000000000 + id * 300) AS ts", f"concat('k', pmod(hash(id, {seed}), 500)) AS k",
            "IF(id % 2 = 0, 'v', 'w') AS venue",
            f"IF(id % 13 = 0, NULL, exp(pmod(hash(id), {700 + seed}) / 400.0D)) AS x",
        ).repartition(2).sortWithinPartitions("ts").write.parquet(str(path / name))
    return path


def loom_over(spark, folder, text: str = BY_VENUE, drop=(0.0, 0.0), shed=None) -> Loom:
    """A loom of one query over the join."""
    loom = Loom(spark)
    for name, share in zip(("trades", "quotes"), drop, strict=True):
        loom.source(name, str(folder / name), time="ts", drop=share, watermark="0 seconds")
    loom.query("q", text, shed=shed)
    return loom


def test_every_sample_by_its_sketches_gives_the_variance_of_the_paper(spark):
    """All sixteen samples of two rows a side, every second kept, of pairs of ones: 20 on average, and each as by the
    formula. Sixteen sketches have all signs of four rows, so that their average is exact."""
    assert SKETCHES == 16
    rows = []
    for sample, kept in enumerate(product((0, 2), repeat=4)):
        signs = [sum(1 << r for r in range(16) if r >> unit & 1) for unit in range(4)]
        rows += [(sample, kept[a], signs[a], kept[2 + b], signs[2 + b]) for a in range(2) for b in range(2)
                 if kept[a] and kept[2 + b]]
    frame = spark.createDataFrame(rows, "sample int, wa bigint, sa bigint, wb bigint, sb bigint")
    weighed = frame.select("sample", *(F.expr(sql).alias(name) for name, sql in
                                       pair_columns([("wa", "sa"), ("wb", "sb")]).items()))
    parts = Parts()
    turns, both = parts.sketches(lambda factor: factor, "", "rows"), parts.put(added(BOTH, "", "double", "both"))
    sums = [F.expr(component.columns[0]).alias(f"c{i}") for i, component in enumerate(parts.made)]
    formula = variance_sql(turns, both).format(*(f"c{i}" for i in range(len(sums))))
    found = {row["sample"]: row for row in weighed.groupBy("sample").agg(F.sum(WEIGHT).alias("n"), *sums).select(
        "sample", "n", F.expr(formula).alias("v")).collect()}
    assert sum(row["n"] for row in found.values()) / 16 == 4
    assert sum(row["v"] for row in found.values()) / 16 == pytest.approx(20)
    for sample, kept in enumerate(product((0, 2), repeat=4)):
        pairs = [JoinedPair(a, b, kept[a], kept[2 + b], 1.0) for a in range(2) for b in range(2)
                 if kept[a] and kept[2 + b]]
        assert not pairs or (found[sample]["n"], pytest.approx(found[sample]["v"])) == join_estimate(pairs)


VALUES = (lambda t, q: 1.0, lambda t, q: None if None in (t, q) else t * q, lambda t, q: q,
          lambda t, q: 1.0 if q is not None and q > 3 else None)


def expected(rows: list, call: str, value) -> tuple[float | None, float | None]:
    """An estimate and its error, by the joined rows themselves."""
    brought = [(row, value(row["trades.x"], row["quotes.x"])) for row in rows]
    brought = [(row, v) for row, v in brought if v is not None]
    number, total = sum(r[WEIGHT] for r, _ in brought), sum(r[WEIGHT] * v for r, v in brought)
    mean = total / number if number and call.startswith("avg") else 0.0

    def variance(values) -> float:
        squares = [sum(r[TURN.format(i)] * v for r, v in values) ** 2 for i in range(SKETCHES)]
        return sum(squares) / SKETCHES - sum(r[BOTH] * v * v for r, v in values)

    rough, found = variance([(r, 1.0) for r, _ in brought]), variance([(r, v - mean) for r, v in brought])
    told = brought and found >= 0 and rough * FEWEST_KEPT <= number * number
    error = sqrt(found) / (number if call.startswith("avg") else 1) if told else None
    return (mean if call.startswith("avg") else total), error


@pytest.mark.parametrize(("drop", "words"), [
    ((0.4, 0.4), "keys of quotes 60 %, trades 60 %"), ((0.5, 0.1), "of quotes 90 %, of trades 50 %"),
    ((0.0, 0.75), "of quotes 25 %")])
def test_answers_and_errors_are_those_of_the_weighed_pairs(spark, folder, drop, words):
    with loom_over(spark, folder, BY_VENUE, drop) as loom:
        plan = loom.plan()
        (found,) = plan.shedding
        assert words in found.reason and words in str(plan.explain())
        (bound,) = plan.workload
        rows = loom._context.sources.frames[bound.query.source].withColumn(
            "at", F.expr("window(`trades.ts`, '10 minutes').start")).collect()
        with plan.run() as results:
            got = results["q"].collect()
        assert len(got) == len({(row["trades.venue"], row["at"]) for row in rows}) and any(row["e0"] for row in got)
        for row in got:
            mine = [each for each in rows if (each["trades.venue"], each["at"]) == (row["g"], row["at"])]
            for i, (call, value) in enumerate(zip(CALLS, VALUES, strict=True)):
                estimate, error = expected(mine, call, value)
                assert row[f"v{i}"] == pytest.approx(estimate or (0 if call.startswith("count") else None)), call
                assert row[f"e{i}"] == (None if error is None else pytest.approx(error, rel=1e-6)), call
        kept = loom._context.sources.frames[bound.query.join.inputs[0].source]
        assert SIGNS in kept.columns and kept.count() == pytest.approx((1 - drop[1]) * 4000, rel=0.1)


def test_nothing_differs_where_nothing_is_dropped(spark, folder):
    """A bound that no share meets: the answers of a query that accepts none, and errors of 0."""
    with loom_over(spark, folder, LIGHT, shed="0.1%") as loom, loom_over(spark, folder, PLAIN) as exact:
        (found,) = loom.plan().shedding
        assert found.share == 1 and "no share keeps query 'q' within 0.1 %" in found.reason
        with loom.run() as ours, exact.run() as theirs:
            got, wanted = ({(row["g"], row["at"]): row for row in each["q"].collect()} for each in (ours, theirs))
        assert got.keys() == wanted.keys() and {row["e2"] for row in got.values()} == {0.0}
        for place, row in wanted.items():
            assert (got[place]["v0"], got[place]["v2"]) == (row["v0"], pytest.approx(row["v2"], rel=1e-12))
        assert loom.verify().ok
        loom.query("exact", PLAIN)
        assert "exact accepts no error" in loom.plan().shedding[0].reason


def test_an_error_bound_drops_keys_or_rows(spark, folder):
    """By keys where no query reads them, else by rows, within the bound."""
    texts = {"venue": TEXT.format("'all'", "count(*) AS v0, avg(q.x) AS v3")}
    with loom_over(spark, folder, texts["venue"]) as exact, exact.run() as results:
        wanted = {row["at"]: row for row in results["q"].collect()}
    with loom_over(spark, folder, texts["venue"], shed="20%") as loom:
        (found,) = loom.plan().shedding
        assert found.share < 0.95 and "of the keys of" in found.reason and "stays within 20 %" in found.reason
        assert set(found.to_dict()["boxes"]) == {"trades", "quotes"}
        with loom.run() as results:
            for row in results["q"].collect():
                assert abs(row["v0"] / wanted[row["at"]]["v0"] - 1) < 0.3
        loom.query("q", TEXT.format("substr(t.k, 1, 1)", "count(*) AS v0"), replace=True, shed="20%")
        (found,) = loom.plan().shedding
        assert found.share < 0.95 and "of the keys of" not in found.reason


def test_what_joins_do_not_tell_is_refused(spark, folder):
    with loom_over(spark, folder, drop=(0.5, 0.0)) as loom:
        with pytest.raises(QueryError, match="accepts an error and joins 'trades', which drops rows"):
            loom.query("r", BY_VENUE, shed="5%")
        with pytest.raises(QueryError, match=r"median\(q.x\)|cannot be told from a part"):
            loom.query("r", TEXT.format("t.venue", "median(q.x) AS m"))
        with pytest.raises(RunError, match="source 'trades' drops 50 % of its rows"):
            loom.verify()


def in_the_end(spark, folder, path, drop) -> tuple[list, list]:
    """The rows of a stream over the join, and those of the batch, of windows that are closed in the stream."""
    with loom_over(spark, folder, LIGHT, drop) as loom:
        stream = loom.start(path / "checkpoint", str(path / "out"), trigger="available", max_clock_skew=None)
        stream.awaitTermination()
        got = spark.read.parquet(str(path / "out" / "q"))
        with loom.run() as results:
            closed = results["q"].where(F.col("at").isin([row["at"] for row in got.select("at").distinct().collect()]))
            return sorted(map(str, got.collect())), sorted(map(str, closed.collect()))


@pytest.mark.parametrize("drop", [(0.5, 0.5), pytest.param((0.25, 0.5), marks=pytest.mark.long)])
def test_a_stream_keeps_the_rows_that_a_batch_keeps(spark, folder, tmp_path, drop):
    got, wanted = in_the_end(spark, folder, tmp_path, drop)
    assert len(got) >= 2
    for one, other in zip(got, wanted, strict=True):
        assert one.split("v2")[0] == other.split("v2")[0]


def test_a_stream_reads_all_rows_of_a_join_for_a_bound(spark, folder, tmp_path):
    """What is accepted is a permission, and explain says that it is not used."""
    with loom_over(spark, folder, PLAIN, shed="5%") as loom:
        stream = loom.start(tmp_path / "checkpoint", "noop", trigger="available", max_clock_skew=None)
        stream.awaitTermination()
        assert "a stream drops no rows of a join for an error bound" in str(stream.explained())
