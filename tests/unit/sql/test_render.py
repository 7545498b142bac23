"""Expressions come back from the parser with the meaning, and mostly the words, they went in with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from weft.sql import Parsed

Parse = Callable[[str], Parsed]

SAME = """abs(price)
round(price, 2)
log10(price)
to_timestamp(symbol)
date_trunc('hour', ts)
date_add(volume, 1)
date_add(DAY, 1, ts)
timestampdiff(MINUTE, ts, other_ts)
unix_timestamp(ts)
substr(symbol, 1, 2)
nvl(symbol, 'x')
ifnull(symbol, 'x')
if(price > 1, 2, 3)
mod(volume, 2)
len(symbol)
int(price)
date(ts)
CAST(price AS DECIMAL(10, 2))
TRY_CAST(symbol AS INT)
DATE '2020-01-01'
TIMESTAMP '2020-01-01 00:00:00'
TIMESTAMP_NTZ '2020-01-01 00:00:00'
DATE 'epoch'
ts - INTERVAL '1' DAY
ts + INTERVAL '1 02:03:04' DAY TO SECOND
CASE WHEN price > 1 THEN 'a' ELSE 'b' END
CASE symbol WHEN 'a' THEN 1 END
price BETWEEN 1 AND 2
symbol IN ('a', 'b')
symbol LIKE 'a%'
symbol RLIKE 'a.*'
price IS NULL
price IS NOT NULL
NOT price > 1
(price > 1) = (volume > 1)
price > 1 AND (volume > 1 OR volume < 0)
-price
- -price
~volume
volume & 1
(volume | 1) & 2
volume DIV 2
volume % 2
price * (volume + 1) / 2
price - (volume - 1)
symbol || 'x'
1e3
1.5
0.5
'it\\'s'
transform(array(1), x -> x + volume)
element_at(array(1, 2), 1)
EXTRACT(HOUR FROM ts)"""

CHANGED = [
    ("price == 1", "price = 1"),
    ("price != 1", "price <> 1"),
    ("!(price > 1)", "NOT (price > 1)"),
    ("price <=> 1", "price IS NOT DISTINCT FROM 1"),
    ("price NOT IN (1, 2)", "NOT price IN (1, 2)"),
    ("1L", "1L"),
    ("-1.5d", "-1.5d"),
    ("12.50BD", "12.50BD"),
    ("1::bigint", "CAST(1 AS BIGINT)"),
    ("price::int", "CAST(price AS INT)"),
    ('"double"', "'double'"),
    ("'it''s'", "'it\\'s'"),
    ("ts - INTERVAL 1 HOUR 30 MINUTES", "ts - (INTERVAL '1' HOUR + INTERVAL '30' MINUTES)"),
    ("ABS(trades.`Price`)", "abs(price)"),
    ("+price", "price"),
]


@pytest.mark.parametrize(
    ("before", "after"), [*((line, line) for line in SAME.splitlines()), *CHANGED]
)  # fmt: skip
def test_round_trip(parse: Parse, before: str, after: str) -> None:
    parsed = parse(f"SELECT max({before}) FROM trades GROUP BY window(ts, '1 minute')")
    assert parsed.query.calls[0].args == (after,)


@pytest.mark.parametrize("expression", ["'a\\tb'", "symbol LIKE ANY ('a', 'b')", "volume << 2", "r'a\\d'", "X'1F'"])
def test_what_is_not_trusted(parse: Parse, expression: str) -> None:
    text = "SELECT max({}) FROM trades GROUP BY window(ts, '1 minute')"
    assert parse(text.format("price > 1")).trusted
    assert not parse(text.format(expression)).trusted


def test_strings_may_hold_anything(parse: Parse) -> None:
    text = "SELECT max('--;window(ts, 1) [RANGE 1 min] FROM trades') FROM trades GROUP BY window(ts, '1 minute')"
    assert parse(text).query.calls[0].args == ("'--;window(ts, 1) [RANGE 1 min] FROM trades'",)


def test_sources_may_have_odd_names() -> None:
    from weft.sql import SourceSchema, parse_query

    odd = SourceSchema("my `odd` source", (("ts", "timestamp"), ("a`b", "int"), ("end", "int")), "ts")
    text = "SELECT `end`, max(`A``B`) FROM `my ``odd`` source` GROUP BY `end`, window(ts, '1 minute')"
    query = parse_query("q", text, {odd.name: odd}).query
    assert query.keys == ("`end`",)
    assert query.calls[0].args == ("`a``b`",)
    assert query.native.startswith("SELECT `end`, max(`A``B`) FROM __weft_source__ AS `my ``odd`` source` GROUP")
