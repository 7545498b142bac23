"""Joins as values: names, bounds and what they imply, conditions in Spark SQL, the plain order."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

import pytest

from tests.harness.join_oracle import joined_rows
from weft.model.join import (
    DAY,
    ZONE_JUMP,
    Join,
    JoinInput,
    JoinKey,
    TimeBound,
    bound_sql,
    close_bounds,
    column_names,
    number_aliases,
    plain_method,
    seconds_sql,
    tightest,
)

MIN = 60_000_000


def stream(name: str, source: str = "", time: str | None = "ts") -> JoinInput:
    """An input with a time and a key."""
    return JoinInput(source or name, name, time, (("ts", f"{name}.ts"), ("k", f"{name}.k")))


def key(left: int, right: int, names: str = "abcde") -> JoinKey:
    """The equality of the keys of two inputs."""
    return JoinKey(left, right, f"`{names[left]}.k`", f"`{names[right]}.k`")


TWO = Join((stream("a"), stream("b")), (key(0, 1),), (TimeBound(1, 0, 10 * MIN), TimeBound(0, 1, 5 * MIN)))


def test_a_join_has_a_name_that_no_user_can_give_and_says_what_it_means():
    """Its name has blanks, its digest hangs on sources, keys and bounds."""
    assert TWO.name == f"a JOIN b #{TWO.digest}"
    other = Join(TWO.inputs, TWO.keys, (TimeBound(1, 0, 11 * MIN), TWO.bounds[1]))
    assert other.digest != TWO.digest
    assert TWO.conditions == ("`a.k` = `b.k`", "`b.ts` <= `a.ts` + INTERVAL '600' SECOND",
                              "`a.ts` <= `b.ts` + INTERVAL '300' SECOND")


def test_bounds_imply_others():
    """What a chain of bounds says of its ends, as Floyd and Warshall close it."""
    bounds = (TimeBound(1, 0, 10), TimeBound(0, 1, 5), TimeBound(2, 1, 3), TimeBound(1, 2, 1))
    assert close_bounds(3, bounds) == ((0, 5, 6), (10, 0, 1), (13, 3, 0))
    assert close_bounds(2, bounds[:1]) == ((0, inf), (10, 0))
    assert close_bounds(2, (TimeBound(0, 1, -2), TimeBound(1, 0, 1)))[0][0] < 0


def test_bounds_of_days_keep_their_form():
    """In a zone that changes its clocks `a - 1 day <= b` is not `a <= b + 1 day`, and a day may be longer."""
    long = TimeBound(0, 1, DAY, beside_later=True, strict=True)
    assert long.plain() == long
    assert bound_sql(long, ("a", "b")) == "a - INTERVAL '86400' SECOND < b"
    assert close_bounds(2, (long,))[0][1] == DAY + ZONE_JUMP
    short = TimeBound(0, 1, MIN, beside_later=True, strict=True)
    assert short.plain() == TimeBound(0, 1, MIN - 1)


def test_of_equal_bounds_the_tightest_counts():
    """Two bounds of the same streams in the same way are one."""
    assert tightest([TimeBound(0, 1, 9), TimeBound(0, 1, 7, strict=True), TimeBound(1, 0, 2)]) == (
        TimeBound(0, 1, 6), TimeBound(1, 0, 2))
    assert len(tightest([TimeBound(0, 1, DAY), TimeBound(0, 1, DAY, True), TimeBound(0, 1, 5)])) == 3


@pytest.mark.parametrize(("micros", "text"), [(300 * 10**6, "300"), (-1, "-0.000001"), (1_500_000, "1.500000")])
def test_intervals_are_exact(micros, text):
    """Microseconds as seconds with a fraction."""
    assert seconds_sql(micros) == f"INTERVAL '{text}' SECOND"


def test_aliases_and_columns_are_told_apart():
    """A source that is joined with itself gets numbers that are no other source's name."""
    assert number_aliases(["a", "t", "t", "t_2"]) == ["a", "t", "t_3", "t_2"]
    assert column_names([("x", ["k", "K"]), ("y", ["k"])]) == [(("k", "x.k"), ("K", "x.K_")), (("k", "y.k"),)]


def test_the_plain_order_follows_keys_and_takes_tables_last():
    """Every input is linked with one before it."""
    inputs = (stream("d", time=None), stream("a"), stream("b"), stream("c"))
    join = Join(inputs, (key(0, 1, "dabc"), key(1, 3, "dabc"), key(2, 3, "dabc")), ())
    assert plain_method(join).order == (1, 3, 2, 0)


def test_a_window_join_is_closed_at_both_ends():
    """004 Def. 2: a row meets rows up to exactly a window's length before and after it."""
    start = datetime(2024, 1, 1)
    ours = [{"ts": start, "k": 1}]
    minutes = (-6, -5, 0, 10, 11)
    theirs = [{"ts": start + timedelta(minutes=m), "k": 1} for m in minutes] + [{"ts": start, "k": None}]
    found = joined_rows(TWO, {"a": ours, "b": theirs})
    assert [row["b.ts"] - start for row in found] == [timedelta(minutes=m) for m in (-5, 0, 10)]
