"""Which queries Spark can be asked about expression by expression, and in what words."""

from __future__ import annotations

import pytest

from tests.unit.sql.conftest import SOURCES
from weft.aggregates import find
from weft.sql import parse_query

WINDOW = "window(ts, '10 minutes', '2 minutes')"


@pytest.fixture
def items(parse):
    """The texts of a query's items, None where it must be seen whole."""
    def made(outputs, group="symbol", having="", source="trades", hint=""):
        rest = f"FROM {source} GROUP BY {group}, {WINDOW}" + (f" HAVING {having}" if having else "")
        found = parse(f"SELECT {hint}{outputs} {rest}").items
        return None if found is None else [item.text for item in found]

    return made


def test_an_alias_leaves_only_the_type_to_ask(items):
    assert items("Symbol AS s, avg(Price) AS a, window.END AS e") == [
        "symbol AS _", "avg(price) AS _", "window.end AS _"]


def test_spark_names_what_has_no_alias_by_the_users_own_words(items):
    assert items("Symbol, window.end, avg(Price), max( price )-1") == [
        "Symbol", "`window`.`end`", "avg(Price)", "max( price )-1"]
    assert items("`odd name`, t.Symbol, Addr.city", "`odd name`, symbol, addr.city", source="trades AS t") == [
        "`odd name`", "Symbol", "Addr.city"]


def test_having_is_the_last_of_them(items):
    assert items("symbol", having="count(*) > 1 AND Symbol <> 'x'") == ["symbol", "count(*) > 1 AND symbol <> 'x' AS _"]


def test_aliases_of_outputs_in_group_by_and_having_are_written_out(items):
    assert items("upper(symbol) AS u, avg(price) AS a", "u", "a > 1") == [
        "upper(symbol) AS _", "avg(price) AS _", "avg(price) > 1 AS _"]


@pytest.mark.parametrize("query", [
    {"outputs": "avg(price) AS a, a + 1 AS b"},  # Spark has rules of its own for aliases of outputs before
    {"outputs": "avg(t.price)", "source": "trades AS t"},  # in another FROM t means nothing
    {"outputs": f"{WINDOW}.end"},
    {"outputs": "struct(1, 2) AS s"},  # its fields are named after what is in it
    {"outputs": "(1, 2) AS s"},
    {"outputs": "symbol", "hint": "/*+ REPARTITION(x) */ "},
    {"outputs": "count(*) AS n", "group": "symbol, 'x'"},
    {"outputs": "count(*) AS n", "group": "hour(window.start)"},
])  # fmt: skip
def test_what_hangs_on_the_whole_query_is_asked_as_a_whole(items, query):
    assert items(**query) is None


def test_a_column_named_window_hides_the_window(parse):
    text = "SELECT max(value) AS m FROM readings GROUP BY window(at, '10 minutes')"
    assert parse(text).items is None


def test_aggregates_of_the_users_own_stand_beside_no_others():
    text = f"SELECT own(price) AS p FROM trades GROUP BY {WINDOW}"
    assert parse_query("q", text, SOURCES, {"own": find("sum")}).items is None


def test_other_spellings_of_windows_are_asked_in_canonical_words(parse):
    found = parse("SELECT Symbol, AVG(Price), window.end AS e FROM trades [RANGE 10 min SLIDE 2 min] GROUP BY symbol")
    assert [item.text for item in found.items] == ["symbol", "avg(price)", "window.end AS _"]


def test_loose_texts_have_types_for_numbers_and_calls_written_out(parse):
    found = parse(f"SELECT max(price) - 5 AS a, max(price) * 1.5 AS b, max(price) - 5, symbol AS s FROM trades "
                  f"WHERE volume % 10 = 5 AND price > 2.25 GROUP BY symbol, {WINDOW} HAVING count(*) > 2.5")
    assert [item.loose for item in found.items] == [
        "max(price) - ?int AS _", "max(price) * 1.5 AS _", "max(price) - 5", "symbol AS _",
        "count(*) > ?decimal(2,1) AS _"]
    assert found.loose_where == "volume % ?int = ?int AND price > ?decimal(3,2)"
