"""The figures of Spark: found again from the runs they explain, and refused where they are none."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.calibrate.spark import TRIALS, counted
from weft.cost.model import SparkModel
from weft.cost.spark import SparkCosts, SparkRun, fit_costs, read_costs
from weft.model.window import Window
from weft.optimize.problem import Problem, price_groups

near = st.floats(0.3, 3.0)


def taking(run: SparkRun, costs: SparkCosts) -> SparkRun:
    return replace(run, seconds=float(np.dot(run.counts, astuple(costs))))


@settings(max_examples=20)
@given(st.tuples(*[near] * 7))
def test_runs_give_back_what_made_them(factors):
    made = SparkCosts(*(f * v for f, v in zip(factors, astuple(SparkCosts()), strict=True)))
    runs = [taking(counted(trial), made) for trial in TRIALS]
    found = fit_costs(runs, SparkCosts())
    for run in runs:
        assert taking(run, found).seconds == pytest.approx(run.seconds, rel=0.05)


def test_figures_stay_positive_whatever_the_noise():
    runs = [replace(counted(trial), seconds=0.5) for trial in TRIALS]
    assert min(astuple(fit_costs(runs, SparkCosts()))) > 0


@pytest.mark.parametrize("bad", [{"row": 0}, {"emit": -1}, {"answer": float("nan")}])
def test_no_figures_of_spark(bad):
    with pytest.raises(ValueError, match="must be positive"):
        read_costs({**SparkCosts().to_dict(), **bad})
    assert read_costs(SparkCosts().to_dict()) == SparkCosts()


def test_answers_cost_the_same_in_any_plan():
    windows = (Window(60, 10), Window(70, 7), Window(300, 11))
    model = SparkModel(rate=0.5, keys=20, span=36_000)
    free = replace(model, costs=replace(model.costs, answer=1e-30))
    for groups in (((0, 1, 2),), ((0,), (1, 2)), ((0,), (1,), (2,))):
        more = price_groups(Problem(windows, model), groups).total - price_groups(Problem(windows, free), groups).total
        assert more == pytest.approx(model.delivering(windows), rel=1e-6)
    assert model.answers(windows) == pytest.approx(20 * (1 / 10 * (1 - np.exp(-1.5)) + 1 / 7 * (1 - np.exp(-1.75))
                                                         + 1 / 11 * (1 - np.exp(-7.5))))
