"""Queries that are added together are those that are added one by one, and so are their errors, told all at once."""

from __future__ import annotations

import datetime as dt
import random
import re
from dataclasses import replace
from itertools import count

import pytest

from tests.fuzz.draw import USUAL, draw_case
from tests.fuzz.table import frame_of, rows_of
from tests.fuzz.text import weft_text
from tests.spark.test_shapes import OUTPUTS
from weft import Loom, QueriesError, QueryError, SettingError, SourceError
from weft.catalog.registrations import registrations
from weft.loom.checks import parse
from weft.spark.bind.check import Checker
from weft.spark.session.session import temporary_settings

SCHEMA = ("ts timestamp, at timestamp, symbol string, price double, volume bigint, d decimal(12, 2), "
          "big decimal(38, 10), g int, k string, addr struct<city: string, zip: int>, tags map<string, int>")
BY = "GROUP BY {}window(ts, '10 minutes', '2 minutes')"
GOOD = (
    f"SELECT symbol, window.end, avg(price), MAX(Volume) - 1 FROM trades {BY.format('symbol, ')}",
    f"SELECT Symbol, window.End AS at, sum(t.volume) FROM trades AS t {BY.format('t.symbol, ')}",
    f"SELECT upper(symbol) AS u, u || 'x' AS v, count(*) FROM trades {BY.format('u, ')} HAVING u <> 'A'",
    f"SELECT addr.City, avg(addr.zip) AS z, window FROM trades {BY.format('addr.city, ')}",
    f"SELECT addr, collect_list(addr) AS t, size(collect_set(symbol)) FROM trades {BY.format('addr, ')}",
    f"SELECT sum(d) * 5, sum(d) * 50 AS b, max(big) * 0.05 AS c FROM trades WHERE d > 1.5 {BY.format('')}",
    f"SELECT 1 AS one, 'x', count(*) FILTER (WHERE price > 1) AS n FROM trades {BY.format('')} HAVING n > 2",
    "SELECT symbol, max(price) AS m FROM trades GROUP BY 1, window(at, '5 minutes')",
    "SELECT symbol, max(price) FROM trades [RANGE 10 min SLIDE 2 min] GROUP BY symbol",
    "SELECT symbol, max(price) AS m FROM trades [ROWS 10 SLIDE 2] GROUP BY symbol",
    "SELECT window_start, Symbol, stddev(price) FROM TABLE(HOP(TABLE trades, DESCRIPTOR(ts), INTERVAL '2' MINUTE, "
    "INTERVAL '10' MINUTE)) GROUP BY window_start, window_end, symbol",
    f"SELECT hour(window.start) AS h, max(price) AS m FROM trades {BY.format('')}, hour(window.start)",
    f"SELECT count(parse_json(symbol)) AS n FROM trades {BY.format('tags, ')}",
    f"SELECT count(*) AS n FROM trades {BY.format('')} HAVING count(*)",  # which Spark casts
    f"SELECT max_by(symbol, price) AS s, max_by(addr, price) AS t FROM trades {BY.format('')}",
    *(f"SELECT {outputs} FROM trades {BY.format('k, ')} HAVING max(g) < {i}.5" for i, outputs in enumerate(OUTPUTS)),
)  # fmt: skip
BAD = (
    f"SELECT symbol,\n sum(prise) AS s FROM trades {BY.format('symbol, ')}",
    f"SELECT avg(price) AS a,\n\n  foo(max(price)) AS f FROM trades {BY.format('')}",
    f"SELECT count(*) AS n FROM trades {BY.format('parse_json(symbol), ')}",  # no key, though it can be counted
    f"SELECT count(*) AS n FROM trades WHERE price {BY.format('')}",
    f"SELECT count(*) AS n FROM trades WHERE volume + 1 {BY.format('')}",
    f"SELECT count(*) AS n FROM trades {BY.format('')} HAVING collect_list(price)",
    f"SELECT count(*) AS n FROM trades {BY.format('date_trunc(1, symbol, 2), ')}",
    f"SELECT sum(addr) AS n FROM trades {BY.format('')}",
    f"SELECT sum(price) FILTER (WHERE symbol) AS n FROM trades {BY.format('')}",
    f"SELECT max(addr.street) AS n FROM trades {BY.format('')}",
    f"SELECT /*+ REPARTITION('x', 'y') */ count(*) AS n FROM trades {BY.format('')}",
    "SELECT max(price) AS m FROM trades GROUP BY window(volume, '5 minutes')",
    "SELECT max(price) AS m FROM trades JOIN trades",
    "SELECT FROM",
)  # fmt: skip


@pytest.fixture(scope="module")
def trades(spark):
    noon = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
    return spark.createDataFrame([(noon, noon, "A", 1.0, 2, None, None, 1, "k", ("Ulm", 1), {"a": 1})], SCHEMA).cache()


@pytest.fixture
def analysed(monkeypatch):
    """The texts that Spark analyses."""
    texts, sql = [], Checker.sql
    monkeypatch.setattr(Checker, "sql", lambda self, source, text: texts.append(text) or sql(self, source, text))
    return texts


def named(texts):
    """The texts by names."""
    return dict(zip((f"q{i}" for i in count()), texts, strict=False))


def outcome(work):
    """What comes of adding a query, errors as their kind, place and words, but for the names that Weft gives views."""
    try:
        return work()
    except QueryError as error:
        words = re.sub(r"weft_[0-9a-f]{32}", "view", str(error)).split("Did you mean one of the following?")[0]
        return type(error), error.place, words


def test_queries_that_are_added_together_are_those_that_are_added_one_by_one(spark, trades, loom):
    loom.add_queries(named(GOOD))
    with Loom(spark) as other:
        other.source("trades", trades, time="ts")
        for name, sql in named(GOOD).items():
            other.query(name, sql)
        assert loom._queries == other._queries


def test_names_and_types_are_sparks_own(loom):
    for query in loom.add_queries(named(GOOD)):
        theirs = [(field.name, field.dataType.json()) for field in loom.native(query.name).schema.fields]
        assert [(output.name, output.type) for output in query.outputs] == theirs, query.text


def test_many_queries_take_one_analysis(loom, analysed):
    by = BY.format("symbol, ")
    texts = [f"SELECT symbol, {call}(price) AS a, window.end AS at FROM trades WHERE volume > {n} {by}"
             for n, call in enumerate(("avg", "sum", "min", "max", "stddev_pop") * 4)]
    assert [query.name for query in loom.add_queries(named(texts))] == list(named(texts)) and len(analysed) == 1
    loom.query("known", f"SELECT sum(price) AS s, symbol FROM trades WHERE volume > 77 {by}")
    assert len(analysed) == 1


def test_all_errors_are_told_as_one_by_one_and_nothing_is_added(loom):
    loom.query("before", GOOD[0])
    alone = {name: outcome(lambda sql=sql: loom.query("alone", sql)) for name, sql in named(BAD).items()}
    assert [sql for name, sql in named(BAD).items() if not isinstance(alone[name], tuple)] == []
    mixed = {**named(BAD), **{f"good_{name}": sql for name, sql in named(GOOD).items()}}
    with pytest.raises(QueriesError) as caught:
        loom.add_queries(mixed)
    told = {error.query: outcome(lambda error=error: raise_(error)) for error in caught.value.errors}
    assert list(told) == list(named(BAD))
    assert {name: (kind, place, words.replace(f"'{name}'", "'alone'", 1)) for name, (kind, place, words)
            in told.items()} == alone
    assert str(caught.value).splitlines()[0].startswith("query 'q0', line 2, column ")
    assert [query.name for query in loom.queries] == ["before"]


def raise_(error):
    raise error


def test_names_are_checked_with_the_rest(loom):
    first, second = GOOD[:2]
    loom.query("taken", first)
    with pytest.raises(QueriesError) as caught:
        loom.add_queries({"taken": second, "../out": first, "bad": BAD[0], "fine": first})
    assert [error.query for error in caught.value.errors] == ["taken", "../out", "bad"]
    loom.add_queries({"taken": second, "fine": first}, replace=True)
    assert [query.text for query in loom.queries] == [second, first] and loom.add_queries({}) == ()


def test_a_setting_that_is_refused_is_no_error_of_a_query(loom, spark):
    with temporary_settings(spark, {"spark.sql.groupByAliases": "false"}), pytest.raises(SettingError):
        loom.add_queries(named(GOOD[:2]))
    assert loom.queries == ()


def test_a_store_keeps_all_or_none(spark, trades, tmp_path):
    with Loom(spark, store=tmp_path) as loom:
        loom.source("trades", trades, time="ts")
        with pytest.raises(QueriesError):
            loom.add_queries(named((GOOD[0], BAD[0])))
        assert list(registrations(loom._store.catalog)) == []
        loom.add_queries(named(GOOD[:3]))
        assert [one.name for one in registrations(loom._store.catalog)] == ["q0", "q1", "q2"]


def test_what_is_known_of_a_replaced_source_is_asked_again(loom, trades):
    loom.add_queries(named(GOOD[:2]))
    loom.source("trades", trades.withColumn("volume", trades.volume.cast("int")), time="ts", replace=True)
    assert [[output.type for output in query.outputs][-1] for query in loom.queries] == ['"integer"', '"long"']
    with pytest.raises(SourceError, match=r"query 'q0'.*has no column"):
        loom.source("trades", trades.drop("price", "volume"), time="ts", replace=True)


@pytest.mark.parametrize("number", range(3))
def test_random_queries_are_bound_as_spark_sees_them_whole(spark, request, number):
    """What is known expression by expression is what Spark says of the whole query, and so is what is refused."""
    seed = random.randrange(10**6) if request.config.getoption("--random") else 5
    case = draw_case(seed, number, "batch")
    rng = random.Random(f"{seed}/{number}")
    with temporary_settings(spark, {**USUAL, **case.settings}), Loom(spark) as apart, Loom(spark) as whole:
        frame = frame_of(spark, case, rows_of(case.shape)[:2])
        for loom in (apart, whole):
            loom.source("t", frame, time=case.names.get("ts", "ts"))
        texts = [weft_text(query, case.names) for query in case.queries]
        texts += [spoiled(text, frame.columns, rng) for text in texts for _ in range(2)]
        read = [outcome(lambda text=text: parse(apart._context, "q", text)) for text in texts]
        good = [parsed for parsed in read if not isinstance(parsed, tuple)]
        apart._context.checker.learn(good)
        for i, parsed in enumerate(good):
            alone = replace(parsed, items=None, shape=replace(parsed.shape, exact=(i, 0), loose=(i, 1)))
            ours = outcome(lambda parsed=parsed: apart._context.checker.bind(parsed))
            assert ours == outcome(lambda alone=alone: whole._context.checker.bind(alone)), parsed.query.text


def spoiled(text, columns, rng):
    """The text with another column in place of one, whose type may not fit."""
    spots = [found for found in re.finditer(r"\b[a-z]\w*\b(?!\()", text) if found[0] in columns]
    found = rng.choice(spots) if spots else re.match("", text)
    return text[: found.start()] + rng.choice([c for c in columns if c.isidentifier()]) + text[found.end() :]
