"""The contract of every slicer, and the values the papers print."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import PlanError
from weft.model.edges import Progression, composite_slide, without_contained
from weft.model.window import Window, rows_window
from weft.slicing import CUTTY, PAIRS, PANES, SLICERS, Slicer, find_slicer, slice_start

SECOND = 1_000_000
every_slicer = pytest.mark.parametrize("slicer", SLICERS, ids=lambda s: s.name)

Row = tuple[int, int]  # (time, value)
rows = st.lists(st.tuples(st.integers(-70, 70), st.integers(-9, 9)), max_size=40)


@st.composite
def windows(draw, units=st.integers(1, 12), offsets=st.integers(-12, 12)) -> Window:
    """A window of whole units; units and offsets in common leave Panes a coarse grid."""
    unit = draw(units)
    slide = unit * draw(st.integers(1, 12 // unit))
    return Window(slide + unit * draw(st.integers(0, 30 // unit)), slide, draw(offsets) % slide)


@st.composite
def window_sets(draw) -> list[Window]:
    """Windows of one unit whose offsets are all one, multiples of the unit apart, or anything."""
    unit, offset = draw(st.integers(1, 6)), draw(st.integers(0, 12))
    apart = st.integers(-2, 2).map(lambda k: offset + k * unit)
    offsets = draw(st.sampled_from([st.just(offset), apart, st.integers(-12, 12)]))
    return draw(st.lists(windows(st.just(unit), offsets), min_size=1, max_size=4))


def cuts(progressions: tuple[Progression, ...], begin: int, end: int) -> set[int]:
    """Every cut in [begin, end), by going through the moments one by one."""
    return {t for t in range(begin, end) if any(t % period == phase for phase, period in progressions)}


def cut_before(time: int, progressions: tuple[Progression, ...]) -> int:
    """The start of the slice that holds `time`, by going back moment by moment."""
    while not cuts(progressions, time, time + 1):
        time -= 1
    return time


def instances(window: Window, begin: int, end: int) -> list[tuple[int, int]]:
    """Every window [begin, end) that sees a moment between the two."""
    starts = [s for s in range(begin - window.range + 1, end) if (s - window.start) % window.slide == 0]
    return [(start, start + window.range) for start in starts]


def per_composite_slide(slicer: Slicer, shapes: list[Window]) -> int:
    return len(cuts(slicer.edges(shapes), 0, composite_slide(shapes)))


# The contract


@every_slicer
def test_a_slicer_has_a_card_and_is_found_by_its_name(slicer):
    assert find_slicer(slicer.name) is slicer
    assert slicer.title and slicer.paper.startswith("00")
    assert slicer.description.endswith(".") and ". " not in slicer.description
    with pytest.raises(FrozenInstanceError):
        slicer.name = "other"


@every_slicer
@given(windows())
def test_a_window_covers_as_many_slices_as_table_1_says(slicer, window):
    assert len(cuts(slicer.edges([window]), window.start, window.start + window.range)) == (
        slicer.slices_per_window(window)
    )


@every_slicer
@given(windows(), st.integers(1, 5))
def test_a_window_of_whole_slides_covers_range_over_slide_slices(slicer, window, overlap):
    assert slicer.slices_per_window(Window(overlap * window.slide, window.slide, window.start)) == overlap


@every_slicer
@given(window_sets())
def test_windows_begin_at_cuts_and_end_at_cuts_or_in_the_open_slice(slicer, shapes):
    progressions = slicer.edges(shapes)
    for window in shapes:
        for begin, end in instances(window, 0, composite_slide(shapes)):
            assert any(begin % period == phase for phase, period in progressions)
            assert slicer.reads_open or any(end % period == phase for phase, period in progressions)


@every_slicer
@given(window_sets(), rows)
def test_slices_fold_to_what_the_rows_fold_to(slicer, shapes, stream):
    progressions = slicer.edges(shapes)
    slices: dict[int, list[Row]] = defaultdict(list)
    for time, value in stream:
        slices[cut_before(time, progressions)].append((time, value))
    for window in shapes:
        for begin, end in instances(window, -70, 71):
            expected = sum(value for time, value in stream if begin <= time < end)
            assert fold(slices, begin, end, slicer.reads_open) == expected


def fold(slices: dict[int, list[Row]], begin: int, end: int, reads_open: bool) -> int:
    """The sum of a window's slices; the last one is read as it was at the window's end, if the slicer reads open ones.

    Only the last slice may be cut short: of all others the whole sum counts.
    """
    seen = sorted(start for start in slices if begin <= start < end)
    if not seen or not reads_open:
        return sum(value for start in seen for _, value in slices[start])
    whole = sum(value for start in seen[:-1] for _, value in slices[start])
    return whole + sum(value for time, value in slices[seen[-1]] if time < end)


@every_slicer
@given(window_sets(), st.integers(-10_000, 10_000))
def test_the_sql_gives_the_latest_cut(slicer, shapes, time):
    progressions = slicer.edges(shapes)
    plain = re.sub(r"(\d)L\b", r"\1", slice_start("time", progressions))
    found = eval(plain, {"time": time, "pmod": lambda a, b: a % b, "greatest": max})
    assert found == cut_before(time, progressions)


@every_slicer
@given(window_sets())
def test_progressions_are_normal_and_none_holds_another(slicer, shapes):
    progressions = slicer.edges(shapes)
    assert all(0 <= phase < period for phase, period in progressions)
    for phase, period in progressions:
        holders = [(p, q) for p, q in progressions if period % q == 0 and phase % q == p]
        assert holders == [(phase, period)]


@every_slicer
def test_no_windows_make_no_cuts(slicer):
    assert slicer.edges(()) == ()


@given(window_sets())
def test_pairs_never_cuts_more_than_panes_nor_cutty_more_than_pairs(shapes):
    panes, pairs, cutty = (cuts(slicer.edges(shapes), 0, composite_slide(shapes)) for slicer in (PANES, PAIRS, CUTTY))
    assert cutty <= pairs <= panes


# What the papers print

PRINTED = [
    (Window(4, 1), (4, 4, 4)),  # 001 Fig. 2
    (Window(14, 8), (7, 3, 2)),  # 001 Fig. 3
    (Window(5, 3), (5, 3, 2)),  # 001 Fig. 4
    (Window(90 * SECOND, 60 * SECOND), (3, 3, 2)),
    (Window(630 * SECOND, 60 * SECOND), (21, 21, 11)),
]
SETS = [
    ([Window(12, 9), Window(10, 6)], 18, (18, 8, 4)),  # 000 Example 2
    ([Window(16, 4), Window(10, 5), Window(8, 4)], 20, (20, 8, 8)),  # 000 Example 3
    ([Window(7, 5), Window(3, 3)], 15, (15, 9, 7)),  # 000 Example 4
    ([Window(7, 7), Window(11, 11)], 77, (77, 17, 17)),
]


@pytest.mark.parametrize(("window", "counts"), PRINTED, ids=str)
def test_slices_per_window(window, counts):
    assert tuple(slicer.slices_per_window(window) for slicer in (PANES, PAIRS, CUTTY)) == counts


@pytest.mark.parametrize(("shapes", "period", "counts"), SETS)
def test_cuts_per_composite_slide(shapes, period, counts):
    assert composite_slide(shapes) == period
    assert tuple(per_composite_slide(slicer, shapes) for slicer in (PANES, PAIRS, CUTTY)) == counts


def test_the_edges_of_example_2():
    shapes = [Window(12, 9), Window(10, 6)]
    assert cuts(PAIRS.edges(shapes), 1, 19) == {3, 4, 6, 9, 10, 12, 16, 18}
    assert cuts(CUTTY.edges(shapes), 1, 19) == {6, 9, 12, 18}


def test_an_offset_common_to_all_windows_leaves_panes_as_coarse():
    assert PANES.edges([Window(90, 60, 7), Window(60, 30, 7)]) == ((7, 30),)
    assert PANES.edges([Window(90, 60, 7), Window(60, 30, -3)]) == ((7, 10),)


def test_the_family_in_order():
    assert SLICERS == (PANES, PAIRS, CUTTY)
    assert [slicer.reads_open for slicer in SLICERS] == [False, False, True]


def test_an_unknown_slicer_is_refused_with_the_known_ones():
    with pytest.raises(PlanError, match="no slicer 'pears': choose one of panes, pairs, cutty"):
        find_slicer("pears")


def test_the_sql_of_one_progression_needs_no_greatest():
    assert slice_start("t", ((0, 60),)) == "t - pmod(t - 0L, 60L)"
    assert slice_start("t", ((0, 7), (0, 11))) == "greatest(t - pmod(t - 0L, 7L), t - pmod(t - 0L, 11L))"


def test_windows_of_rows_are_cut_too():
    windows = [rows_window(5, 3), rows_window(10, 4)]
    assert CUTTY.edges(windows) == ((1, 3), (2, 4)) and PAIRS.edges(windows) == ((0, 3), (1, 3), (0, 4), (2, 4))
    assert PANES.edges(windows) == ((0, 1),)


@given(st.lists(st.builds(lambda slide, more: Window(slide + more, slide), st.integers(1, 12), st.integers(0, 30)),
                min_size=1, max_size=5))
@every_slicer
def test_cuts_of_several_windows_come_from_the_cuts_of_each(slicer, windows):
    each = [edge for window in windows for edge in slicer.each(window)]
    assert slicer.edges(windows) == (slicer.join or without_contained)(each)
