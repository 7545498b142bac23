"""The shipped queries: enough of them, each described, each read by Weft and most of them sharing a scan."""

from collections import Counter

import pytest

from examples.demo.catalogue import natural, read, shipped
from examples.demo.figures import FIGURES
from examples.demo.native import SAMPLED

SCHEMA = (("ts", "timestamp"), ("symbol", "string"), ("price", "double"), ("volume", "bigint"), ("exchange", "int"))


def parsed(query):
    from weft.sql import SourceSchema, parse_query

    found = parse_query(query.name, query.sql, {"trades": SourceSchema("trades", SCHEMA, "ts")})
    return getattr(found, "query", found)


def test_there_are_at_least_forty_and_each_is_described():
    queries = shipped()
    assert len(queries) >= 40 and len({query.name for query in queries}) == len(queries)
    assert all(query.words.endswith(".") and query.sql.startswith("SELECT") for query in queries)


@pytest.mark.parametrize("query", shipped(), ids=lambda query: query.name)
def test_each_is_read(query):
    assert parsed(query).source == "trades"


def test_most_share_source_predicate_and_grouping():
    groups = Counter((query.where, query.keys) for query in map(parsed, shipped()))
    assert len(groups) >= 4
    assert groups.most_common(1)[0][1] >= len(shipped()) / 2


def test_windows_of_many_kinds_are_asked():
    windows = [parsed(query).window for query in shipped()]
    assert any(window.range % window.slide for window in windows)
    assert any(window.start for window in windows)
    assert any(window.slide < 60_000_000 for window in windows)
    assert any(window.range == window.slide for window in windows)


def test_figures_and_samples_read_shipped_queries():
    names = {query.name for query in shipped()}
    assert {name for figure in FIGURES for name in figure.queries} | set(SAMPLED) <= names


def test_a_file_must_say_what_it_is_for():
    with pytest.raises(ValueError, match="begin with a comment"):
        read("silent", "SELECT 1\n")


def test_names_sort_by_their_numbers():
    assert sorted(["ma_15m", "ma_5m", "la_240m"], key=natural) == ["la_240m", "ma_5m", "ma_15m"]
