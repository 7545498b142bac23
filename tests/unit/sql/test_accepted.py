"""Queries that are accepted, and what Weft understands of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.model import Call, Window
from weft.sql import Parsed

Parse = Callable[[str], Parsed]

MIN = 60_000_000
TEN_TWO = "window(ts, '10 minutes', '2 minutes')"
COUNT = Call("count")

# One row a query: its text and the fields of the Query that it is about.
ACCEPTED = [
    # keys, window fields, aggregates, expressions over them
    (
        f"SELECT symbol, window.start, avg(price) AS a FROM trades GROUP BY symbol, {TEN_TWO}",
        {
            "source": "trades",
            "time": "ts",
            "window": Window(10 * MIN, 2 * MIN),
            "keys": ("symbol",),
            "where": None,
            "having": None,
            "calls": (Call("avg", ("price",)),),
            "sql": ("__key_0", "__window.start", "__call_0"),
            "names": ("", "", "a"),
        },
    ),
    (
        f"SELECT max(price) - min(price) AS spread, round(avg(price), 2) FROM trades GROUP BY {TEN_TWO}",
        {"keys": (), "sql": ("__call_0 - __call_1", "round(__call_2, 2)"), "names": ("spread", "")},
    ),
    (f"SELECT window, window.end FROM trades GROUP BY {TEN_TWO}", {"sql": ("__window", "__window.end"), "calls": ()}),
    (f"SELECT hour(WINDOW.START) FROM trades GROUP BY {TEN_TWO}", {"sql": ("hour(__window.start)",)}),
    # equal calls share one column, in any spelling
    (
        f"SELECT SUM(Price), sum(t.price), Sum((PRICE)) FROM trades t GROUP BY {TEN_TWO}",
        {"calls": (Call("sum", ("price",)),), "sql": ("__call_0",) * 3},
    ),
    (f"SELECT count(*), count(1), count('x') FROM trades GROUP BY {TEN_TWO}", {"calls": (COUNT,)}),
    (
        f"SELECT count(price), count(NULL), count(symbol, price) FROM trades GROUP BY {TEN_TWO}",
        {"calls": (Call("count", ("price",)), Call("count", ("NULL",)), Call("count", ("symbol", "price")))},
    ),
    (
        f"SELECT count(DISTINCT price), COUNT(distinct (Price)), count(DISTINCT symbol, price) FILTER (WHERE volume>1)"
        f", array_agg(price), approx_percentile(price, array(.1, 5e-1)) FROM trades GROUP BY {TEN_TWO}",
        {
            "calls": (
                Call("count distinct", ("price",)),
                Call("count distinct", ("symbol", "price"), "volume > 1"),
                Call("collect_list", ("price",)),
                Call("percentile_approx", ("price", "array(0.1, 5e-1)")),
            )
        },
    ),
    (
        f"SELECT mean(price), std(price), every(price > 1), some(price > 1), any(price > 1) FROM trades"
        f" GROUP BY {TEN_TWO}",
        {
            "calls": (
                Call("avg", ("price",)),
                Call("stddev_samp", ("price",)),
                Call("bool_and", ("price > 1",)),
                Call("bool_or", ("price > 1",)),
            )
        },
    ),
    (
        f"SELECT sum(price) FILTER (WHERE (Volume > 10)) AS big FROM trades GROUP BY {TEN_TWO}",
        {"calls": (Call("sum", ("price",), "volume > 10"),), "sql": ("__call_0",)},
    ),
    (
        f"SELECT max_by(symbol, price), corr(price, volume) FROM trades GROUP BY {TEN_TWO}",
        {"calls": (Call("max_by", ("symbol", "price")), Call("corr", ("price", "volume")))},
    ),
    # names: qualifiers, case, quotes, structs
    (
        f"SELECT T.`Symbol`, t.`ODD NAME`, `Order` FROM Trades AS T GROUP BY symbol, `odd name`, t.order, {TEN_TWO}",
        {"keys": ("symbol", "`odd name`", "`order`"), "sql": ("__key_0", "__key_1", "__key_2")},
    ),
    (
        f"SELECT t.addr.city, ADDR.zip.CODE + 1 FROM trades t GROUP BY Addr.CITY, addr.zip.code, {TEN_TWO}",
        {"keys": ("Addr.City", "Addr.zip.Code"), "sql": ("__key_0", "__key_1 + 1")},
    ),
    (f"SELECT addr.city FROM trades GROUP BY addr, {TEN_TWO}", {"keys": ("Addr",), "sql": ("__key_0.City",)}),
    # WHERE and HAVING
    (
        f"SELECT count(*) FROM trades t WHERE (t.Price > 0 AND EXCHANGE == 'X') GROUP BY {TEN_TWO} HAVING COUNT(*) > 3",
        {"where": "price > 0 AND exchange = 'X'", "having": "__call_0 > 3"},
    ),
    (
        f"SELECT symbol, avg(price) a FROM trades GROUP BY symbol, {TEN_TWO} HAVING a > 1 AND sum(volume) > 2"
        " AND symbol <> 'x' AND window.start IS NOT NULL",
        {
            "having": "__call_0 > 1 AND __call_1 > 2 AND __key_0 <> 'x' AND __window.start IS NOT NULL",
            "calls": (Call("avg", ("price",)), Call("sum", ("volume",))),
        },
    ),
    (f"SELECT max(price) price FROM trades GROUP BY {TEN_TWO} HAVING max(price) > 1", {"having": "__call_0 > 1"}),
    # ordinals, aliases, GROUP BY ALL, lateral aliases
    (
        f"SELECT upper(symbol) u, {TEN_TWO} w, count(*) FROM trades GROUP BY 1, 2",
        {"keys": ("upper(symbol)",), "sql": ("__key_0", "__window", "__call_0"), "names": ("u", "w", "")},
    ),
    (
        f"SELECT upper(symbol) u, {TEN_TWO} AS w, w.start, u || 'x' FROM trades GROUP BY u, w",
        {"keys": ("upper(symbol)",), "sql": ("__key_0", "__window", "__window.start", "__key_0 || 'x'")},
    ),
    (f"SELECT symbol AS price FROM trades GROUP BY symbol, price, {TEN_TWO}", {"keys": ("symbol", "price")}),
    (
        f"SELECT {TEN_TWO} w, symbol, 1 one, price + count(*), price FROM trades GROUP BY ALL",
        {"keys": ("symbol", "price"), "sql": ("__window", "__key_0", "1", "__key_1 + __call_0", "__key_1")},
    ),
    (
        f"SELECT {TEN_TWO}.start, symbol FROM trades GROUP BY ALL",
        {"keys": ("symbol",), "sql": ("__window.start", "__key_0")},
    ),
    (
        f"SELECT sum(price) s, s / count(*) m, s * m FROM trades GROUP BY {TEN_TWO}",
        {"sql": ("__call_0", "__call_0 / __call_1", "__call_0 * (__call_0 / __call_1)")},
    ),
    # keys: expressions, parentheses, no duplicates, no constants, no functions of the window
    (
        f"SELECT (price + volume) * 2, Price+Volume FROM trades GROUP BY (price + volume), {TEN_TWO}",
        {"keys": ("price + volume",), "sql": ("(__key_0) * 2", "__key_0")},
    ),
    (f"SELECT symbol FROM trades GROUP BY symbol, SYMBOL, 'x', hour(window.start), {TEN_TWO}", {"keys": ("symbol",)}),
    # windows
    ("SELECT count(*) FROM trades GROUP BY WINDOW(TS, 'interval 10 MINUTES')", {"window": Window(10 * MIN, 10 * MIN)}),
    (
        "SELECT count(*) FROM trades"
        " GROUP BY window(trades.ts, '1 hour 30 minutes', '500 milliseconds', '-1 microsecond')",
        {"window": Window(90 * MIN, 500_000, -1)},
    ),
    (
        "SELECT count(*) FROM trades GROUP BY window(ts, 600000000, 60000000L, -5)",
        {"window": Window(600_000_000, MIN, -5)},
    ),
    (
        "SELECT window(ts, '600 seconds').end FROM trades GROUP BY window(ts, '10 minutes', '10 minutes')",
        {"window": Window(10 * MIN, 10 * MIN), "sql": ("__window.end",)},
    ),
    (
        "SELECT count(*) FROM trades GROUP BY window(timestamp_seconds(trades.volume), '1 week')",
        {"time": "timestamp_seconds(volume)", "window": Window(7 * 24 * 60 * MIN, 7 * 24 * 60 * MIN)},
    ),
    # the papers' spelling
    (
        "SELECT symbol, avg(price) FROM trades [RANGE 10 min SLIDE 2 min] GROUP BY symbol",
        {
            "time": "ts",
            "window": Window(10 * MIN, 2 * MIN),
            "keys": ("symbol",),
            "native": "SELECT symbol, avg(price) FROM __weft_source__"
            " GROUP BY symbol, window(ts, '600 seconds', '120 seconds', '0 seconds')",
        },
    ),
    (
        "SELECT window.start, max(price) FROM trades [WINDOW 90 s] WHERE price > 1",
        {"window": Window(90_000_000, 90_000_000)},
    ),
    ("SELECT t.symbol FROM trades [window 1 h 30 min slide 500ms] t GROUP BY t.symbol, window", {"keys": ("symbol",)}),
    # Flink's spelling
    (
        "SELECT symbol, window_start, WINDOW_END, sum(price) AS s FROM TABLE(HOP(TABLE trades, DESCRIPTOR(other_ts),"
        " INTERVAL '1' MINUTE, INTERVAL '10' MINUTES)) GROUP BY symbol, window_start, window_end HAVING s > 1",
        {
            "time": "other_ts",
            "window": Window(10 * MIN, MIN),
            "keys": ("symbol",),
            "having": "__call_0 > 1",
            "sql": ("__key_0", "__window.start", "__window.end", "__call_0"),
            "names": ("", "window_start", "WINDOW_END", "s"),
        },
    ),
    (
        "SELECT w.price, window_start AS s FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(`ts`), INTERVAL 5 MINUTES,"
        " INTERVAL '1' MINUTE)) AS w GROUP BY window_start, window_end, w.price",
        {"window": Window(5 * MIN, 5 * MIN, MIN), "keys": ("price",), "names": ("", "s")},
    ),
]


@pytest.mark.parametrize(("text", "expected"), ACCEPTED, ids=[text for text, _ in ACCEPTED])
def test_accepted(parse: Parse, text: str, expected: dict[str, object]) -> None:
    query = parse(text).query
    seen = {"sql": tuple(o.sql for o in query.outputs), "names": tuple(o.name for o in query.outputs)}
    assert query.text == text
    assert {field: seen.get(field, getattr(query, field, None)) for field in expected} == expected


@pytest.mark.parametrize("text", [text for text, _ in ACCEPTED])
def test_rendered_text_is_read_as_the_same_query(parse: Parse, text: str) -> None:
    first = parse(text)
    again = parse(first.rendered.replace("__weft_source__", "trades"))
    for field in ("time", "window", "where", "calls", "having"):
        assert getattr(again.query, field) == getattr(first.query, field)
    assert set(again.query.keys) == set(first.query.keys)
    assert [o.sql for o in again.query.outputs] == [o.sql for o in first.query.outputs]


def test_native_is_the_users_own_text_with_the_source_replaced(parse: Parse) -> None:
    text = "SELECT symbol -- the key\n, count(*)\nFROM  trades /* all */\nGROUP BY symbol, window(ts, '10 minutes');\n"
    parsed = parse(text)
    assert parsed.query.native == text.replace("trades", "__weft_source__ AS trades").rstrip(";\n")
    assert parsed.probe == parsed.query.native.replace("'10 minutes'", "'1 second'")


def test_native_keeps_the_users_alias(parse: Parse) -> None:
    text = f"SELECT `t`.symbol FROM `trades` `t` GROUP BY t.symbol, {TEN_TWO}"
    assert parse(text).query.native == text.replace("`trades`", "__weft_source__")


def test_probe_replaces_every_window_and_nothing_else(parse: Parse) -> None:
    text = (
        "SELECT window(date_trunc('day', ts), '10 minutes', '2 minutes').start, 'window(x, 1)' FROM trades GROUP BY 1"
    )
    assert parse(text).probe == text.replace("'10 minutes', '2 minutes'", "'1 second'").replace(
        "FROM trades", "FROM __weft_source__ AS trades"
    )


def test_a_source_with_a_column_named_window_still_has_windows(parse: Parse) -> None:
    parsed = parse("SELECT window(at, '1 minute') w, w.start, max(readings.window) FROM readings GROUP BY w")
    assert [output.sql for output in parsed.query.outputs] == ["__window", "__window.start", "__call_0"]
