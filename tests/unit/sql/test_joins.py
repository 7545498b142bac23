"""Joins in SQL: what is lifted out of FROM, which texts are the same join, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.errors import QueryError
from weft.sql import Parsed, SourceSchema, parse_query

TRADES = SourceSchema("trades", (("ts", "timestamp"), ("symbol", "string"), ("price", "double"),
                                 ("addr", "struct<City:string>")), "ts")
QUOTES = SourceSchema("quotes", (("at", "timestamp"), ("symbol", "string"), ("bid", "double"), ("id", "int")), "at")
NEWS = SourceSchema("news", (("ts", "timestamp"), ("Symbol", "string"), ("words", "int")), "ts")
LOCAL = SourceSchema("local", (("ts", "timestamp_ntz"), ("symbol", "string")), "ts")
FIRMS = SourceSchema("firms", (("symbol", "string"), ("sector", "string"), ("window", "int")), None)
SOURCES = {each.name: each for each in (TRADES, QUOTES, NEWS, LOCAL, FIRMS)}

W = "GROUP BY window(a.ts, '10 minutes', '2 minutes')"
AT = "b.at BETWEEN a.ts - INTERVAL '5' MINUTE AND a.ts + INTERVAL '1' MINUTE"
ON = f"ON a.symbol = b.symbol AND {AT}"
BOTH = ("`quotes.symbol` = `trades.symbol`", "`quotes.at` <= `trades.ts` + INTERVAL '60' SECOND",
        "`trades.ts` <= `quotes.at` + INTERVAL '300' SECOND")
LAST = ("`quotes.symbol` = `trades.symbol`", "`quotes.at` <= `trades.ts` + INTERVAL '600' SECOND",
        "`trades.ts` <= `quotes.at` + INTERVAL '300' SECOND")


@pytest.fixture
def parse() -> Callable[[str], Parsed]:
    """Parse one query named `q` over sources that can be joined."""
    return lambda text: parse_query("q", text, SOURCES)


# The text, the conditions of its join, and the predicate that is left.
JOINS = [
    (f"SELECT count(*) FROM trades a JOIN quotes b {ON} {W}", BOTH, None),
    (f"SELECT count(*) FROM trades a INNER JOIN quotes AS b {ON} WHERE price > 1 {W}", BOTH, "`trades.price` > 1"),
    (f"SELECT count(*) FROM quotes b CROSS JOIN trades a WHERE {AT} AND b.symbol = a.symbol {W}", BOTH, None),
    (f"SELECT count(*) FROM quotes b, trades a WHERE {AT} AND b.symbol = a.symbol {W}", BOTH, None),
    (f"SELECT count(*) FROM quotes b JOIN trades a USING (symbol) WHERE {AT} {W}", BOTH, None),
    ("SELECT count(*) FROM trades A JOIN Quotes B ON A.SYMBOL = B.symbol AND a.ts - INTERVAL 300 SECONDS <= b.At AND "
     f"NOT (price < bid) AND b.at < a.ts + INTERVAL '1 minute 0.000001 seconds' {W}", BOTH,
     "NOT (`trades.price` < `quotes.bid`)"),
    (f"SELECT count(*) FROM trades a JOIN quotes b {ON} AND b.at > a.ts - INTERVAL 1 HOUR {W}", BOTH, None),
    (f"SELECT count(*) FROM trades a [RANGE 10 min], quotes b [RANGE 5 min] WHERE a.symbol = b.symbol {W}", LAST, None),
    (f"SELECT count(*) FROM trades [RANGE 10 min] a JOIN quotes [RANGE 300 s] AS b ON a.symbol = b.symbol {W}", LAST,
     None),
    (f"SELECT count(*) FROM trades a JOIN firms f ON a.symbol = upper(f.symbol) WHERE f.sector = 'x' OR price > 2 {W}",
     ("`trades.symbol` = upper(`firms.symbol`)",), "`firms.sector` = 'x' OR `trades.price` > 2"),
    (f"SELECT count(*) FROM trades a JOIN trades b ON a.symbol = b.symbol AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 "
     f"MINUTE {W}", ("`trades.symbol` = `trades_2.symbol`", "`trades.ts` <= `trades_2.ts` + INTERVAL '0' SECOND",
                     "`trades_2.ts` <= `trades.ts` + INTERVAL '60' SECOND"), None),
    (f"SELECT count(*) FROM trades a JOIN quotes b ON a.symbol = b.symbol AND a.ts = b.at {W}",
     ("`quotes.at` = `trades.ts`", "`quotes.symbol` = `trades.symbol`",
      "`quotes.at` <= `trades.ts` + INTERVAL '0' SECOND", "`trades.ts` <= `quotes.at` + INTERVAL '0' SECOND"), None),
    (f"SELECT count(*) FROM trades a JOIN quotes b ON a.symbol = b.symbol AND b.at BETWEEN a.ts - INTERVAL 1 DAY AND "
     f"a.ts {W}", ("`quotes.symbol` = `trades.symbol`", "`quotes.at` <= `trades.ts` + INTERVAL '0' SECOND",
                   "`trades.ts` - INTERVAL '86400' SECOND <= `quotes.at`"), None),
]


@pytest.mark.parametrize(("text", "conditions", "where"), JOINS, ids=[text for text, *_ in JOINS])
def test_equal_joins_are_one_however_they_are_written(parse, text, conditions, where):
    """Equalities and bounds make the join; the rest is the query's own predicate."""
    query = parse(text).query
    assert (query.join.conditions, query.where) == (conditions, where)
    assert query.source == query.join.name


def test_a_self_join_means_the_same_with_its_aliases_swapped(parse):
    """The order of the two is that of the least conditions, and every column follows it."""
    texts = [f"SELECT count(*) FILTER (WHERE {x}.price > 1) AS c FROM trades {a} JOIN trades {b} ON "
             f"x.symbol = y.symbol AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 MINUTE "
             f"GROUP BY window({x}.ts, '1 minute')"
             for a, b, x in (("x", "y", "x"), ("y", "x", "x"))]
    first, second = (parse(text).query for text in texts)
    assert (first.join, first.time, first.calls) == (second.join, second.time, second.calls)
    other = parse(texts[0].replace("x.price", "y.price")).query
    assert other.join == first.join
    assert other.calls != first.calls


def test_columns_have_the_name_of_their_source(parse):
    """Qualified or not, in every clause, structs too."""
    query = parse("SELECT a.Symbol, sector, max(addr.city) AS c, sum(bid) FILTER (WHERE b.id = 1) FROM trades a "
                  f"JOIN quotes b {ON} JOIN firms ON firms.symbol = b.symbol GROUP BY a.symbol, sector, "
                  "window(a.ts, '10 minutes') HAVING max(price) > 1").query
    assert query.keys == ("`trades.symbol`", "`firms.sector`")
    assert [str(call) for call in query.calls] == [
        "max(`trades.addr`.City)", "sum(`quotes.bid`) FILTER (WHERE `quotes.id` = 1)", "max(`trades.price`)"]
    assert (query.time, query.inputs) == ("`trades.ts`", ("firms", "quotes", "trades"))


def test_spark_runs_the_users_own_text(parse):
    """With a view for each source; join windows become conditions."""
    view = "`__weft_input__ {}`".format
    windows = "trades a [RANGE 10 min], quotes [RANGE 5 min]"
    query = parse(f"SELECT count(*) FROM {windows} WHERE a.symbol = quotes.symbol {W}").query
    assert query.native == (
        f"SELECT count(*) FROM {view('trades')} a , {view('quotes')} AS quotes  WHERE quotes.at <= a.ts + "
        "INTERVAL '600' SECOND AND a.ts <= quotes.at + INTERVAL '300' SECOND AND ( a.symbol = quotes.symbol ) "
        f"{W}")
    alone = parse(f"SELECT count(*) FROM trades a [RANGE 10 min], firms f WHERE a.symbol = f.symbol {W}").query
    assert alone.native == f"SELECT count(*) FROM {view('trades')} a , {view('firms')} f WHERE a.symbol = f.symbol {W}"
    parsed = parse(f"SELECT count(*) FROM trades a JOIN quotes b {ON} {W}")
    assert parsed.probe == (f"SELECT count(*) FROM {view('trades')} a JOIN {view('quotes')} b {ON} "
                            "GROUP BY window(a.ts, '1 second')")


def test_three_streams_may_be_bound_through_one(parse):
    """Each pair is bound if a chain of bounds says so."""
    text = (f"SELECT count(*) FROM trades a JOIN quotes b {ON} JOIN news c ON c.symbol = b.symbol AND c.ts BETWEEN "
            f"b.at AND b.at + INTERVAL 1 MINUTE {W}")
    join = parse(text).query.join
    assert [each.alias for each in join.inputs] == ["news", "quotes", "trades"]
    assert join.reach[0][2] == 120_000_000


# The text with ‸ before the place that the error must name, and a word of the error.
REFUSED = [
    (f"SELECT count(*) FROM trades a ‸LEFT JOIN quotes b {ON} {W}", "no LEFT JOIN"),
    (f"SELECT count(*) FROM trades a ‸FULL OUTER JOIN quotes b {ON} {W}", "no FULL"),
    (f"SELECT count(*) FROM trades a ‸LEFT SEMI JOIN quotes b {ON} {W}", "SEMI"),
    (f"SELECT count(*) FROM trades a ‸NATURAL JOIN quotes b {W}", "NATURAL"),
    (f"SELECT count(*) FROM trades a JOIN ‸quotes b ON a.symbol = b.symbol {W}", "no condition binds the event times"),
    (f"SELECT count(*) FROM trades a, ‸quotes b WHERE a.symbol = b.symbol {W}", "register it without `time`"),
    (f"SELECT count(*) FROM trades a JOIN ‸quotes b ON a.symbol = b.symbol AND b.at > a.ts {W}",
     "how far b.at can be after a.ts"),
    (f"SELECT count(*) FROM trades a JOIN ‸quotes b ON a.symbol = b.symbol AND b.at < a.ts {W}",
     "how far a.ts can be after b.at"),
    (f"SELECT count(*) FROM trades a [RANGE 5 min], ‸quotes b WHERE a.symbol = b.symbol {W}", "how far a.ts can be"),
    (f"SELECT count(*) FROM trades a JOIN ‸quotes b ON {AT} {W}", "no equality links 'b'"),
    (f"SELECT count(*) FROM trades a JOIN ‸quotes b ON (a.symbol = b.symbol OR price = 1) AND {AT} {W}", "no equality"),
    (f"SELECT count(*) FROM trades a JOIN ‸firms f ON a.symbol = 'x' {W}", "no equality links 'f'"),
    (f"SELECT count(*) FROM trades a ‸[ROWS 10], quotes b [RANGE 5 min] WHERE a.symbol = b.symbol {W}", "so many rows"),
    (f"SELECT count(*) FROM trades a ‸[RANGE 5 min SLIDE 1 min], quotes b WHERE a.symbol = b.symbol {W}", "no slide"),
    (f"SELECT count(*) FROM trades a [‸RANGE five min], quotes b [RANGE 5 min] WHERE 1 = 1 {W}", "not a duration"),
    (f"SELECT count(*) FROM trades a [RANGE 10 min], firms f ‸[RANGE 5 min] WHERE a.symbol = f.symbol {W}",
     "a table has no window. Leave the bracket out, or register 'firms' with `time`"),
    (f"SELECT count(*) FROM firms f ‸[RANGE 5 min], trades a WHERE a.symbol = f.symbol {W}", "a table has no window"),
    (f"SELECT ‸symbol FROM trades a JOIN quotes b {ON} {W}", "a column of a and of b"),
    (f"SELECT count(*) FROM trades a JOIN quotes b ON a.symbol = ‸b.nothing {W}", "no column 'nothing'"),
    (f"SELECT a.symbol, count(*) AS price FROM trades a JOIN quotes b {ON} GROUP BY a.symbol, window(a.ts, '1 hour') "
     "HAVING ‸price > 1", "both a column of a source and an alias"),
    ("SELECT ‸window.start FROM trades a JOIN firms f ON a.symbol = f.symbol GROUP BY window(a.ts, '1 hour')",
     "both a column of a source and the window"),
    (f"SELECT count(*) FROM trades JOIN ‸trades ON 1 = 1 {W}", "are called 'trades'"),
    (f"SELECT count(*) FROM trades a JOIN ‸local b ON a.symbol = b.symbol {W}", "timestamps of one type"),
    (f"SELECT count(*) FROM trades a JOIN ‸prices b {ON} {W}", "no source 'prices'"),
    (f"SELECT count(*) FROM trades a JOIN (‸SELECT 1) b ON a.symbol = b.symbol {W}", "subqueries"),
    ("SELECT count(*) FROM ‸trades a JOIN quotes b ON a.symbol = b.symbol AND b.at BETWEEN a.ts + INTERVAL 1 MINUTE "
     f"AND a.ts {W}", "no rows meet the bounds"),
    ("SELECT count(*) FROM trades a JOIN quotes b ON a.symbol = b.symbol AND b.at BETWEEN ‸a.ts - INTERVAL 1 MONTH AND "
     f"a.ts {W}", "no fixed length"),
    ("SELECT count(*) FROM trades a JOIN quotes b ON a.symbol = b.symbol AND b.at BETWEEN ‸a.ts - INTERVAL '1:30' HOUR "
     f"TO MINUTE AND a.ts {W}", "cannot read the interval"),
    ("SELECT count(*) FROM trades a JOIN quotes b USING (‸price) GROUP BY window(a.ts, '1 hour')", "no column 'price'"),
    ("SELECT count(*) FROM firms a, firms b, firms c, firms d, firms e, ‸firms f GROUP BY window(a.ts, '1 hour')",
     "at most 5"),
    (f"SELECT count(*) FROM trades a JOIN quotes b {ON} GROUP BY ‸symbol, window(a.ts, '1 hour')", "a column of a and"),
    (f"SELECT count(*) FROM trades a JOIN quotes b {ON} ‸GROUP BY a.symbol", "no window"),
]


@pytest.mark.parametrize(("marked", "word"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_refused_says_where_and_why(parse, marked, word):
    """The error names the query, the place and what is wrong, and mostly what to write instead."""
    before, _, after = marked.partition("‸")
    with pytest.raises(QueryError) as caught:
        parse(before + after)
    error = caught.value
    assert word in str(error)
    assert error.place is not None
    assert (error.place.line, error.place.column) == (1, len(before) + 1)
