"""The local runner: answers by the definition of a window, whatever the tree, the plan and the algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.aggregates.operation import ADD, MAX
from weft.cost.model import PaperModel, find_technique
from weft.final.algorithms import ALGORITHMS
from weft.local.run import LocalRows, run_tree
from weft.model.window import Window
from weft.optimize import EVERY_OPTIMIZER
from weft.optimize.problem import Problem
from weft.slicing import SLICERS

INT = (np.dtype(np.int64),)
windows_of = st.lists(
    st.builds(lambda slide, more, start: Window(slide + more, slide, start % slide), st.sampled_from([1, 2, 3, 5, 7]),
              st.integers(0, 30), st.integers(0, 6)), min_size=1, max_size=5)


@st.composite
def rows_of(draw):
    size, seed = draw(st.integers(1, 60)), draw(st.integers(0, 9999))
    random = np.random.default_rng(seed)
    return LocalRows(random.integers(-50, 150, size), random.integers(0, 4, size), (random.integers(-9, 9, size),))


def expected(rows: LocalRows, window: Window, operation) -> dict:
    found: dict = {}
    for time, key, value in zip(rows.time.tolist(), rows.key.tolist(), rows.values[0].tolist(), strict=True):
        last = time - (time - window.phase) % window.slide
        for start in range(last, time - window.range, -window.slide):
            found.setdefault((key, start), []).append(value)
    return {place: (sum if operation is ADD else max)(values) for place, values in found.items()}


def as_dict(answers) -> dict:
    return dict(zip(zip(answers.key.tolist(), answers.start.tolist(), strict=True), answers.values[0].tolist(),
                    strict=True))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda a: a.card.name)
@given(rows_of(), windows_of)
@settings(max_examples=15)
def test_answers_are_those_of_the_definition(algorithm, rows, windows):
    operation = ADD if algorithm.supports(ADD, INT, [3]) is None else MAX
    got = dict(run_tree(rows, windows, operation, algorithm))
    assert set(got) == set(windows)
    for window, answers in got.items():
        assert as_dict(answers) == expected(rows, window, operation)


@pytest.mark.parametrize("slicer", SLICERS, ids=lambda s: s.name)
@pytest.mark.parametrize("monoid", [ADD, MAX], ids=["add", "max"])
@given(rows_of(), windows_of)
@settings(max_examples=40)
def test_answers_do_not_depend_on_the_slicer(monoid, slicer, rows, windows):
    got = dict(run_tree(rows, windows, monoid, next(a for a in ALGORITHMS if a.supports(monoid, INT, [3]) is None),
                        slicer))
    assert set(got) == set(windows)
    for window, answers in got.items():
        assert as_dict(answers) == expected(rows, window, monoid)


@given(rows_of(), windows_of, st.sampled_from([0.1, 1.2, 100.0]))
@settings(max_examples=20)
def test_answers_do_not_depend_on_the_plan(rows, windows, rate):
    algorithm = ALGORITHMS[0]
    want = {w: expected(rows, w, ADD) for w in windows}
    for optimizer in EVERY_OPTIMIZER:
        problem = Problem(tuple(windows), PaperModel(rate, find_technique("panes")), optimizer.shared)
        for group in optimizer.group(problem):
            for window, answers in run_tree(rows, [windows[i] for i in group], ADD, algorithm):
                assert as_dict(answers) == want[window]
