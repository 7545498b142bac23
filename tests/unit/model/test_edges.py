"""Edges by the values the papers print and by plain enumeration."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.model.edges import (
    common_edges,
    composite_slide,
    count_edges,
    count_edges_bitset,
    count_edges_probing,
    edge_density,
    edge_rate,
    edges_of,
    intersection,
    progressions,
    sampled_density,
    weaveability,
)
from weft.model.window import Window, duration

SECOND = 1_000_000


def points(windows: list[Window], upto: int) -> set[int]:
    return {p for phase, period in progressions(windows) for p in range(phase, upto + 1, period) if p > 0}


def test_example_2_of_the_first_paper():
    a, b = Window(12, 9), Window(10, 6)
    assert a.fragments == (3, 6) and b.fragments == (4, 2)
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


@given(st.integers(1, 12), st.integers(0, 20), st.integers(-11, 11))
def test_fragments_lie_between_the_edges_of_a_slide(slide, more, start):
    """They follow each other from where a window begins, and each ends at an edge."""
    window = Window(slide + more, slide, start % slide)
    ends = [(window.phase + sum(window.fragments[: i + 1])) % slide for i in range(len(window.fragments))]
    assert sorted(ends) == sorted(phase for phase, _ in edges_of(window))
    assert ends[-1] == window.phase and sum(window.fragments) == slide


def test_example_4_has_the_fragments_of_the_first_paper():
    assert Window(7, 5).fragments == (2, 3) and Window(3, 3).fragments == (3,)


def test_counting_gives_up_beyond_its_limit():
    primes = [Window(p, p) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)]
    assert count_edges(primes, limit=1000) is None
    assert count_edges(primes[:6]) == count_edges_bitset(primes[:6])


def test_example_2_by_value():
    a, b = [Window(12, 9)], [Window(10, 6)]
    assert [edge_rate(w).value for w in (a, b, a + b)] == [Fraction(2, 9), Fraction(2, 6), Fraction(8, 18)]
    assert common_edges(a, b) * 18 == 2
    assert weaveability(a, b) == Fraction(1, 4)


def test_example_4_by_value():
    x, y = Window(7, 5), Window(3, 3)
    assert edges_of(x) == ((0, 5), (2, 5)) and edges_of(y) == ((0, 3),)
    assert composite_slide([x, y]) == 15
    counts = [count([x, y]) for count in (count_edges, count_edges_bitset, count_edges_probing)]
    assert counts == [9, 9, 9]
    assert common_edges([x], [y]) * 15 == 2
    assert intersection((0, 5), (0, 3)) == (0, 15) and intersection((2, 5), (0, 3)) == (12, 15)


windows_of = st.builds(
    lambda slide, more, start: Window(slide + more, slide, start % slide),
    st.integers(1, 12), st.integers(0, 20), st.integers(0, 11),
)


@given(st.lists(windows_of, min_size=1, max_size=6))
def test_the_three_counts_agree(windows):
    want = count_edges_bitset(windows)
    assert count_edges(windows) == want
    assert count_edges_probing(windows) == want


@given(st.lists(windows_of, min_size=1, max_size=4), st.lists(windows_of, min_size=1, max_size=4))
def test_weaveability_is_symmetric_and_one_for_equal_edges(a, b):
    assert weaveability(a, b) == weaveability(b, a)
    assert 0 <= weaveability(a, b) <= 1
    assert weaveability(a, a) == 1


def test_numbers_of_any_size_stay_exact():
    huge = 10**30
    assert edge_rate([Window(huge, huge), Window(huge + 1, huge + 1)]).value == (
        Fraction(1, huge) + Fraction(1, huge + 1) - Fraction(1, huge * (huge + 1)))


@pytest.mark.parametrize("seed", range(5))
def test_a_sampled_density_holds_its_stated_error(seed):
    slides = [7, 11, 12, 13, 17, 18, 19, 24, 25]
    edges = progressions([Window(2 * s + 1, s) for s in slides])
    exact = edge_density(edges, limit=10**6)
    sampled = sampled_density(edges, 4000, seed)
    assert exact.exact and not sampled.exact
    assert abs(float(sampled.value - exact.value)) <= sampled.error < 0.05 * float(exact.value)


BAD = [((0, 1), "positive"), ((5, 0), "positive"), ((5, 6), "larger"), ((5, 5, 5), "offset")]
DURATIONS = [(90 * SECOND, "90 s"), (7_200 * SECOND, "2 h"), (1500, "1500 us"), (86_400 * SECOND, "1 d")]


@pytest.mark.parametrize(("bad", "word"), BAD)
def test_windows_that_cannot_be(bad, word):
    with pytest.raises(ValueError, match=word):
        Window(*bad)


@pytest.mark.parametrize(("micros", "text"), DURATIONS)
def test_durations_read_well(micros, text):
    assert duration(micros) == text
