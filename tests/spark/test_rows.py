"""Windows that count rows on Spark: equal to a plain reading in Python, and to what Spark makes of their text."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping
from decimal import Decimal
from functools import reduce

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.fixtures.versions import needs_user_aggregates
from tests.harness.differential import differences
from tests.strategies.aggregates import Spread, Weighted
from weft import Loom, RefusedError, WeftError
from weft.catalog.database import FILE, open_catalog
from weft.catalog.nodes import nodes
from weft.catalog.registrations import registrations
from weft.catalog.statistics import statistics
from weft.model.window import rows_window

NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SCHEMA = "k string, ts timestamp, price double, volume bigint, d decimal(12,2), tags map<string,int>"
ITEMS = ("window.start AS b, window.end AS e, count(*) AS c, count(price) AS p, max(price) AS m, avg(price) AS a, "
         "sum(d) AS s, count(DISTINCT volume) AS v, sum(volume) FILTER (WHERE price > 2) AS f")
SIZES = ("ROWS 7 SLIDE 3", "ROWS 10 SLIDE 4", "ROWS 5", "ROWS 1", "ROWS 1000000000 SLIDE 2", "ROWS 9 SLIDE 1")
WHERE = {"": lambda row: True, "WHERE volume > 3": lambda row: row[3] is not None and row[3] > 3}


def rows_of(seed: int, size: int) -> list[tuple]:
    """Rows of which many have one time, and some nothing but their key or no time at all."""
    rng = random.Random(seed)

    def one() -> tuple:
        at = None if rng.random() < 0.05 else NOON + dt.timedelta(seconds=rng.randint(0, size // 4))
        maybe = [rng.choice([None, 1.5, 2.25, 8.0]), rng.choice([None, *range(9)]), Decimal(rng.randint(-99, 99)) / 4]
        return rng.choice(["x", "y", None, "few"][: 3 + (rng.random() < 0.1)]), at, *maybe, {"a": rng.randint(0, 2)}

    return [one() for _ in range(size)]


def in_order(row: tuple) -> list:
    """By what rows are ordered: time, then every column, nulls first."""
    return [(value is not None, value) for value in (row[1], *row[:5], str(row[5]))]


def expected(rows: list[tuple], keyed: bool, size: int, slide: int) -> list[tuple]:
    """After every `slide` rows of a key the last `size` of them, in plain Python."""
    groups: dict[str | None, list[tuple]] = {}
    for row in sorted((row for row in rows if row[1] is not None), key=in_order):
        groups.setdefault(row[0] if keyed else None, []).append(row)
    return [(key, *told(group[max(0, end - size) : end]))
            for key, group in groups.items() for end in range(slide, len(group) + 1, slide)]


def told(held: list[tuple]) -> tuple:
    """What ITEMS say of a window's rows."""
    prices = [row[2] for row in held if row[2] is not None]
    dear = [row[3] for row in held if row[3] is not None and row[2] is not None and row[2] > 2]
    return (held[0][1], held[-1][1], len(held), len(prices), max(prices, default=None),
            sum(prices) / len(prices) if prices else None, sum(row[4] for row in held),
            len({row[3] for row in held if row[3] is not None}), sum(dear) if dear else None)


def plain(row: tuple) -> tuple:
    """A collected row, with times that name their zone; Spark gives them in that of this process."""
    return tuple(v.astimezone(dt.UTC) if isinstance(v, dt.datetime) else v for v in row)


def sizes_of(text: str) -> tuple[int, int]:
    """The range and slide of a bracket."""
    numbers = [int(word) for word in text.split() if word.isdigit()]
    return numbers[0], numbers[-1]


@pytest.mark.usefixtures("interpreted")
def test_answers_are_those_of_a_plain_reading(spark, request):
    """Several windows over one scan, with and without keys, however rows of one time are parted; and so are Spark's."""

    # Each case takes Spark seconds; the failing table is told by its seed and size.
    @settings(max_examples=max(2, request.config.getoption("--cases") // 25), phases=[Phase.explicit, Phase.generate])
    @given(seed=st.integers(0, 10**6), size=st.sampled_from([0, 3, 40, 90]), where=st.sampled_from(list(WHERE)),
           texts=st.lists(st.sampled_from(SIZES), min_size=4, max_size=4, unique=True))
    def check(seed, size, where, texts):
        rows = rows_of(seed, size)
        wanted = {"whole": expected([*filter(WHERE[where], rows)], False, *sizes_of(texts[0]))}
        wanted |= {text: expected([*filter(WHERE[where], rows)], True, *sizes_of(text)) for text in texts[1:]}
        loom = Loom(spark)
        loom.source("t", spark.createDataFrame(rows, SCHEMA).repartition(3), time="ts")
        loom.query("whole", f"SELECT string(NULL) AS k, {ITEMS} FROM t [{texts[0]}] {where} HAVING count(*) > 0")
        for text in texts[1:]:
            loom.query(text.replace(" ", "_"), f"SELECT k, {ITEMS} FROM t [{text}] {where} GROUP BY k")
        ours, theirs = loom.run(), {query.name: loom.native(query.name) for query in loom.queries}
        for found in (told_by(ours), told_by(theirs)):
            assert found == {name.replace(" ", "_"): sorted(rows, key=repr) for name, rows in wanted.items() if rows}
        ours.close()
        loom.close()

    check()


def told_by(frames: Mapping[str, DataFrame]) -> dict[str, list[tuple]]:
    """The rows of frames of one schema, collected by one job."""
    found: dict[str, list[tuple]] = {}
    for name, *row in reduce(DataFrame.union, [frames[n].select(F.lit(n), "*") for n in frames]).collect():
        found.setdefault(name, []).append(plain(tuple(row)))
    return {name: sorted(rows, key=repr) for name, rows in found.items()}


@pytest.fixture(scope="module")
def trades(spark):
    rows = [(NOON + dt.timedelta(seconds=i // 3), "ABC"[i % 3], 100.0 + i % 7, i, f"2024-03-01 12:00:{i // 5:02d}",
             dt.date(2024, 3, 1 + i // 40), dt.datetime(2024, 3, 1, 12, 0, i // 4)) for i in range(120)]
    schema = "ts timestamp, symbol string, price double, volume bigint, text string, day date, local timestamp_ntz"
    return spark.createDataFrame(rows, schema).cache()


@pytest.mark.parametrize("time", ["text", "day", "local"])
@pytest.mark.usefixtures("interpreted")
def test_event_times_of_every_type(spark, trades, time):
    loom = Loom(spark)
    loom.source("trades", trades, time=time)
    loom.query("w", "SELECT symbol, window, sum(volume) FROM trades [ROWS 8 SLIDE 3] GROUP BY symbol")
    assert differences(loom) == []
    loom.close()


def test_rows_that_cannot_be_sorted_are_not_counted(spark, trades):
    loom = Loom(spark)
    loom.source("t", trades.select("ts", F.col("price").alias("Volume"), "volume"), time="ts")
    with pytest.raises(RefusedError, match=r"line 2, column 10.*cannot sort 't' so: .*Volume.*Register a source"):
        loom.query("q", "SELECT count(*)\n FROM t [ROWS 5]")
    loom.close()


@needs_user_aggregates
@pytest.mark.usefixtures("interpreted")
def test_users_aggregates_beside_sparks_and_expressions_as_keys(loom):
    loom.aggregate(Spread())
    loom.aggregate(Weighted())
    loom.query("own", "SELECT symbol, spread(price) s FROM trades [ROWS 11 SLIDE 4] GROUP BY symbol")
    loom.query("mixed", "SELECT lower(symbol) AS l, window.end, weighted(price, volume), sum(volume) + count(*) FROM "
               "trades [ROWS 9] t WHERE t.volume % 5 <> 0 GROUP BY lower(symbol), volume % 2 HAVING max(price) > 1")
    loom.query("time", "SELECT symbol, sum(volume) FROM trades GROUP BY symbol, window(ts, '9 seconds', '4 seconds')")
    assert loom.verify().ok


def test_runs_are_written_and_recorded(spark, trades, tmp_path):
    trades.write.parquet(str(tmp_path / "trades"))
    loom = Loom(spark, store=tmp_path / "store")
    loom.source("trades", tmp_path / "trades", time="ts")
    text = "SELECT symbol, avg(price) AS mean, window.end AS at FROM trades [ROWS {}] GROUP BY symbol"
    for name, size in (("a", "10 SLIDE 5"), ("b", "10 SLIDE 5"), ("c", "20 SLIDE 5")):
        loom.query(name, text.format(size))
    loom.measure()
    loom.run(sink=str(tmp_path / "out"))
    written = {name: spark.read.parquet(str(tmp_path / "out" / name)).count() for name in "abc"}
    assert written == {"a": 24, "b": 24, "c": 24}
    with pytest.raises(WeftError, match="incremental run cannot answer a, b, c: a window of ROWS counts rows"):
        loom.run(sink=str(tmp_path / "again"), incremental=True)
    loom.close()
    with open_catalog(tmp_path / "store" / FILE) as catalog:
        assert [one.window for one in registrations(catalog)][::2] == [rows_window(10, 5), rows_window(20, 5)]
        (node,) = nodes(catalog, 1)
        assert (node.unit, node.progressions) == ("rows", ((0, 5),))
        found = {one.origin.value: one.sizes for one in statistics(catalog)}
        assert (found["run"].rows, found["run"].span, found["run"].slices) == (120, None, 24)
        assert found["measured"].span == 39e6
