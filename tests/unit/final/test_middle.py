"""Folds around a middle: the answers are those that are read off slices one by one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.final.test_fold import COMPONENTS, received, rows, slices, windows
from weft.aggregates.component import ROWS, Component
from weft.aggregates.monoids.lanes import Lane
from weft.aggregates.operation import ADD, MOMENTS
from weft.final.algorithms.disjoint import disjoint
from weft.final.fold import middle
from weft.final.fold.dense import Slices
from weft.final.fold.layout import grids
from weft.final.fold.middle import find_middles, fold_latest
from weft.final.fold.partition import fold_columns
from weft.final.fold.ragged import Span, fold_ragged
from weft.model.window import Window
from weft.stages.build import final_stage, for_stream
from weft.testing.operations import AFFINE


@pytest.fixture
def everywhere(monkeypatch):
    """All windows have middles, and tables hold a few keys."""
    monkeypatch.setattr(middle, "MOST_MIDDLES", 10**9)
    monkeypatch.setattr(middle, "MOST_CELLS", 10**9)
    monkeypatch.setattr(middle, "CELLS", 300)


@given(data=rows(), shapes=windows(), after=st.one_of(st.none(), st.integers(-60, 130), st.integers(9_990, 10_060)),
       length=st.integers(0, 200), since=st.lists(st.one_of(st.none(), st.integers(-60, 60)), min_size=5, max_size=5))
@pytest.mark.usefixtures("everywhere")
def test_answers_are_those_that_are_read_one_by_one(data, shapes, after, length, since):
    """Ranges that are no multiples of slides, slices of unequal length, gaps, and windows that begin late."""
    stage = for_stream(final_stage(1, shapes, COMPONENTS, True, ()))
    span = Span(after, (-60 if after is None else after) + length)
    columns = slices(data, shapes).columns
    first = since[: len(shapes)]
    ours, theirs = (received(fold_columns(stage, columns, partial(fold, span=span, first=first)))
                    for fold in (fold_latest, fold_ragged)) if data else ({}, {})
    assert ours == theirs


NULLABLE = (ROWS, Component("max", ("max(x)",), "double"), Component("min", ("min(x)",), "bigint"),
            Component("add", ("sum(x)",), "double"))


@given(values=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30), st.one_of(st.none(), st.integers(-9, 9)),
                                 st.one_of(st.none(), st.integers(-9, 9))), min_size=1, max_size=80,
                       unique_by=lambda row: row[:2]),
       after=st.integers(0, 40), length=st.integers(1, 40))
@pytest.mark.usefixtures("everywhere")
def test_values_that_are_not_there(values, after, length):
    """Windows without any value of a column are null, and NaN is one."""
    key, start, x, y = zip(*values, strict=True)
    reals = pa.array([None if v is None else float("nan") if v == 9 else v / 2 for v in x], pa.float64())
    columns = [pa.array(key), pa.array([10 * s for s in start]), pa.array([1] * len(key)), reals,
               pa.array(y, pa.int64()), reals]
    stage = for_stream(final_stage(1, (Window(40, 10), Window(75, 10), Window(200, 10)), NULLABLE, True, ()))
    span = Span(10 * after, 10 * (after + length))
    ours, theirs = (by_window(fold_columns(stage, columns, partial(fold, span=span)))
                    for fold in (fold_latest, fold_ragged))
    assert ours == theirs


def by_window(batches) -> dict:
    """The answers of windows in the wire format, as texts, sums rounded; what is marked as null is None."""
    found: dict = {}
    for batch in batches:
        for window, key, first, slide, _, starts, *values in zip(*batch.to_pydict().values(), strict=True):
            counts, *marked = values
            lanes = [values if mark else [None] * len(values)
                     for values, mark in zip(marked[::2], marked[1::2], strict=True)]
            for i, answer in enumerate(zip(counts, *lanes, strict=True)):
                place = (window, key, starts[i] if starts else first + i * slide)
                assert place not in found
                found[place] = [str(round(v, 9)) if v is not None else None for v in answer]
    return found


MADE = Slices(np.array([0, 0, 3, 3, 3]), np.array([0, 40, 10, 45, 50]), np.ones(5, np.int64))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("operation", "types", "middles"), [(ADD, 1, True), (AFFINE, 2, False), (MOMENTS, 3, False)])
def test_operations_that_scan_in_one_pass_have_middles(monkeypatch, operation, types, middles):
    """The others read slices, whatever the order in which they fold; nobody decodes what is not there."""
    sizes: list[int] = []

    def decode(state):
        sizes.append(len(state[0]))
        return [pa.array(a) for a in state], None

    lane = Lane(operation, tuple(np.arange(5.0) + i for i in range(types)), None, decode)
    shapes, span = [Window(20, 10), Window(35, 10), Window(400, 10)], Span(50, 90)
    algorithms = [[disjoint]] * len(list(grids(shapes)))
    asked: list = []
    fold_asked = middle.fold_asked
    monkeypatch.setattr(middle, "fold_asked", lambda *given: asked.append(given[2]) or fold_asked(*given))
    ours, theirs = (sorted((found.window, int(MADE.key[row]), int(first), [a.to_pylist()[low:high] for a in values])
                           for found in fold(MADE, shapes, [lane], algorithms, span) for values, _ in found.lanes
                           for row, first, low, high in zip(found.row, found.first, found.offsets[:-1],
                                                            found.offsets[1:], strict=True))
                    for fold in (fold_latest, fold_ragged))
    assert joined(ours) == joined(theirs)
    assert bool(asked) != middles and all(sizes)


def joined(rows: list) -> dict:
    """The values of each window and key, in the order of time; several middles give several rows."""
    found: dict = {}
    for window, key, _, lanes in rows:
        for place, values in enumerate(lanes):
            found.setdefault((window, key, place), []).extend(values)
    return found


def test_keys_that_no_window_holds_take_no_room():
    """They are kept for windows of another class."""
    many = Slices(np.arange(1000), np.where(np.arange(1000) % 100 == 7, 90, -10_000), np.ones(1000, np.int64))
    lane = Lane(ADD, (np.arange(1000.0),), None, lambda state: ([pa.array(state[0])], None))
    (found,) = fold_latest(many, [Window(60, 10)], [lane], [[disjoint]], Span(90, 120))
    assert (many.key[found.row] == np.arange(7, 1000, 100)).all() and len(found.rows) == 30
    assert found.lanes[0][0][0].to_pylist() == [float(key) for key in range(7, 1000, 100) for _ in range(3)]


@pytest.mark.parametrize(("ranges", "steps", "middles"), [
    ([240, 480], 30, [(1, 30), (0, 15), (0, 15)]), ([300], 31, [(0, 31)]), ([2400], 1, []), ([10], 30, []),
    ([2400], 60, [(0, 60)]), ([40, 240, 1200], 30, [(1, 15), (1, 15), (2, 30)])])
def test_few_steps_of_long_windows_and_many_of_short_ones_are_read_one_by_one(ranges, steps, middles):
    """A table pays where it has few cells for each answer."""
    shapes = [Window(length, 10) for length in ranges]
    made = Slices(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1, np.int64))
    found = [(number, each.count) for each in find_middles(made, shapes, range(len(shapes)), Span(0, 10 * steps))
             for number in each.asked]
    assert sorted(found) == sorted(middles)
