"""Queries that are replaced more than once while their scans catch up, without Spark: no window is answered twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from tests.harness.live_control import A, B, accept, advance, control_maker
from tests.harness.live_run import find_lives
from tests.unit.stages.test_explain import SECOND
from weft.errors import QueryError
from weft.io.sources.rate import Rate
from weft.spark.stream.checkpoint import Checkpoint


def bounds(page: Checkpoint, key: str) -> dict[str, int]:
    """After which second each window of a scan is answered, by its range and slide."""
    second = {name: at // SECOND for found in page.state[key]["groupings"].values()
              for name, at in found.get("history", {}).get("windows", {}).items()}
    return {"/".join(str(int(us) // SECOND) for us in name.split("+")[0].split("/")): at for name, at in second.items()}


@pytest.fixture
def behind(monkeypatch, tmp_path):
    """A control whose query b was answered up to second 1000 by one scan, and was replaced by one in another."""
    control = control_maker(monkeypatch, tmp_path)(A, B)
    advance(control)
    found = control.propose({"b": "finer"}, ("b",), {})
    accept(control, found)
    control.behind = found.fresh[0]
    return control


@pytest.mark.parametrize("until", [None, 0, 500, 2000])
def test_a_second_replacement_answers_no_window_of_the_first_text_again(behind, until):
    if until is not None:
        advance(behind, 3, until, behind.behind)
    found = behind.propose({"b": "keys"}, ("b",), {})
    page = accept(behind, found)
    assert found.gone == (behind.behind,) and bounds(page, found.fresh[0]) == {"20/5": max(until or 0, 1000)}
    advance(behind, 1, 100, found.fresh[0])  # and a third one, as little
    third = behind.propose({"b": "finer"}, ("b",), {})
    assert bounds(accept(behind, third), third.fresh[0]) == {"21/7": max(until or 0, 1000)}


@pytest.mark.parametrize("until", [None, 500, 2000])
def test_a_second_replacement_within_the_scan_answers_no_window_again(behind, until):
    if until is not None:
        advance(behind, 3, until, behind.behind)
    found = behind.propose({"b": "sevens"}, ("b",), {})
    page = accept(behind, found)
    assert found.changed == (behind.behind,) and bounds(page, behind.behind) == {"14/7": max(until or 0, 1000)}
    whole = datetime.fromisoformat(page.changes[-1]["complete_from"]["b"]).timestamp()
    assert whole + 14 > max(until or 0, 1000) >= whole + 7


def test_a_scan_that_is_behind_and_answers_the_window_for_others_gets_no_replacement(behind):
    advance(behind, 3, 500, behind.behind)
    accept(behind, behind.propose({"own": "sevens"}, (), {}))
    found = behind.propose({"b": "sevens"}, ("b",), {})
    assert len(found.fresh) == 1 and "has not come as far as 'b'" in found.reasons[-1]
    page = behind.next_page(found, behind.boundaries(found))
    assert bounds(page, found.fresh[0]) == {"14/7": 1000} and bounds(page, behind.behind) == {"14/7": 500}
    advance(behind, 5, 1000, behind.behind)
    assert behind.propose({"b": "sevens"}, ("b",), {}).fresh == ()


def test_a_replacement_over_rows_that_are_gone_is_refused_where_it_would_have_to_read_them(monkeypatch, tmp_path):
    control = control_maker(monkeypatch, tmp_path)(A, B)
    advance(control)
    control.context.sources["trades"].origin = Rate()
    with pytest.raises(QueryError, match=r"(?s)'trades' begins with the rows that come next.*under another name"):
        control.preview({"b": "finer"}, ("b",))
    assert control.preview({"b": "b"}, ("b",)).complete_from["b"].timestamp() == 985  # by what is kept
    assert control.propose({"own": "finer"}, (), {}).fresh  # as a new stream would


@pytest.mark.parametrize(("mine", "given", "loom", "found"), [
    (60, {}, None, 60), (60, {}, 300, 60), (60, {"b": "2 minutes"}, 300, 120), (None, {}, 300, 300),
    (None, {}, None, None)])
def test_a_replacement_keeps_its_bound_on_the_time_between_answers(monkeypatch, tmp_path, mine, given, loom, found):
    timed = replace(B, query=replace(B.query, every=mine and mine * SECOND))
    control = control_maker(monkeypatch, tmp_path)(A, timed)
    control.context.every = loom and loom * SECOND
    advance(control)
    plan = control.propose({"b": "b", "own": "short"}, ("b",), given).plan
    every = {bound.query.name: bound.query.every for bound in plan.workload}
    assert (every["b"], every["own"]) == (found and found * SECOND, loom and loom * SECOND)
    page = accept(control, control.propose({"b": "finer"}, ("b",), given))
    assert page.every.get("b") == (found and found * SECOND)


def test_the_lives_of_a_query_that_is_replaced_twice_begin_where_the_first_ended():
    def change(until: int, key: str, text: str) -> dict:
        return {"until": {key: until * SECOND} if until else {}, "dropped": {"b": key}, "added": {"b": text},
                "complete_from": {"b": None}}

    lives = find_lives({"b": "1"}, [change(1000, "x", "2"), change(0, "y", "3"), change(500, "z", "4")])
    assert [life.sql for life in lives] == ["1", "2", "3", "4"]
    assert {life.after and life.after.timestamp() for life in lives} == {None, 1000}
    assert [life.until and life.until.timestamp() for life in lives] == [1000, 1000, 1000, None]


def test_a_change_before_the_first_trigger_keeps_where_a_replacement_begins(behind):
    told = behind.preview({"own": "sevens"}, ())
    assert told.complete_from == {"own": None}
    page = accept(behind, behind.propose({"own": "sevens"}, (), {}))
    assert bounds(page, behind.behind) == {"21/7": 1000}
