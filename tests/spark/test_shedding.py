"""Dropping rows on Spark: weights, errors, what is refused, and streams that keep the same rows whenever they read."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import defaultdict
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tests.harness.differential import collect, compare
from weft import Loom, RefusedError
from weft.aggregates.weighted import FEWEST_KEPT, SAMPLED, WEIGHT
from weft.cost.shedding.estimates import WeightedSums, weighted
from weft.errors import PlanError, RunError, SourceError
from weft.io.arrivals import CORRUPT, ROW
from weft.io.drop_boxes import DropBox, Step, hash_rows
from weft.io.kafka import parse_records
from weft.optimize.shed.controller import ControllerPolicy
from weft.spark.stream.checkpoint import open_checkpoint

SCHEMA = "ts timestamp, symbol string, price double, size int, money decimal(12,2)"
WINDOW = "GROUP BY symbol, window(ts, '10 minutes', '5 minutes')"
ASKED = ("count(*)", "count(size)", "count_if(price > 1)", "sum(price)", "sum(size)", "avg(price)", "avg(size)",
         "sum(money)", "avg(money)", "sum(price) FILTER (WHERE size > 5)")
ITEMS = ", ".join(f"{call} AS v{i}, error({call}) AS e{i}" for i, call in enumerate(ASKED))
ALL = f"SELECT symbol, window.start AS at, {ITEMS}, max(price) AS hi FROM trades {WINDOW}"
FEW = ("SELECT symbol, window.start AS at, count(*) AS n, error(count(*)) AS en, sum(price) AS s, "
       f"error(sum(price)) AS es, avg(money) AS m FROM trades {WINDOW}")
PLAIN = f"SELECT symbol, window.start AS at, count(*) AS n, sum(price) AS s, avg(size) AS m FROM trades {WINDOW}"


@pytest.fixture(scope="module")
def folder(spark, tmp_path_factory) -> Path:
    """Six thousand trades of two symbols in half an hour, some of them equal, as four files of Parquet."""
    path = tmp_path_factory.mktemp("shed") / "trades"
    price = "IF(id % 17 = 0, NULL, exp(pmod(hash(id), 1000) / 400.0D))"
    spark.range(6000).selectExpr(
        "timestamp_millis(1700000000000 + id * 300) AS ts", "IF(id % 3 = 0, 'a', 'b') AS symbol", f"{price} AS price",
        "CAST(IF(id % 11 = 0, NULL, id % 10) AS INT) AS size", "CAST(id % 1000 / 7 AS DECIMAL(12, 2)) AS money",
    ).repartition(4).sortWithinPartitions("ts").write.parquet(str(path))
    return path


def loom_over(spark, path: Path, queries: dict[str, str], format: str = "parquet", **options) -> Loom:
    """A loom over the trades of a folder."""
    loom = Loom(spark)
    given = {"schema": SCHEMA, "watermark": "0 seconds", **options}
    loom.source("trades", str(path), time="ts", format=format, **given)
    for name, text in queries.items():
        loom.query(name, text)
    return loom


def answers(loom: Loom, name: str = "q") -> dict:
    """The rows of a query by symbol and start."""
    return {(row["symbol"], row["at"]): row for row in loom.run()[name].collect()}


def values_of(row, test=lambda row: True) -> dict[str, tuple[float | None, bool]]:
    """What a row brings to each call of ASKED; None where it brings nothing."""
    price, size, money = row["price"], row["size"], row["money"]
    brought = (1, None if size is None else 1, 1 if price is not None and price > 1 else None, price, size, price, size,
               money, money, price if size is not None and size > 5 else None)
    return dict(zip(range(len(ASKED)), brought, strict=True))


def oracle(loom: Loom, box: str) -> dict:
    """By symbol and start: the weighted sums of each call, of the rows that the drop box keeps."""
    found: dict = defaultdict(lambda: [WeightedSums() for _ in ASKED])
    for row in loom._context.sources.frames[box].collect():
        first = row["ts"].replace(minute=row["ts"].minute // 5 * 5, second=0, microsecond=0)
        for start in (first, first - dt.timedelta(minutes=5)):
            sums = found[row["symbol"], start]
            for i, value in values_of(row).items():
                if value is not None:
                    sums[i] += weighted([(float(value), row[WEIGHT])])
    return found


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_values_that_are_not_finite_leave_nothing_to_drop(spark, value):
    """A plan is made all the same, of a source and of a join."""
    rows = spark.range(3000).selectExpr("timestamp_millis(1700000000000 + id * 300) AS ts", "'a' AS symbol",
                                        f"IF(id % 10 = 0, double('{value}'), 1.0D) AS price", "id")
    with Loom(spark) as loom:
        loom.source("trades", rows, time="ts")
        loom.source("quotes", rows, time="ts")
        loom.query("q", f"SELECT symbol, sum(price) AS s, avg(price) AS m FROM trades {WINDOW}", shed="20%")
        loom.query("j", "SELECT t.symbol, avg(q.price) AS m FROM trades t JOIN quotes q ON t.id = q.id "
                        "AND q.ts BETWEEN t.ts AND t.ts GROUP BY t.symbol, window(t.ts, '10 minutes')", shed="20%")
        told = str(loom.explain())
        assert "no share keeps query 'q' within 20 %: some of its sums are about zero, infinite or NaN" in told
        assert "no share keeps query 'j' within 20 %" in told


@pytest.mark.parametrize("drop", [0.75, 0.4])
def test_answers_and_errors_are_those_of_the_weighted_rows(spark, folder, drop):
    loom = loom_over(spark, folder, {"q": ALL}, drop=drop)
    got, told = answers(loom), oracle(loom, f"trades (keeps {1 - drop:.6g})")
    assert set(got) == set(told) and len(got) > 8
    for place, sums in told.items():
        row = got[place]
        for i, (call, each) in enumerate(zip(ASKED, sums, strict=True)):
            made = each.count() if call.startswith("count") else each.avg() if call.startswith("avg") else each.sum()
            assert float(row[f"v{i}"]) == pytest.approx(made.value, rel=1e-6), call
            enough = each.kept >= FEWEST_KEPT
            assert (row[f"e{i}"] is not None) == enough, call
            assert not enough or row[f"e{i}"] == pytest.approx(made.error, rel=1e-6), call


def test_nothing_differs_where_nothing_is_dropped(spark, folder):
    """An error of 0, and to the bit the answers of a query that accepts none; verify compares without dropping."""
    loom = loom_over(spark, folder, {"q": ALL, "exact": PLAIN})
    assert loom.verify().ok
    before = answers(loom)
    assert {row[f"e{i}"] for row in before.values() for i in range(len(ASKED))} <= {0.0, None}
    loom.query("q", ALL, replace=True, shed="0.01%")  # no share would do
    (found,) = loom.plan().shedding
    assert found.share == 1 and found.reason == "exact accepts no error, and reads all rows anyway."
    loom.drop("exact")
    (found,) = loom.plan().shedding
    assert found.share == 1 and found.reason.startswith("no share keeps query 'q' within 0.01 %")
    assert answers(loom) == before and loom.verify().ok


def test_an_error_bound_drops_as_much_as_it_allows(spark, tmp_path):
    path = tmp_path / "many"
    spark.range(200_000).selectExpr("timestamp_millis(1700000000000 + id * 20) AS ts", "concat('s', id % 3) AS symbol",
                                    "1.0D + id % 5 AS price", "1 AS size", "CAST(1 AS DECIMAL(12, 2)) AS money",
                                    ).write.parquet(str(path))
    exact, loom = (loom_over(spark, path, {"q": PLAIN}) for _ in range(2))
    loom.query("q", PLAIN.replace("SELECT", "SELECT /*+ SHED('5%') */"), replace=True)
    plan = loom.plan()
    (found,) = plan.shedding
    assert 0.05 < found.share < 0.8 and "query 'q' stays within 5 % with that" in str(plan.explain())
    assert plan.explain().to_dict()["shedding"][0]["queries"] == ["q"]
    wanted = answers(exact)
    with plan.run() as results:
        got = {(row["symbol"], row["at"]): row for row in results["q"].collect()}
    errors = [abs(got[place][name] / row[name] - 1) for place, row in wanted.items() for name in ("n", "s", "m")]
    assert sum(error <= 0.05 for error in errors) >= 0.9 * len(errors) and any(errors)
    with pytest.raises(PlanError, match=r"drops rows of source 'trades'.*loom.verify\(\)"):
        plan.verify()


@pytest.mark.parametrize(("text", "sentence"), [
    (f"SELECT symbol, median(price) AS m FROM trades {WINDOW}",
     r"line 1, column 16: median\(price\) of all rows cannot be told from a part of them. Leave out shed"),
    (f"SELECT symbol, count(DISTINCT size) AS m FROM trades {WINDOW}", r"column 16: count\(DISTINCT size\) of all"),
    ("SELECT count(*) AS n FROM trades [ROWS 100 SLIDE 10]", "column 35: a window that counts rows"),
    (f"SELECT symbol, error(max(price)) AS m FROM trades {WINDOW}", r"column 16: error\(\) takes one call of count"),
    (f"SELECT symbol, error(avg(price)) FROM trades {WINDOW}", "column 16: an error has no name of its own"),
    (f"SELECT symbol, error(price) AS e FROM trades {WINDOW}", r"column 16: error\(\) takes one call of count"),
])
def test_what_a_part_of_the_rows_does_not_tell_is_refused(spark, folder, text, sentence):
    loom = loom_over(spark, folder, {})
    with pytest.raises(RefusedError, match=sentence):
        loom.query("q", text, shed="2%")


def test_what_a_source_drops_is_told_where_it_matters(spark, folder):
    with pytest.raises(SourceError, match=r"drop=0\.25 drops a quarter"):
        loom_over(spark, folder, {}, drop=1)
    loom = loom_over(spark, folder, {"q": PLAIN}, drop=0.25)
    with pytest.raises(RunError, match="drops 25 % of its rows, and Spark's own answers are those of all rows"):
        loom.verify()
    with pytest.raises(RefusedError, match="Add 'trades' under another name without drop="):
        loom.query("m", f"SELECT median(price) FROM trades {WINDOW}")
    assert "Σw·price" in str(loom.explain()) and "trades keeps 75 % of its rows: drop=0.25" in str(loom.explain())


def test_predicates_share_a_drop_box(spark, folder, monkeypatch):
    """Each query's errors are of its own rows, whether slices are shared by filters or by shards."""
    texts = {f"q{i}": ALL.replace("GROUP", f"WHERE size <> {i} GROUP", 1) for i in range(2)}
    alone = {name: answers(loom_over(spark, folder, {name: text}, drop=0.5), name) for name, text in texts.items()}
    for most in (10_000, 0):
        monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_, most=most: most)
        loom = loom_over(spark, folder, texts, drop=0.5)
        assert loom.explain().to_dict()["totals"]["scans"] == 1
        for name in texts:
            assert same(answers(loom, name), alone[name])


def same(ours: dict, theirs: dict) -> bool:
    """Whether answers agree, but for the order of additions."""
    return set(ours) == set(theirs) and all(
        mine == its or math.isclose(float(mine), float(its), rel_tol=1e-9)
        for place, row in theirs.items() for mine, its in zip(ours[place], row, strict=True)
        if mine is not None or its is not None)


def stream_all(loom: Loom, home: Path, target: Path, files: list[Path]) -> list:
    """The answers of a stream to which files come."""
    for file in files:
        (target / file.name).hardlink_to(file)
    with loom.start(home / "checkpoint", str(home / "out"), trigger="available") as stream:
        stream.awaitTermination()
    return loom.spark.read.parquet(str(home / "out" / "q")).collect()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("cut", "drop"), [("workers", 0.997), ("spark", 0.5)])
def test_a_stream_keeps_the_rows_that_a_batch_keeps(spark, folder, tmp_path, monkeypatch, cut, drop):
    """And its watermark follows all of them: with next to none kept, all windows but the last are closed."""
    monkeypatch.setattr("weft.spark.stream.partial.MOST_LIFTED", 10_000 if cut == "workers" else 0)
    (tmp_path / "in").mkdir()
    loom = loom_over(spark, tmp_path / "in", {"q": FEW}, drop=drop)
    # Each file has rows of all times, so they come together; the watermark closes what lies before the last row.
    rows = stream_all(loom, tmp_path, tmp_path / "in", sorted(folder.glob("*.parquet")))
    closed = {(row["symbol"], row["at"]): row for row in rows}
    last = max(row["ts"] for row in spark.read.parquet(str(folder)).collect())
    ended = {place: row for place, row in answers(loom).items() if place[1] + dt.timedelta(minutes=10) <= last}
    assert same(closed, ended) and len(ended) >= (8 if drop == 0.5 else 1)


@pytest.mark.usefixtures("interpreted")
def test_a_share_that_changes_holds_from_then_on(spark, tmp_path):
    """Steps are in the checkpoint before they act, and a stream that may drop rows but need not is exact."""
    (tmp_path / "in").mkdir()

    def put(minute: int) -> None:
        lines = [json.dumps({"ts": f"2026-01-01T00:{minute:02d}:{i // 10:02d}Z", "symbol": "a", "price": i / 7,
                             "size": i, "money": 1}) for i in range(600)]
        made = tmp_path / uuid4().hex
        made.write_text("\n".join(lines))
        made.rename(tmp_path / "in" / f"{minute:02d}.json")

    text = "SELECT symbol, window.start AS at, count(*) AS n, error(count(*)) AS e FROM trades " \
           "GROUP BY symbol, window(ts, '1 minute')"
    found = []
    for minute, drop in enumerate((0.5, 0.25, 0.25)):
        put(minute)
        loom = loom_over(spark, tmp_path / "in", {"q": text}, "json", drop=drop)
        with loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available") as stream:
            stream.awaitTermination()
        found.append(open_checkpoint(str(tmp_path / "checkpoint")).steps("trades"))
    assert [[step.share for step in steps] for steps in found] == [[0.5], [0.5, 0.75], [0.5, 0.75]]
    rows = {row["at"].minute: row for row in spark.read.parquet(str(tmp_path / "out" / "q")).collect()}
    assert rows[0]["e"] > rows[1]["e"] > 0 and all(abs(rows[i]["n"] - 600) < 5 * rows[i]["e"] for i in (0, 1))


@pytest.mark.usefixtures("interpreted")
def test_a_stream_that_may_drop_rows_and_does_not_is_exact(spark, folder, tmp_path):
    (tmp_path / "in").mkdir()
    loom, exact = (loom_over(spark, path, {"q": FEW}) for path in (tmp_path / "in", folder))
    loom.query("q", FEW, replace=True, shed="2%")
    rows = stream_all(loom, tmp_path, tmp_path / "in", sorted(folder.glob("*.parquet")))
    wanted, got = answers(exact), {(row["symbol"], row["at"]): row for row in rows}
    # Doubles are added in another order by workers than by Spark, with and without weights of 1.
    assert len(rows) >= 8 and same(got, {place: row for place, row in wanted.items() if place in got})
    assert all(got[place][name] == wanted[place][name] for place in got for name in ("n", "en", "es", "m"))
    with pytest.raises(PlanError, match="has an error bound: before rows come nobody can tell"):
        other = loom_over(spark, folder, {}, drop=0.5)
        other.query("q", PLAIN, shed="2%")
        other.start(tmp_path / "other", "noop")


@pytest.mark.long
def test_a_stream_that_is_too_slow_drops_rows_and_goes_on(spark, tmp_path):
    """A controller that finds any load too high acts, in the checkpoint first; a start by the user goes on with it."""
    (tmp_path / "in").mkdir()
    text = "SELECT symbol, window.start AS at, count(*) AS n, error(count(*)) AS e FROM trades " \
           "GROUP BY symbol, window(ts, '4 seconds')"
    loom = loom_over(spark, tmp_path / "in", {})
    loom.query("q", text, shed="10%")
    eager = ControllerPolicy(act_above=0.002, act_after=1.0, target=0.001, recover_below=0.0005, dwell=2)

    def put(number: int) -> None:
        made = tmp_path / uuid4().hex
        spark.range(4000).selectExpr(f"timestamp_millis({1_700_000_000_000 + number * 1000}L + id % 1000) AS ts",
                                     "'a' AS symbol", "1.0D AS price", "1 AS size",
                                     "CAST(1 AS DECIMAL(12, 2)) AS money").coalesce(1).write.parquet(str(made))
        next(made.glob("*.parquet")).rename(tmp_path / "in" / f"{number:03d}.parquet")

    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="1 second", overload=eager) as stream:
        for number in range(40):
            put(number)
            assert not stream.awaitTermination(1.0)
            if stream.decisions and number > 20:
                break
        shares = [step.share for step in open_checkpoint(str(tmp_path / "checkpoint")).steps("trades")]
    assert stream.decisions[0].kind in ("shed", "overloaded") and "a stream that" not in stream.decisions[0].reason
    assert shares[0] == 1 and shares[1] < 0.9 and open_checkpoint(str(tmp_path / "checkpoint")).decisions
    for later in range(number + 1, number + 12):
        put(later)
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available") as stream:
        stream.awaitTermination()
    rows = {row["at"]: row for row in spark.read.parquet(str(tmp_path / "out" / "q")).collect()}
    whole = sorted(rows)[1:]
    assert len(whole) > 5 and {row["n"] for row in rows.values()} != {16000}
    # An error of 0 is that of a window of which all rows are kept; too few that stand for others have none.
    assert all(abs(rows[at]["n"] - 16000) <= (1600 if rows[at]["e"] is None else 5 * rows[at]["e"]) for at in whole)
    assert (whole[-1] - whole[0]).total_seconds() == 4 * (len(whole) - 1), "no window is missing"


def test_equal_rows_without_numbers_share_their_fate(spark, tmp_path):
    row = json.dumps({"ts": "2026-01-01T00:00:01Z", "symbol": "a", "price": 1, "size": 1, "money": 1})
    path = tmp_path / "equal"
    path.mkdir()
    (path / "rows.json").write_text("\n".join([row] * 50))
    loom = loom_over(spark, path, {"q": PLAIN}, "json", drop=0.5)
    assert {found["n"] for found in loom.run()["q"].collect()} <= {100}


def test_records_of_a_topic_bear_a_hash_of_their_place(spark):
    """A broker is not needed for that: these are a topic's columns."""
    records = spark.createDataFrame([(b'{"a":1}', "t", 0, i) for i in range(3)] + [(b"junk", "t", 1, 0)],
                                    "value binary, topic string, partition int, offset bigint")
    place = F.xxhash64("topic", "partition", "offset").alias(ROW)
    rows = parse_records(records, StructType.fromDDL("a int"), place)
    assert rows.columns == ["a", CORRUPT, ROW] and [row["a"] for row in rows.collect()] == [1, 1, 1, None]
    assert rows.select(ROW).distinct().count() == 4 and hash_rows(rows, None).columns == rows.columns


def test_steps_hold_by_the_time_of_a_trigger(spark, folder):
    loom = loom_over(spark, folder, {})
    loom._context.sources.put_box("b", DropBox((Step(0, 0.5), Step(4_000_000_000_000, 0.001))), "trades")
    rows = loom._context.sources.frames["b"]
    assert {(row[WEIGHT], row[SAMPLED]) for row in rows.collect()} == {(2, True)}
    kept = rows.count()
    assert abs(kept - 3000) < 5 * math.sqrt(6000) / 2 and rows.select("ts").exceptAll(rows.select("ts")).count() == 0
    loom._context.sources.put_box("b", DropBox((Step(0, 0.5), Step(1_000, 1.0))), "trades")
    assert {(r[WEIGHT], r[SAMPLED]) for r in loom._context.sources.frames["b"].collect()} == {(1, False)}
    assert compare("all", collect({"all": loom._context.sources.frames["b"].select("ts", "price")})["all"],
                   collect({"all": spark.read.parquet(str(folder)).select("ts", "price")})["all"]) == []
