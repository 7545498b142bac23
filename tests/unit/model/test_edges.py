"""Edges by the values the papers print and by plain enumeration."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.edges import composite_slide, count_edges, progressions
from weft.model.window import Window, duration

SECOND = 1_000_000


def points(windows: list[Window], upto: int) -> set[int]:
    return {p for phase, period in progressions(windows) for p in range(phase, upto + 1, period) if p > 0}


def test_example_2_of_the_first_paper():
    a, b = Window(12, 9), Window(10, 6)
    assert a.fragments == (6, 3) and b.fragments == (2, 4)
    assert composite_slide([a, b]) == 18
    assert points([a, b], 18) == {3, 4, 6, 9, 10, 12, 16, 18}
    assert count_edges([a, b]) == 8


def test_seven_and_eleven_seconds_make_17_slices_not_77():
    windows = [Window(7 * SECOND, 7 * SECOND), Window(11 * SECOND, 11 * SECOND)]
    assert composite_slide(windows) == 77 * SECOND
    assert count_edges(windows) == 17


def test_windows_of_one_slide_need_one_progression():
    assert progressions([Window(r * 60, 60) for r in range(1, 101)]) == ((0, 60),)


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 20), st.integers(-11, 11)), min_size=1, max_size=5))
def test_progressions_hold_exactly_the_windows_edges(parts):
    windows = [Window(slide + more, slide, start % slide) for slide, more, start in parts]
    period = composite_slide(windows)
    starts = [(w, w.start + k * w.slide) for w in windows for k in range(period // w.slide)]
    edges = {p % period for w, start in starts for p in (start, start + w.range)}
    assert {p % period for phase, every in progressions(windows) for p in range(phase, period, every)} == edges
    assert count_edges(windows) == len(edges)


def test_counting_gives_up_beyond_its_limit():
    assert count_edges([Window(99_991 * SECOND, 99_991 * SECOND), Window(1, 1)], limit=1000) is None


BAD = [((0, 1), "positive"), ((5, 0), "positive"), ((5, 6), "larger"), ((5, 5, 5), "offset")]
DURATIONS = [(90 * SECOND, "90 s"), (7_200 * SECOND, "2 h"), (1500, "1500 us"), (86_400 * SECOND, "1 d")]


@pytest.mark.parametrize(("bad", "word"), BAD)
def test_windows_that_cannot_be(bad, word):
    with pytest.raises(ValueError, match=word):
        Window(*bad)


@pytest.mark.parametrize(("micros", "text"), DURATIONS)
def test_durations_read_well(micros, text):
    assert duration(micros) == text
