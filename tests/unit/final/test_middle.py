"""Folds around a middle: the answers are those that are read off slices one by one, whatever the operation."""

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
from weft.final.algorithms.disjoint import disjoint
from weft.final.fold import middle
from weft.final.fold.dense import Slices
from weft.final.fold.middle import find_middles, fold_latest
from weft.final.fold.partition import fold_columns
from weft.final.fold.ragged import Span, fold_ragged, window_classes
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


@pytest.mark.usefixtures("everywhere")
def test_operations_in_which_order_matters():
    rng = np.random.default_rng(4)
    key = np.sort(rng.integers(0, 7, 300))
    start = rng.integers(0, 60, 300)
    order = np.lexsort((start, key))
    made = Slices(key[order], start[order], np.ones(300, np.int64))
    state = tuple(rng.integers(1, 4, 300).astype(np.float64) for _ in AFFINE.identity((np.dtype(float),) * 2))
    lane = Lane(AFFINE, state, None, lambda found: ([pa.array(a) for a in found], None))
    shapes, span = [Window(20, 5), Window(32, 5), Window(50, 5)], Span(30, 55)
    algorithms = [[disjoint]] * len(list(window_classes(shapes, [[disjoint]])))
    found = [{(answers.window, at): [a.to_pylist() for values, _ in answers.lanes for a in values]
              for at, answers in enumerate(fold(made, shapes, [lane], algorithms[:1], span))}
             for fold in (fold_latest, fold_ragged)]
    assert sum_of(found[0]) == sum_of(found[1])


def sum_of(found: dict) -> dict:
    """The values of each window, in order."""
    every: dict = {}
    for (window, _), lanes in sorted(found.items()):
        for place, values in enumerate(lanes):
            every.setdefault((window, place), []).extend(values)
    return every


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
