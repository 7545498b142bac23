"""Buckets of time: which of them new slices touch, and which slices their windows reach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.final.outputs.buckets import (
    TimeBuckets,
    bucket_length,
    count_touched,
    join_reaches,
    touched_buckets,
    window_ends,
)
from weft.final.outputs.files import bucket_of_file, bucket_prefix
from weft.model.spans import spans_over
from weft.model.window import Window


@st.composite
def windows(draw):
    slide = draw(st.integers(1, 12))
    return Window(draw(st.integers(slide, 40)), slide, draw(st.integers(1 - slide, slide - 1)))


def ends_holding(window, moment):
    """When the windows end that hold a moment, found by looking at each."""
    starts = range(window.start - 200 * window.slide, 500, window.slide)
    return {start + window.range for start in starts if start <= moment < start + window.range}


@given(windows(), st.lists(st.integers(-100, 100), min_size=1, max_size=6), st.integers(0, 300))
def test_a_bucket_is_touched_if_a_window_in_it_holds_a_new_slice(window, starts, history):
    length = bucket_length(window, history)
    ends = {end for start in starts for end in ends_holding(window, start)}
    found = touched_buckets(window, length, spans_over(starts))
    assert set(found) == {end // length for end in ends} and list(found) == sorted(found)
    assert count_touched(window, length, spans_over(starts)) >= len(found)


@given(windows(), st.integers(-100, 100), st.integers(1, 20), st.integers(0, 300))
def test_windows_of_a_bucket_hold_no_slice_outside_its_reach(window, low, size, history):
    length = bucket_length(window, history)
    assert set(window_ends(window, low, low + size)) == {
        end for moment in range(low, low + size) for end in ends_holding(window, moment)}
    made = touched_buckets(window, length, ((low, low + size),))
    reach = TimeBuckets(window, length, made).reach
    for number in made:
        for end in range(number * length, (number + 1) * length):
            if (end - window.range - window.start) % window.slide == 0:
                assert any(a <= end - window.range and end <= b for a, b in reach)


@given(windows(), st.integers(0, 10_000))
def test_buckets_are_whole_slides_and_no_shorter_than_a_window(window, history):
    length = bucket_length(window, history)
    assert length % window.slide == 0 and length >= window.range and history // length <= 16


def test_all_is_read_where_one_query_is_made_anew():
    window = Window(10, 5)
    some, every = TimeBuckets(window, 20, (3,)), TimeBuckets(window, 20)
    assert join_reaches([some, every]) is None
    assert join_reaches([some, TimeBuckets(Window(40, 5), 40, (9,))]) == ((50, 80), (320, 400))


@pytest.mark.parametrize("bucket", [None, 0, 17, -4])
def test_a_file_says_its_bucket(bucket):
    assert bucket_of_file(f"{bucket_prefix(bucket)}{'0' * 32}.snappy.parquet") == bucket
