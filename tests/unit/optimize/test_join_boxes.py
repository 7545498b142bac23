"""Where drop boxes of a join stand: by its one key where that is legal, else by rows, within every bound."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from weft.cost.shedding.estimates import FEWEST_KEPT, Z95
from weft.cost.shedding.sampling import Sampling
from weft.errors import PlanError, QueryError
from weft.loom.join_shedding import put_boxes, safely
from weft.optimize.shed.join_boxes import (
    JoinBoxes,
    UnitNeeds,
    equal_to,
    fixed_boxes,
    join_work,
    one_key,
    read_by,
    refuse_errors,
    refuse_weights,
    row_shares,
)
from weft.sql import SourceSchema, parse_query

COLUMNS = (("ts", "timestamp"), ("k", "string"), ("g", "int"), ("x", "double"), ("u", "string"), ("v", "string"),
           ("w", "string"))
SOURCES = {**{name: SourceSchema(name, COLUMNS, "ts") for name in "abc"}, "d": SourceSchema("d", COLUMNS, None)}
NEAR = "{0}.ts BETWEEN a.ts - INTERVAL 1 MINUTE AND a.ts + INTERVAL 1 MINUTE"


def query(rest: str, keys: str = "a.g", items: str = "count(*)"):
    """A query over a join."""
    text = f"SELECT {items} AS c FROM a JOIN b ON {NEAR.format('b')} AND {rest} GROUP BY {keys}, window(a.ts, '1 hour')"
    return parse_query("q", text, SOURCES).query


ONE = query("a.k = b.k")
THREE = "a.k = b.k JOIN c ON " + NEAR.format("c") + " AND {} = c.k"


def key_of(found):
    return one_key(found.join, read_by([found]))


def test_one_key_of_all_streams_decides():
    assert key_of(ONE) == ((0, "`k`"), (1, "`k`"))
    assert key_of(query("a.k = b.k", "a.k")) == key_of(query("a.k = b.k", "upper(b.k)")) == (), "groups would miss"
    assert key_of(query(THREE.format("b.k"))) == ((0, "`k`"), (1, "`k`"), (2, "`k`"))
    assert key_of(query(THREE.format("b.g"))) == (), "two keys"
    table = query("a.k = b.k JOIN d ON d.g = a.g", "d.x")
    assert key_of(table) == ((0, "`k`"), (1, "`k`")), "a table is no stream"
    assert key_of(query("upper(a.k) = b.k AND a.x = b.x", "a.k")) == ((0, "`x`"), (1, "`x`"))


@pytest.mark.parametrize("names", ["kvuw", "wuvk", "vkwu"])
def test_of_equal_columns_of_an_input_the_first_decides(names):
    """Whatever the hashes of texts are in a process, for boxes are named by it."""
    assert key_of(query(" AND ".join(f"a.{name} = b.k" for name in names))) == ((0, "`k`"), (1, "`k`"))


@pytest.mark.parametrize("items", [
    "count(*) FILTER (WHERE b.k = 'IBM')", "count_if(a.k = 'IBM')", "sum(IF(a.k = 'IBM', a.x, 0))"])
def test_a_key_that_calls_read_decides_nothing(items):
    assert key_of(query("a.k = b.k", items=items)) == ()
    assert key_of(query("a.k = b.k AND a.x = b.x", items=items.replace("a.x", "1"))) == ((0, "`x`"), (1, "`x`"))


@pytest.mark.parametrize("rest", [
    "a.k = b.k WHERE a.k = 'IBM'", "a.k = b.k WHERE a.g = 1 AND b.k LIKE 'I%'", "a.k = b.k AND a.k = 'IBM'",
    "date(a.ts) = date(b.ts)", "a.k = string(date(b.ts))"])
def test_a_key_that_says_which_rows_are_in_an_answer_decides_nothing(rest):
    """All answers would be missing for ever, or be twice as great."""
    found = query(rest)
    assert key_of(found) == ()
    assert fixed_boxes(found.join, {"a": 0.5, "b": 0.5}, [found]) == JoinBoxes(((0, 0.5), (1, 0.5)))


@pytest.mark.parametrize(("kinds", "safe"), [
    ({"a": "string", "b": "string", "d": "string"}, True), ({"a": "string", "b": "string", "d": "int"}, False),
    ({"a": "int", "b": "bigint", "d": "int"}, False), ({"a": "double", "b": "double", "d": "double"}, False)])
def test_a_key_decides_where_all_that_equals_it_has_one_type(kinds, safe):
    """'1' and '01' are both 1, so that a table of numbers joins texts that have other hashes."""
    found = query("a.k = b.k JOIN d ON d.k = a.k")
    boxes = fixed_boxes(found.join, {"a": 0.5, "b": 0.5}, [found])
    assert boxes.by == ((0, "`k`"), (1, "`k`")) and equal_to(found.join, boxes.by) == [*boxes.by, (2, "`k`")]
    frames = {name: SimpleNamespace(selectExpr=lambda sql, kind=kind: SimpleNamespace(schema=[SimpleNamespace(
        dataType=SimpleNamespace(simpleString=lambda: kind))])) for name, kind in kinds.items()}
    context = SimpleNamespace(sources=SimpleNamespace(frames=frames))
    assert safely(context, found.join, boxes) == (boxes if safe else replace(boxes, by=()))


def test_a_key_that_another_query_reads_decides_nothing():
    assert one_key(ONE.join, read_by([ONE, query("a.k = b.k WHERE a.k = 'IBM'")])) == ()


def test_sources_that_drop_the_same_share_drop_by_the_key():
    both = fixed_boxes(ONE.join, {"a": 0.5, "b": 0.5}, [ONE])
    assert both.by and both.share == 0.5 and both.weighed == (0,)
    assert both.words(ONE.join) == "of the keys of a 50 %, b 50 %"
    rows = fixed_boxes(ONE.join, {"a": 0.5, "b": 0.5}, [query("a.k = b.k", "a.k")])
    assert not rows.by and rows.share == 0.25 and rows.weighed == (0, 1)
    assert rows.words(ONE.join) == "of a 50 %, of b 50 %"
    assert fixed_boxes(ONE.join, {"a": 0.5, "b": 0.75}, [ONE]) == JoinBoxes(((0, 0.5), (1, 0.25)))
    assert fixed_boxes(ONE.join, {"b": 0.75}, [ONE]) == JoinBoxes(((1, 0.25),))


def test_errors_that_nobody_can_tell_are_refused():
    asked = query(THREE.format("b.g"), items="error(sum(a.x))")
    two = JoinBoxes(((0, 0.5), (1, 0.5)))
    with pytest.raises(QueryError, match=r"rows of a and b are dropped.*more than two sources\. Drop rows of one"):
        refuse_errors([asked], two)
    refuse_errors([asked], JoinBoxes(((0, 0.5),)))
    refuse_errors([query(THREE.format("b.g"))], two)
    refuse_errors([query("a.k = b.k", items="error(sum(a.x))")], two)


def test_a_weight_that_decimals_do_not_hold_is_refused():
    with pytest.raises(PlanError, match=r"join of a and b would stand for 10,000,000,000 rows.*drop less"):
        put_boxes(None, ONE.join, JoinBoxes(((0, 1e-5), (1, 1e-5))), ("q",), "")
    refuse_weights(("a", "b"), JoinBoxes(((0, 1e-5), (1, 1e-4))))
    refuse_weights(("a", "b"), JoinBoxes(((0, 1e-5), (1, 1e-5)), ((0, "`k`"), (1, "`k`"))))


@pytest.mark.parametrize("rows", [(1e6, 1e6, 1e6), (1e4, 1e6, 1e5), (1e6, 1e4, 1e8)])
def test_shares_of_rows_keep_the_bound_and_read_little(rows):
    """Both terms and the one of pairs together; never more work than with one box alone."""
    left, right = UnitNeeds(1e5, 0.04, 0.01), UnitNeeds(5e4, 0.02, 0.01)
    shares = row_shares(left, right, rows)
    one, two = (Sampling(share).variance for share in shares)
    assert (one * 0.04 + two * 0.02 + one * two * 0.01) * Z95**2 <= 1 + 1e-9
    for other in ((left.share(), 1.0), (1.0, right.share())):
        assert join_work(shares, rows) <= join_work(other, rows) * 1.02


def test_enough_is_kept_and_a_bound_that_is_too_narrow_keeps_all():
    assert UnitNeeds(1000, 1e-9).share() == FEWEST_KEPT / 1000
    assert UnitNeeds(1e6, 1e9).share() == pytest.approx(1, abs=1e-6)
    assert UnitNeeds(0, 0.1).share() == 1
    both = UnitNeeds(1000, 1.0, 2.0) | UnitNeeds(500, 3.0, 1.0)
    assert both == UnitNeeds(500, 3.0, 2.0)
    assert row_shares(replace(both, units=0), both, (1e6, 1e6, 1e6))[0] == 1
