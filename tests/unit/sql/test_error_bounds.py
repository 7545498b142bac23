"""Which error a query accepts: the hint SHED, `shed=`, and error() in a SELECT list."""

from __future__ import annotations

import pytest

from tests.unit.sql.conftest import SOURCES
from weft.errors import PlanError, RefusedError
from weft.model.query import Call
from weft.sql import parse_query
from weft.sql.error_bounds import parse_error_bound
from weft.sql.hints import hide_hints, without_hints

PLAIN = "SELECT symbol, avg(price) AS mean FROM trades GROUP BY symbol, window(ts, '10 minutes')"


def hinted(hint: str) -> str:
    return PLAIN.replace("SELECT ", f"SELECT {hint} ", 1)


@pytest.mark.parametrize(("text", "shed", "every"), [
    (PLAIN, None, None),
    (hinted("/*+ SHED('2%') */"), 0.02, None),
    (hinted("/*+ shed(\" 0.5 % \"), EVERY('1 minute') */"), 0.005, 60_000_000),
    (hinted("/*+ EVERY('1 minute') */ /*+ BROADCAST(x), SHED('10%') */"), 0.1, 60_000_000),
    (hinted("/* SHED('2%') */"), None, None),
])
def test_what_is_read(parse, text, shed, every):
    query = parse(text).query
    assert query.shed == (None if shed is None else pytest.approx(shed)) and query.every == every
    assert "SHED" not in query.native.upper() or shed is None


def test_the_hint_leaves_no_trace_but_the_bound(parse):
    text = hinted("/*+ SHED('2%') */")
    assert parse(text).query.native == parse(PLAIN).query.native and parse(text).items == parse(PLAIN).items
    assert without_hints(text) == PLAIN and hide_hints(text).replace(" ", "") == PLAIN.replace(" ", "")


@pytest.mark.parametrize(("hint", "given", "sentence"), [
    ("/*+ SHED('much') */", None, "line 1, column 17: the error bound 'much' is no percentage in quotes"),
    ("/*+ SHED(2) */", None, "column 12: the hint SHED takes one error bound in quotes"),
    ("/*+ SHED('0%') */", None, "an error bound lies between 0% and 100%"),
    ("/*+ SHED('100%') */", None, "an error bound lies between 0% and 100%"),
    ("/*+ SHED('2%'), SHED('3%') */", None, "the query has two hints SHED"),
    ("/*+ SHED('2%') */", "3%", "the hint accepts an error of 2%, and what comes with the query of 3%"),
    ("", 2, "the error bound 2 is no percentage"),
])
def test_what_is_no_bound(hint, given, sentence):
    with pytest.raises(RefusedError, match=sentence):
        parse_query("q", hinted(hint), SOURCES, shed=given)


def test_bounds_outside_a_query():
    assert parse_error_bound("2.5%") == pytest.approx(0.025) and parse_error_bound(0.02) == 0.02
    with pytest.raises(PlanError, match="shed: the error bound '2' is no percentage"):
        parse_error_bound("2")


def test_an_error_is_a_call_of_its_own_and_zero_to_spark(parse):
    text = ("SELECT symbol, avg(price) AS m, 2 * error(avg(price)) AS e, "
            "error(sum(volume) FILTER (WHERE price > 1)) AS f FROM trades "
            "GROUP BY symbol, window(ts, '10 minutes') HAVING error(count(*)) < 3")
    parsed = parse(text)
    assert parsed.query.calls == (Call("avg", ("price",)), Call("error avg", ("price",)),
                                  Call("error sum", ("volume",), "price > 1"), Call("error count"))
    assert [output.sql for output in parsed.query.outputs] == ["__key_0", "__call_0", "2 * __call_1", "__call_2"]
    assert "2 * if((avg(price)) IS NULL, NULL, 0.0D) AS e" in parsed.query.native
    assert "HAVING if((count(*)) IS NULL, NULL, 0.0D) < 3" in parsed.probe
    assert str(parsed.query.calls[2]) == "if(sum(volume) FILTER (WHERE price > 1) IS NULL, NULL, 0.0D)"
    assert parsed.items is not None and all("error" not in item.text for item in parsed.items)


@pytest.mark.parametrize(("item", "sentence"), [
    ("error(max(price)) AS e", r"column 16: error\(\) takes one call of count, count_if, sum, avg"),
    ("error(price) AS e", r"column 16: error\(\) takes one call"),
    ("error() AS e", r"error\(\) takes one call"),
    ("error(avg(price), 2) AS e", r"error\(\) takes one call"),
    ("error(count(DISTINCT price)) AS e", r"error\(\) takes one call"),
    ("error(avg(price))", "column 16: an error has no name of its own"),
    ("1 + error(avg(price))", "an error has no name of its own"),
])
def test_what_has_no_error(parse, item, sentence):
    with pytest.raises(RefusedError, match=sentence):
        parse(f"SELECT symbol, {item} FROM trades GROUP BY symbol, window(ts, '10 minutes')")


def test_a_column_may_be_called_error(parse):
    text = "SELECT symbol, avg(price) AS error FROM trades GROUP BY symbol, window(ts, '10 minutes') HAVING error > 3"
    assert parse(text).query.having == "__call_0 > 3"
