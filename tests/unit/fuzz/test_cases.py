"""The fuzzer without Spark: cases are plain values of a seed, texts are whole, and smaller cases are smaller."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from tests.fuzz import check
from tests.fuzz.case import Case, Item, Key, Query, Run, Shape, Window
from tests.fuzz.check import CRASH, DIFFERENT, EQUAL, RAISED, TROUBLE, Verdict
from tests.fuzz.draw import KINDS, draw_case
from tests.fuzz.rows import Result, differing
from tests.fuzz.runs import DELAY, with_late_rows
from tests.fuzz.shrink import calls_within, shrink, without_filters
from tests.fuzz.table import COLUMNS, rows_of
from tests.fuzz.tally import Tally
from tests.fuzz.text import spark_text, weft_text
from weft.aggregates import AGGREGATES
from weft.errors import RunError

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


BUSY = OSError("[CANNOT_OPEN_SOCKET] Can not open socket: [\"tried to connect to ('127.0.0.1', 41)\"].")


def test_a_machine_that_is_too_busy_is_no_failure(case):
    crash = RunError("Spark failed while it computed 'q0'.")
    crash.__cause__ = Exception("Job aborted.\n\tCaused by: SparkException: Python worker failed to connect back.")
    assert check.unrun((0, 1), crash, {}).outcome == check.unrun((0,), {}, BUSY).outcome == TROUBLE
    assert check.refused((0,), BUSY).outcome == TROUBLE
    assert check.unrun((0,), RunError("no"), ValueError("no")).outcome == RAISED
    assert check.unrun((0,), RunError("no"), {}).outcome == CRASH
    tally = Tally()
    tally.add(case, [Verdict((0, 1), TROUBLE, "…")])
    assert "0 queries compared" in tally.line() and "2 not run" in tally.line()
    assert "2 queries were not compared" in str(tally) and not Verdict((0,), TROUBLE).failed


def test_a_case_that_cannot_be_set_up_for_that_reason_is_counted_and_others_raise(case, monkeypatch):
    def fail(*_: object) -> None:
        raise BUSY

    monkeypatch.setattr(check, "judge_case", fail)
    assert [(v.queries, v.outcome) for v in check.check(None, case)] == [((0, 1), TROUBLE)]
    monkeypatch.setattr(check, "BUSY", re.compile("something else"))
    with pytest.raises(OSError, match="CANNOT_OPEN_SOCKET"):
        check.check(None, case)


def test_late_rows_are_later_than_the_watermark_and_the_longest_slide(case):
    start = datetime(2024, 1, 1, tzinfo=UTC)
    parts = [[{"ts": start + timedelta(seconds=10 * i + j), "x": i} for j in range(10)] for i in range(4)]
    late = with_late_rows(replace(case, run=Run("stream", late=3)), parts, random.Random(1))
    assert [len(part) for part in late] == [10, 10, 13, 13]
    for i, part in enumerate(late[2:]):
        closed = parts[i][-1]["ts"] - DELAY - timedelta(seconds=1)  # by the file two before; slides are of a second
        assert all(row["ts"] < closed for row in part[10:])
    assert with_late_rows(replace(case, run=Run("stream")), parts, random.Random(1)) == parts
