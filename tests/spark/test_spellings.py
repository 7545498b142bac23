"""What is written otherwise than Spark writes it still means what Spark means: suffixes, brackets, shared orders."""

from __future__ import annotations

import pytest

from tests.harness.differential import compare, differences
from weft import Loom, RefusedError
from weft.optimize.groupings import may_derive

ROWS = """SELECT timestamp_seconds(1700000000 + id) AS ts, CAST(id AS INT) AS g, CAST(id * 7 % 5 AS INT) AS i,
    concat('k', id % 3) AS k, concat('s', id % 4) AS s, CAST(id * 1.5 AS DOUBLE) AS x,
    CAST(-139173794.37620991 - id AS DECIMAL(38, 10)) AS e FROM range(40)"""
ITEMS = ("max(e) * 5L AS a, max(e * 5L) AS b, max(g) + 3S AS c, max(x) * 2.5D AS d, sum(g) + -1.5BD AS f, "
         "max(x) + 1.5F AS h")


@pytest.fixture
def loom(spark):
    made = Loom(spark)
    made.source("t", spark.sql(ROWS), time="ts")
    yield made
    made.close()


def rows(frame) -> list[list]:
    return [[str(value) for value in row] for row in frame.collect()]


def test_numbers_with_a_suffix_are_literals_in_every_spelling(spark, loom):
    """Beside a decimal a literal gives another precision than a cast of the same number."""
    hop = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end"
    loom.query("plain", f"SELECT {ITEMS} FROM t GROUP BY window(ts, '10 seconds')")
    loom.query("brackets", f"SELECT {ITEMS} FROM t [RANGE 10 s]")
    loom.query("flink", f"SELECT {ITEMS} FROM {hop}")
    spark.sql(ROWS).createOrReplaceTempView("suffixed")
    native = spark.sql(f"SELECT {ITEMS} FROM suffixed GROUP BY window(ts, '10 seconds')")
    with loom.run() as results:
        for name in loom.run().queries:
            assert results[name].dtypes == native.dtypes, name
            assert not compare(name, rows(results[name]), rows(native))


def test_a_bracket_around_what_is_not_surely_read_is_refused(loom):
    """Spark has no such window, so there is nothing to compare the reading with."""
    with pytest.raises(RefusedError, match="may read this SQL otherwise"):
        loom.query("q", "SELECT max(e) * +5 AS a FROM t [RANGE 1 min]")


def test_queries_whose_max_by_have_one_order_share_a_finer_grouping(loom, monkeypatch):
    """What orders them is one column, and each predicate has only the values that its own queries ask for."""
    monkeypatch.setattr("weft.optimize.predicates.FINER", 1000)
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    window = "window(ts, '3 seconds')"
    for n, (value, test) in enumerate((("s", "g > 3"), ("k", "g < 9"))):
        newest = f"max_by({value}, i * 100 + g)"
        loom.query(f"by{n}", f"SELECT window.start, {newest} AS a FROM t WHERE {test} GROUP BY {window}")
        loom.query(f"fine{n}", f"SELECT g, window.start, max(i) AS a FROM t WHERE {test} GROUP BY g, {window}")
    assert any(scan.derived for scan in loom.plan().scans)
    assert not differences(loom)
