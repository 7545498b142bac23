"""Buckets of time: how a history is cut, which are made where slices are new, and which slices their windows reach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.final.outputs.buckets import (
    CLOSED,
    JOINED,
    TimeBuckets,
    first_buckets,
    join_reaches,
    next_buckets,
    overlaps,
    touched_windows,
    width,
    window_ends,
)
from weft.final.outputs.files import bucket_of_file, bucket_prefix
from weft.model.spans import join_spans, spans_over
from weft.model.window import Window


@st.composite
def windows(draw):
    slide = draw(st.integers(1, 12))
    return Window(draw(st.integers(slide, 40)), slide, draw(st.integers(1 - slide, slide - 1)))


def ends_holding(window, moment):
    """When the windows end that hold a moment, found by looking at each."""
    starts = range(window.start - 200 * window.slide, 500, window.slide)
    return {start + window.range for start in starts if start <= moment < start + window.range}


def numbers(spans):
    """All units within spans."""
    return [number for first, end in spans for number in range(first, end)]


def refreshed(kept, made):
    """The buckets of a query after some were made, of which none was kept in part."""
    for each in kept:
        inside = {*numbers([each])} & {*numbers(made)}
        assert not inside or inside == {*numbers([each])}
    return sorted([*(each for each in kept if not overlaps(each, made)), *made])


@given(windows(), st.lists(st.integers(-100, 100), min_size=1, max_size=6), st.integers(1, 5))
def test_windows_are_touched_if_they_hold_a_new_slice(window, starts, slides):
    unit = slides * window.slide
    ends = {end for start in starts for end in ends_holding(window, start)}
    assert {*numbers(touched_windows(window, unit, spans_over(starts)))} == {end // unit for end in ends}


@given(windows(), st.integers(-100, 100), st.integers(1, 20), st.integers(1, 5))
def test_windows_of_a_bucket_hold_no_slice_outside_its_reach(window, low, size, slides):
    unit = slides * window.slide
    assert set(window_ends(window, low, low + size)) == {
        end for moment in range(low, low + size) for end in ends_holding(window, moment)}
    made = touched_windows(window, unit, ((low, low + size),))
    reach = TimeBuckets(window, unit, made).reach
    for number in numbers(made):
        for end in range(number * unit, (number + 1) * unit):
            if (end - window.range - window.start) % window.slide == 0:
                assert any(a <= end - window.range and end <= b for a, b in reach)


@given(windows(), st.integers(-1000, 1000), st.integers(0, 10_000))
def test_a_history_is_cut_into_few_buckets_and_those_of_the_newest_slice(window, low, length):
    made = first_buckets(window, (low, low + length))
    ends = {end // window.slide for moment in (low, low + length) for end in window_ends(window, moment, moment + 1)}
    assert numbers(made.made) == list(range(min(ends), max(ends) + 1)) and made.reach is None
    *closed, live = made.made
    assert numbers([live]) == [end // window.slide for end in window_ends(window, low + length, low + length + 1)]
    assert len(closed) <= CLOSED and (len(closed) < 2 or min(b - a for a, b in closed) >= width(window))


def test_nothing_is_cut_where_there_are_no_slices():
    assert first_buckets(Window(10, 5), None) == TimeBuckets(Window(10, 5), 5, (), whole=True)


buckets_of_time = st.lists(st.integers(0, 120), max_size=24, unique=True).map(sorted).map(
    lambda cuts: list(zip(cuts[::2], cuts[1::2], strict=False)))


@given(windows(), st.integers(1, 5), buckets_of_time, buckets_of_time.filter(bool).map(join_spans))
def test_what_is_touched_is_made_and_no_kept_bucket_in_part(window, slides, kept, touched):
    made = next_buckets(TimeBuckets(window, slides * window.slide), kept, touched)
    assert {*numbers(touched)} <= {*numbers(made)} and len(numbers(made)) == len({*numbers(made)})
    after = refreshed(kept, made)
    assert {*numbers(after)} >= {*numbers(kept)} and len(numbers(after)) == len({*numbers(after)})


def test_old_windows_are_made_with_their_bucket_and_new_ones_leave_theirs_alone():
    week = TimeBuckets(Window(28, 7), 7)  # four windows hold a moment
    kept = [(0, 50), (50, 100), (100, 104)]
    assert next_buckets(week, kept, ((100, 104),)) == ((100, 104),)
    assert next_buckets(week, kept, ((101, 105),)) == ((100, 101), (101, 105))
    assert next_buckets(week, kept, ((100, 110),)) == ((100, 106), (106, 110))
    assert next_buckets(week, kept, ((98, 106),)) == ((50, 100), (100, 102), (102, 106))
    assert next_buckets(week, kept, ((20, 24), (100, 104))) == ((0, 50), (100, 104))
    assert next_buckets(week, kept, ((20, 24),)) == ((0, 50),)
    assert next_buckets(week, kept, ((210, 220),)) == ((210, 216), (216, 220))
    assert next_buckets(week, [(10, 20)], ((0, 4), (18, 22))) == ((0, 4), (10, 18), (18, 22))
    assert next_buckets(week, [], ((0, 4),)) == ((0, 4),)


def test_buckets_of_an_older_version_stay_as_long_as_they_are():
    old = TimeBuckets(Window(28, 7), 98)
    kept = [(n, n + 1) for n in range(8)]
    assert next_buckets(old, kept, ((7, 8),)) == ((7, 8),)
    assert next_buckets(old, kept, ((7, 9),)) == ((7, 8), (8, 9))


@pytest.mark.parametrize(("step", "slides"), [(5, 1), (11, 4), (40, 30)])
def test_a_query_that_grows_has_few_buckets_and_writes_each_window_a_few_times(step, slides):
    window = Window(slides * 10, 10)
    kept, written = list(first_buckets(window, (0, 2_000)).made), 0
    for newest in range(2_000, 8_000, step):
        made = next_buckets(TimeBuckets(window, 10), kept, touched_windows(window, 10, ((newest, newest + step),)))
        kept = refreshed(kept, made)
        written += sum(b - a for a, b in made[:-1])
        assert kept[-1][1] - kept[-1][0] <= slides + 1 and len(kept) <= 32
        assert max(b - a for a, b in kept) <= (kept[-1][1] - kept[0][0]) // CLOSED + 1
    assert written <= 600 * 6  # beside the live bucket, each window that has ended


def test_few_buckets_are_not_joined_and_long_ones_stay():
    week, long = TimeBuckets(Window(7, 7), 7), [(100 * n, 100 * n + 100) for n in range(CLOSED)]
    short = [(700 + n, 701 + n) for n in range(JOINED - CLOSED)]
    assert next_buckets(week, long + short[:-1], ((707, 709),)) == ((707, 708), (708, 709))
    assert next_buckets(week, long + short, ((708, 710),)) == ((700, 709), (709, 710))


def test_all_is_read_where_one_query_is_made_anew():
    window = Window(10, 5)
    some, every = TimeBuckets(window, 20, ((3, 4),)), TimeBuckets(window, 20, ((3, 4),), whole=True)
    assert join_reaches([some, every]) is None
    assert join_reaches([some, TimeBuckets(Window(40, 5), 40, ((9, 10),))]) == ((50, 80), (320, 400))


@pytest.mark.parametrize("bucket", [None, (0, 1), (17, 40), (-4, -2)])
def test_a_file_says_its_bucket(bucket):
    assert bucket_of_file(f"{bucket_prefix(bucket)}{'0' * 32}.snappy.parquet") == bucket


@pytest.mark.parametrize("number", [0, 17, -4])
def test_a_file_of_an_older_version_says_its_bucket(number):
    assert bucket_of_file(f"part-b{number}-{'0' * 32}.snappy.parquet") == (number, number + 1)
