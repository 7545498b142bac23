"""Canonical forms on Spark: the same values, types and errors, and queries that share because of them."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, PySparkException

from tests.fixtures.sessions import COMPILED
from tests.strategies.expressions import COLUMNS, expressions, table
from weft.spark.session.session import temporary_settings
from weft.sql.canonical import canonical

ROWS, FEW, MOST_RAISING = 77, 9, 10
RISKY = re.compile(r"[-+*/]|CAST|abs|\bn < s|a > s")  # what raises on some row more often than not
EXCLUDED = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
JOBS = {**COMPILED, "spark.sql.optimizer.excludedRules": EXCLUDED}


@pytest.fixture(params=["interpreted", "compiled"])
def mode(request, spark):
    """Whether Spark interprets the expressions while it plans, or compiles a job of them."""
    with temporary_settings(spark, JOBS if request.param == "compiled" else {}):
        yield request.param


def pairs_of(count):
    """As many different expressions as asked whose form differs in more than parentheses and case, and the forms."""
    found: dict[str, str] = {}

    @settings(max_examples=count, phases=[Phase.generate])
    @given(st.lists(expressions(), min_size=5, max_size=10))
    def draw(texts):
        if len(found) < count:
            forms = ((text, canonical(text, COLUMNS)) for text in texts)
            found.update((text, form) for text, form in forms if bare(text) != bare(form))

    draw()
    return list(found.items())


def bare(text):
    """The text without what never matters."""
    return re.sub(r"[\s()`]", "", text.lower())


def typed(frame, pairs):
    """The pairs that Spark accepts, each of one type; those it refuses it refuses in both forms."""
    try:
        kinds = [kind for _, kind in frame.selectExpr(*columns(pairs)).dtypes]
    except AnalysisException:
        if len(pairs) > 1:
            half = len(pairs) // 2
            return typed(frame, pairs[:half]) + typed(frame, pairs[half:])
        for text in pairs[0]:
            with pytest.raises(AnalysisException):
                frame.selectExpr(text).dtypes  # noqa: B018
        return []
    for pair, one, other in zip(pairs, kinds[::2], kinds[1::2], strict=True):
        assert one == other, pair
    return pairs


def columns(pairs):
    """Every text as a column of its own."""
    return [f"{text} AS e{i}" for i, text in enumerate(text for pair in pairs for text in pair)]


def values(frame, *pairs):
    """The values of the texts, row by row, or None if one of them raises; NaN and -0.0 tell."""
    try:
        rows = frame.selectExpr(*columns(pairs)).collect()
    except PySparkException:
        return None
    return [[repr(value) for value in row] for row in rows]


def raising(frame, pairs):
    """Compare the pairs in halves; returns those that raise somewhere in the table."""
    found = values(frame, *pairs)
    if found is not None:
        for row in found:
            for i, pair in enumerate(pairs):
                assert row[2 * i] == row[2 * i + 1], pair
        return []
    if len(pairs) == 1:
        return pairs
    half = len(pairs) // 2
    return raising(frame, pairs[:half]) + raising(frame, pairs[half:])


def test_forms_have_the_values_types_and_errors_of_their_texts(spark, mode, request):
    """Under ANSI, over rows with NULL, NaN, both zeros, infinities and extremes."""
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    frame = spark.sql(table(range(ROWS)))
    count = request.config.getoption("--cases") // (1 if mode == "interpreted" else 4)
    pairs = typed(frame, pairs_of(count))
    assert len(pairs) > count // 2
    risky = [pair for pair in pairs if RISKY.search(pair[0])]
    failing = raising(frame, [pair for pair in pairs if pair not in risky])
    failing += [found for pair in risky for found in raising(frame, [pair])]
    assert 0 < len(failing) < len(pairs) / 2
    for text, form in failing[: MOST_RAISING if mode == "interpreted" else 1]:
        for row in range(FEW):
            one = spark.sql(table(range(row, row + 1)))
            assert values(one, [text]) == values(one, [form]), (text, form, row)


NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
SPELLINGS = [
    ("price > 100", "100 < PRICE", "NOT (price <= 100)"),
    ("price > 100 AND symbol = 'A'", "'A' = symbol and 100 < price"),
    ("volume IN (2, 1)", "volume = 1 OR volume = 2"),
    ("volume BETWEEN 1 AND 120", "volume <= 60 * 2 AND volume >= 1"),
]


@pytest.fixture(scope="module")
def trades(spark):
    prices = [None, float("nan"), 100.0, 101.5, 99.0, float("inf"), -0.0]
    rows = [(NOON + i * dt.timedelta(seconds=20), "AB"[i % 2], prices[i % 7], i) for i in range(200)]
    return spark.createDataFrame(rows, "ts timestamp, symbol string, price double, volume bigint").cache()


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda texts: texts[0])
def test_queries_whose_predicates_mean_the_same_share_one_scan(loom, spellings):
    for i, where in enumerate(spellings):
        loom.query(f"q{i}", f"SELECT symbol, window.end, count(*), max(price) FROM trades WHERE {where} "
                            f"GROUP BY symbol, window(ts, '{i + 5} minutes', '1 minute')")
    assert len({query.where for query in loom.queries}) == 1
    assert len(loom.plan().scans) == 1
    assert loom.verify().ok


def test_calls_and_keys_that_mean_the_same_are_shared_and_outputs_keep_their_names(loom):
    calls = ("sum(price + volume)", "sum(volume + price)", "count(1) FILTER (WHERE 5 < volume)",
             "count(*) FILTER (WHERE volume > 5)", "SUM( VOLUME+price )")
    for i, call in enumerate(calls):
        keys = ("symbol, volume % 3", "volume % 3, symbol")[i % 2]
        loom.query(f"q{i}", f"SELECT {keys}, window.start, {call} FROM trades "
                            f"GROUP BY {keys}, window(ts, '5 minutes', '1 minute') HAVING symbol <> 'C'")
    plan = loom.plan()
    assert len(plan.scans) == 1
    assert len({c for tree in plan.scans[0].trees for bound in tree.queries for c in bound.components}) == 2
    results = loom.run()
    for query in loom.queries:
        assert results[query.name].dtypes == loom.native(query.name).dtypes
    assert loom.verify().ok


def test_a_refused_query_leaves_no_text_behind(loom):
    with pytest.raises(Exception, match="q"):
        loom.query("q", "SELECT nothing(price) FROM trades WHERE 100 < price GROUP BY window(ts, '5 minutes')")
    query = loom.query("q", "SELECT max(price) FROM trades WHERE price > 100 GROUP BY window(ts, '5 minutes')")
    assert query.where == "price > 100"
