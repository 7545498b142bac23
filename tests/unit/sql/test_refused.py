"""Queries that are not accepted: the error's kind, its place and a word of its sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.errors import CheckError, ParseError, QueryError, RefusedError
from weft.sql import Parsed

Parse = Callable[[str], Parsed]
W = "GROUP BY window(ts, '10 minutes')"

# The text with ‸ before the place that the error must name, and a word of the error.
REFUSED = [
    # no window, other windows, several windows
    ("SELECT symbol, count(*) FROM trades ‸GROUP BY symbol", "no window"),
    ("‸SELECT count(*) FROM trades", "no window"),
    ("SELECT ‸window(ts, '1 minute') FROM trades", "not in GROUP BY"),
    ("SELECT window(ts, '1 minute') w FROM trades GROUP BY w, ‸window(ts, '2 minutes')", "more than one window"),
    ("SELECT count(*) FROM trades GROUP BY ‸session_window(ts, '1 minute')", "session"),
    ("SELECT window(ts, '1 minute') FROM trades GROUP BY ‸hour(window(ts, '1 minute').start)", "merge windows"),
    (f"SELECT count(*) FROM trades GROUP BY ‸symbol || window.start, {W[9:]}", "merge windows"),
    (f"SELECT ‸window_time(window) FROM trades {W}", "window_time"),
    ("SELECT count(*) FROM trades [RANGE 1 min] GROUP BY ‸window(ts, '1 minute')", "more than one window"),
    # shapes
    (f"SELECT a.price FROM trades a JOIN ‸readings b ON true {W}", "no equality"),
    (f"SELECT price FROM trades, ‸readings {W}", "no equality"),
    ("SELECT price FROM (‸SELECT * FROM trades)", "subqueries"),
    (f"SELECT count(*) FROM trades WHERE price IN (‸SELECT value FROM readings) {W}", "subqueries"),
    ("‸WITH t AS (SELECT * FROM trades) SELECT count(*) FROM t", "WITH"),
    (f"SELECT count(*) FROM trades {W} ‸UNION ALL SELECT count(*) FROM trades {W}", "UNION"),
    (f"SELECT price FROM trades LATERAL VIEW ‸explode(array(1)) x AS y {W}", "LATERAL VIEW"),
    (f"SELECT count(*) AS c FROM trades {W} ‸ORDER BY c", "ORDER BY"),
    (f"SELECT count(*) AS c FROM trades {W} ‸SORT BY c", "SORT BY"),
    (f"SELECT count(*) AS c FROM trades {W} ‸CLUSTER BY c", "CLUSTER BY"),
    (f"SELECT count(*) AS c FROM trades {W} ‸LIMIT 3", "LIMIT"),
    (f"SELECT count(*) AS c FROM trades {W} ‸OFFSET 3", "OFFSET"),
    (f"SELECT ‸DISTINCT symbol FROM trades {W}", "SELECT DISTINCT"),
    (f"SELECT symbol FROM trades ‸TABLESAMPLE (10 PERCENT) {W}", "TABLESAMPLE"),
    (f"SELECT symbol FROM trades ‸|> WHERE price > 1 {W}", "pipe"),
    (f"SELECT symbol FROM ‸range(10) {W}", "one registered source"),
    (f"SELECT ‸* FROM trades {W}", "SELECT *"),
    (f"SELECT trades.‸* FROM trades {W}", "SELECT *"),
    ("SELECT count(*) FROM trades GROUP BY ‸ROLLUP (symbol)", "ROLLUP"),
    ("SELECT count(*) FROM trades GROUP BY ‸CUBE (symbol)", "CUBE"),
    ("SELECT count(*) FROM trades GROUP BY ‸GROUPING SETS ((symbol))", "GROUPING SETS"),
    (f"‸INSERT INTO t SELECT count(*) FROM trades {W}", "SELECT only"),
    ("‸EXPLAIN SELECT 1", "SELECT only"),
    (f"SELECT count(*) FROM trades {W}‸; SELECT 1", "several statements"),
    (f"‸(SELECT count(*) FROM trades {W})", "parentheses"),
    # expressions
    (f"SELECT count(‸DISTINCT *) FROM trades {W}", "Name the columns"),
    (f"SELECT max(price) IS DISTINCT FROM 1, sum(‸DISTINCT price) FROM trades {W}", "inside count() only"),
    (f"SELECT count(DISTINCT price), collect_list(‸DISTINCT price) FROM trades {W}", "inside count() only"),
    (f"SELECT count(DISTINCT ‸max(price)) FROM trades {W}", "another aggregate"),
    (f"SELECT ‸percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM trades {W}", "WITHIN GROUP"),
    (f"SELECT max(‸min(price)) FROM trades {W}", "another aggregate"),
    (f"SELECT sum(price) FILTER (WHERE ‸max(price) > 1) FROM trades {W}", "another aggregate"),
    (f"SELECT ‸sum(price) OVER (PARTITION BY symbol) FROM trades {W}", "OVER"),
    (f"SELECT ‸row_number() FROM trades {W}", "analytic"),
    (f"SELECT ‸explode(array(1, 2)) FROM trades {W}", "several rows"),
    (f"SELECT count(*) FROM trades WHERE ‸max(price) > 1 {W}", "WHERE"),
    (f"SELECT count(*) FROM trades {W}, ‸sum(price)", "GROUP BY"),
    (f"SELECT symbol, ‸count(*) FROM trades {W}, 2", "GROUP BY"),
    (f"SELECT ‸percentile_cont(price, 0.5) FROM trades {W}", "yet"),
    (f"SELECT ‸HLL_SKETCH_AGG(price) FROM trades {W}", "yet"),
    (f"SELECT ‸first(price) FROM trades {W}", "yet"),
    (f"SELECT ‸string_agg(symbol, ',') FROM trades {W}", "yet"),
    (f"SELECT count(*) FROM trades WHERE price > ‸rand() {W}", "run to run"),
    (f"SELECT ‸uuid() FROM trades {W}", "run to run"),
    (f"SELECT count(*) FROM trades WHERE ts < ‸current_timestamp() {W}", "run to run"),
    (f"SELECT count(*) FROM trades WHERE ts < ‸current_date {W}", "run to run"),
    (f"SELECT count(*) FROM trades WHERE ts < ‸localtimestamp {W}", "run to run"),
    (f"SELECT count(*) FROM trades WHERE ts < timestamp ‸'now' {W}", "run to run"),
    (f"SELECT count(*) FROM trades WHERE price > ‸:low {W}", "parameters"),
    (f"SELECT count(*) FROM trades WHERE price > ‸? {W}", "parameters"),
    (f"SELECT count(*) FROM trades WHERE symbol = 'a‸${{b}}' {W}", "variables"),
    (f"SELECT sum(hour(‸window.start)) FROM trades {W}", "rows, not windows"),
    (f"SELECT count(*) FROM trades WHERE ‸window.start > ts {W}", "rows, not windows"),
    (f"SELECT ‸struct(symbol) FROM trades {W}, symbol", "struct"),
    (f"SELECT sum(‸volume | volume & 1) FROM trades {W}", "parentheses"),
    (f"SELECT count(*) FROM trades WHERE ‸price = volume IN (true) {W}", "parentheses"),
    (f"SELECT sum(price) AS symbol FROM trades {W} HAVING ‸symbol > 1", "both"),
    (f"SELECT upper(symbol) AS window FROM trades {W}, symbol HAVING ‸window > 1", "both"),
    ("SELECT ‸window.start FROM readings GROUP BY window(at, '1 minute')", "both"),
    (f"SELECT ‸__call_0 FROM trades {W}", "Weft's own"),
    # windows
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, '1 minute', '2 minutes')", "larger than its range"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, '2 minutes', '1 minute', '1 minute')", "start offset"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, '2 minutes', '1 minute', '-1 minute')", "start offset"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, '0 minutes')", "longer than zero"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, '-5 minutes')", "longer than zero"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, '5 minutes', '0 seconds')", "longer than zero"),
    ("SELECT count(*) FROM trades GROUP BY window(ts, ‸'1 month')", "no fixed length"),
    ("SELECT count(*) FROM trades GROUP BY window(ts, '5 days', ‸'1 year')", "no fixed length"),
    ("SELECT count(*) FROM trades GROUP BY window(ts, ‸concat('1', ' minute'))", "literals"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts, INTERVAL 10 MINUTES)", "write '10 minutes'"),
    ("SELECT max(value) FROM readings ‸[RANGE 1 min]", "column named window"),
    ("SELECT count(*) FROM trades ‸[RANGE 1 min SLIDE 2 min]", "larger than its range"),
    ("SELECT count(*) FROM trades [‸RANGE 1 month]", "no fixed length"),
    ("SELECT count(*) FROM TABLE(‸CUMULATE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE))", "cumulate"),
    ("SELECT count(*) FROM ‸TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE))", "not in GROUP BY"),
    (
        "SELECT ‸window_time FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
        " GROUP BY window_start, window_end",
        "window_time",
    ),
]

WRONG = [
    (f"SELECT count(*) FROM ‸trade {W}", "Did you mean 'trades'"),
    (f"SELECT count(*) FROM ‸nowhere {W}", "Registered: trades, readings, log"),
    (f"SELECT max(‸prise) FROM trades {W}", "Did you mean 'price'"),
    (f"SELECT max(‸t.prise) FROM trades t {W}", "Did you mean 'price'"),
    (f"SELECT max(‸trades.price) FROM trades t {W}", "no column 'trades.price'"),
    ("SELECT count(*) FROM trades GROUP BY window(‸time, '1 minute')", "no column 'time'"),
    (f"SELECT ‸price, count(*) FROM trades {W}", "neither grouped nor aggregated"),
    (f"SELECT max(price) + ‸volume FROM trades {W}", "'volume'"),
    (f"SELECT count(*) FROM trades {W} HAVING ‸price > 1", "'price'"),
    (f"SELECT ‸window.middle FROM trades {W}", "no field 'middle'"),
    (f"SELECT count(*) FROM trades {W}, ‸3", "position 3"),
    (f"SELECT ‸sum() FROM trades {W}", "arguments"),
    (f"SELECT ‸corr(price) FROM trades {W}", "arguments"),
    (f"SELECT ‸percentile(price) FROM trades {W}", "2 to 3 arguments"),
    (f"SELECT ‸mode() FROM trades {W}", "arguments"),
    (f"SELECT ‸count() FROM trades {W}", "arguments"),
    ("SELECT count(*) FROM trades GROUP BY ‸window(ts)", "arguments"),
    ("SELECT count(*) FROM trades GROUP BY window(ts, ‸'10 min')", "not a duration"),
    ("SELECT count(*) FROM trades GROUP BY window(ts, ‸'1.5 minutes')", "fraction"),
    ("SELECT count(*) FROM trades GROUP BY window(ts, ‸'')", "not a duration"),
    ("SELECT max(value) FROM log ‸[RANGE 1 min]", "no event time"),
    (f"SELECT sum(price) a, sum(volume) a, ‸a + 1 FROM trades {W}", "stands for 2"),
]

UNREADABLE = [
    ("", "empty"),
    (" ; ", "empty"),
    ("‸SELEC symbol FROM trades", "SELEC"),
    (f"SELECT symbol FROM trades WHERE ‸GROUP BY {W[9:]}", "cannot be read"),
    ("SELECT symbol\nFROM trades ‸) x", "cannot be read"),
    ("SELECT ‸'abc FROM trades", "not closed"),
    ("SELECT 'a', symbol FROM trades\nWHERE ‸`x = 1", "not closed"),
    ("SELECT count(*) FROM trades [‸RANGE ten min]", "not a duration"),
    ("SELECT count(*) FROM TABLE(‸HOP(TABLE trades, INTERVAL '1' MINUTE))", "arguments of HOP"),
]

CASES = [
    *((text, word, RefusedError) for text, word in REFUSED),
    *((text, word, CheckError) for text, word in WRONG),
    *((text, word, ParseError) for text, word in UNREADABLE),
]


@pytest.mark.parametrize(("marked", "word", "kind"), CASES, ids=[text for text, _, _ in CASES])
def test_not_accepted(parse: Parse, marked: str, word: str, kind: type[QueryError]) -> None:
    before, mark, _ = marked.partition("‸")
    with pytest.raises(QueryError) as caught:
        parse(marked.replace("‸", ""))
    error = caught.value
    assert type(error) is kind
    assert error.query == "q"
    assert word in str(error)
    assert error.hint
    if mark:
        assert error.place is not None
        lines = before.split("\n")
        assert (error.place.line, error.place.column) == (len(lines), len(lines[-1]) + 1)


@pytest.mark.parametrize(("text", "word"), REFUSED + WRONG)
def test_sentences_are_sentences(parse: Parse, text: str, word: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text.replace("‸", ""))
    assert caught.value.reason.endswith((".", "?"))
    assert caught.value.hint.endswith((".", "?"))
