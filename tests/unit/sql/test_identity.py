"""The index of expressions: queries get the texts of those before them, and keep their own outputs."""

from __future__ import annotations

import pytest

from weft.sql.identity import Expressions

FIRST = ("SELECT symbol, sum(price * volume) FILTER (WHERE volume > 10) AS v FROM trades WHERE price > 100 "
         "GROUP BY symbol, exchange, window(ts, '5 minutes')")


@pytest.fixture
def index(columns):
    made = Expressions()
    made.register("trades", columns)
    return made


def test_texts_of_equal_meaning_become_the_first_text(parse, index):
    first = parse(FIRST).query
    assert index.shared(first) == first
    index.keep(first)
    other = parse(
        "SELECT symbol, sum(volume * price) FILTER (WHERE 10 < VOLUME) FROM trades WHERE 100 < price "
        "GROUP BY symbol, exchange, window(ts, '1 hour')"
    ).query
    shared = index.shared(other)
    assert (shared.where, shared.keys, shared.calls) == (first.where, first.keys, first.calls)
    assert (shared.text, shared.native, shared.window) == (other.text, other.native, other.window)
    assert [o.sql for o in shared.outputs] == [o.sql for o in other.outputs]


def test_keys_take_the_first_order_and_outputs_follow(parse, index):
    index.keep(parse(FIRST).query)
    other = parse(
        "SELECT exchange AS e, upper(symbol) AS s FROM trades "
        "GROUP BY exchange, symbol, window(ts, '1 hour') HAVING exchange <> 'X'"
    ).query
    shared = index.shared(other)
    assert shared.keys == ("symbol", "exchange")
    assert [o.sql for o in shared.outputs] == ["__key_1", "upper(__key_0)"]
    assert shared.having == "__key_1 <> 'X'"


def test_a_query_that_is_not_kept_leaves_no_trace(parse, index):
    index.shared(parse(FIRST).query)
    other = parse(FIRST.replace("price > 100", "100 < price")).query
    assert index.shared(other).where == "100 < price"


def test_keys_that_mean_the_same_twice_stay_two(parse, index):
    query = parse("SELECT price + volume, volume + price FROM trades "
                  "GROUP BY price + volume, volume + price, window(ts, '1 hour')").query
    index.keep(query)
    shared = index.shared(query)
    assert len(shared.keys) == 2
    assert [o.sql for o in shared.outputs] == ["__key_0", "__key_1"]


def test_sources_do_not_meet(parse, index):
    index.keep(parse(FIRST).query)
    query = parse("SELECT count(*) FROM log WHERE 100 < value GROUP BY window(at, '1 hour')").query
    assert index.shared(query).where == "100 < value"
