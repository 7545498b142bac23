"""The fuzzer without Spark: cases are plain values of a seed, texts are whole, and smaller cases are smaller."""

from __future__ import annotations

import re

import pytest

from tests.fuzz.case import Case, Item, Key, Query, Run, Shape, Window
from tests.fuzz.check import CRASH, DIFFERENT, EQUAL, Verdict
from tests.fuzz.draw import KINDS, draw_case
from tests.fuzz.rows import Result, differing
from tests.fuzz.shrink import calls_within, shrink, without_filters
from tests.fuzz.table import COLUMNS, rows_of
from tests.fuzz.tally import Tally
from tests.fuzz.text import spark_text, weft_text
from weft.aggregates import AGGREGATES

CASES = [draw_case(3, number) for number in range(400)]


def test_a_case_is_the_same_each_time_and_goes_to_json_and_back():
    for case in CASES[:50]:
        assert draw_case(3, case.number) == case == Case.from_json(case.to_json())
        assert [repr(row) for row in rows_of(case.shape)] == [repr(row) for row in rows_of(case.shape)]


def test_every_place_in_a_text_is_filled():
    for case in CASES:
        for query in case.queries:
            for text in (weft_text(query, case.names), spark_text(query, case.names)):
                assert "‹" not in text and "›" not in text
            assert not re.search(r"HOP\(|TUMBLE\(|t \[(RANGE|WINDOW) ", spark_text(query, case.names))


def test_all_aggregates_clauses_spellings_and_ways_are_drawn():
    tally = Tally()
    for case in CASES:
        tally.add(case, [Verdict((i,), EQUAL) for i in range(len(case.queries))])
    names = {name for aggregate in AGGREGATES for name in aggregate.names} - {"count distinct"}
    assert {name for name in names if name not in tally.drawn} == set()
    assert {f"window {s}" for s in ("spark", "range", "window", "rows", "hop", "tumble")} <= set(tally.drawn)
    assert {f"GROUP BY {s}" for s in ("plain", "positions", "aliases", "all")} <= set(tally.drawn)
    assert {"WHERE", "HAVING", "FILTER", "count(DISTINCT)", "alias reused"} <= set(tally.drawn)
    assert {f"run {kind}" for kind in KINDS} <= set(tally.drawn)


def test_a_shape_is_drawn_twice_with_other_literals():
    def shape(query: Query) -> str:
        return re.sub(r"'[^']*'|\"[^\"]*\"|[\d.]+\w*", "", weft_text(query, {}))

    pairs = [(a, b) for case in CASES for a, b in zip(case.queries, case.queries[1:], strict=False)]
    assert sum(a != b and shape(a) == shape(b) for a, b in pairs) > 50


@pytest.fixture
def case() -> Case:
    """A case of two queries, of which only one FILTER is at fault."""
    items = (Item("count(*)", "n"), Item("coalesce(max(‹x›) FILTER (WHERE ‹g› > (1)), 0)", "m"))
    query = Query(items, (Key("‹k›"),), Window("hop", 10_000, 1000), "plain", "‹b›", "count(*) > 1")
    plain = Query(items[:1], (), Window("spark", 1000, 1000))
    return Case(1, 1, Shape(100, 10, 0, 3, 0.0, 0.0, False, 7), {"x": "a b"}, {"spark.sql.ansi.enabled": "false"},
                (plain, query), Run("sink", "csv", "exhaustive"))


def test_a_failing_case_is_made_small(case):
    def fails(one: Case) -> bool:
        rows = rows_of(one.shape)
        return len(rows) > 2 and any("FILTER" in item.sql for query in one.queries for item in query.items)

    small = shrink(case, Verdict((1,), CRASH), fails, 10.0)
    (query,) = small.queries
    assert [item.sql for item in query.items] == ["max(‹x›) FILTER (WHERE ‹g› > (1))"]
    assert (query.keys, query.where, query.having, query.window.spelling) == ((), None, None, "spark")
    assert (len(rows_of(small.shape)), small.names, small.settings, small.run) == (3, {}, {}, Run())


def test_calls_and_filters_are_found_in_texts():
    text = "coalesce(max(x) FILTER (WHERE (g) > 1), sum(y + (1)))"
    assert list(calls_within(text)) == ["max(x) FILTER (WHERE (g) > 1)", "sum(y + (1))"]
    assert list(without_filters(text)) == ["coalesce(max(x), sum(y + (1)))"]


@pytest.mark.parametrize("ours, theirs, same", [
    ([[1, 0.1]], [[1, 0.1 + 1e-13]], True),
    ([[1, 0.1]], [[1, 0.2]], False),
    ([[1, float("nan")]], [[1, float("nan")]], True),
    ([[1, None]], [[1, 0.0]], False),
    ([[1, 2.0], [2, 1.0]], [[2, 1.0], [1, 2.0]], True),
    ([[1, 2.0]], [[1, 2.0], [1, 2.0]], False),
])
def test_rows_agree_as_sets_within_rounding(ours, theirs, same):
    columns = (("a", "int"), ("b", "double"))
    found = differing(Result(columns, ours), Result(columns, theirs), [False, False], [False, False])
    assert (found is None) == same


def test_a_tally_counts_what_was_compared():
    tally = Tally()
    tally.add(CASES[0], [Verdict((0,), EQUAL), Verdict((1,), DIFFERENT, "…")])
    assert tally.outcomes == {EQUAL: 1, DIFFERENT: 1}
    assert "2 queries compared" in tally.line()
    assert len(COLUMNS) == 23
