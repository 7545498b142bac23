"""The account of a plan: parts add up, and the extremes are those of the optimizers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.cost.model import PaperModel, SparkModel, find_technique
from weft.cost.techniques import TECHNIQUES
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.window import Window
from weft.optimize import EVERY_OPTIMIZER
from weft.optimize.cost_breakdown import break_down, break_down_plan
from weft.optimize.plan import find_optimizer, plan_workload, scan_key
from weft.optimize.problem import Problem, price_groups

EXAMPLE_3 = (Window(16, 4), Window(10, 5), Window(8, 4))
SECOND = 1_000_000
SPAN = 36_000 * SECOND
SPARK = SparkModel(2e6 / SPAN, 1000, SPAN)

windows_of = st.builds(lambda slide, more: Window(slide + more, slide), st.integers(1, 12), st.integers(0, 40))


def problem_of(windows, technique="panes", shared=False):
    return Problem(tuple(windows), PaperModel(1.2, find_technique(technique)), shared)


def bound(name, window, keys=("symbol",), projection=0):
    query = SimpleNamespace(name=name, source="trades", where=None, time="ts", keys=keys, window=window)
    return SimpleNamespace(query=query, projection=projection, risky=False)


def projection(item):
    return item.projection


def test_example_3_by_value():
    found = break_down(problem_of(EXAMPLE_3), ((0, 2), (1,)))
    assert (found.cost.total, found.no_share, found.shared) == pytest.approx((4.3, 5.5, 4.4))
    # 16/4 and 8/4 halve the reading of 1.2 and fold four and two slices every 4; 10/5 pays for itself.
    assert [s.part for s in found.shares] == pytest.approx([1.6, 1.6, 1.1])
    assert [s.saved for s in found.shares] == pytest.approx([0.6, 0.0, 0.6])


def test_a_factor_changes_the_unit_only():
    one, thousand = (break_down(problem_of(EXAMPLE_3), ((0, 1, 2),), factor) for factor in (1, 1000))
    assert thousand.cost.total == pytest.approx(1000 * one.cost.total)
    assert thousand.cost.trees[0].cost == pytest.approx(1000 * one.cost.trees[0].cost)
    assert thousand.cost.trees[0].edge_rate == one.cost.trees[0].edge_rate
    assert [s.saved for s in thousand.shares] == pytest.approx([1000 * s.saved for s in one.shares])


@pytest.mark.parametrize("technique", [t.name for t in TECHNIQUES])
@pytest.mark.parametrize("optimizer", EVERY_OPTIMIZER, ids=lambda o: o.name)
def test_parts_add_up(optimizer, technique):
    @given(st.lists(windows_of, min_size=1, max_size=6))
    @settings(max_examples=6)
    def check(windows):
        problem = problem_of(windows, technique, optimizer.shared)
        found = break_down(problem, optimizer.group(problem))
        apart = problem_of(windows, technique)
        extremes = [price_groups(apart, find_optimizer(name).group(apart)).total for name in ("no_share", "share_all")]
        assert [found.no_share, found.shared] == pytest.approx(extremes)
        assert sum(s.part for s in found.shares) == pytest.approx(found.cost.total)
        assert sum(s.saved for s in found.shares) == pytest.approx(found.no_share - found.cost.total)
        assert all(s.part > 0 for s in found.shares)

    check()


def test_who_shares_nothing_saves_nothing():
    found = break_down(problem_of(EXAMPLE_3), ((0,), (1,), (2,)))
    assert [s.saved for s in found.shares] == pytest.approx([0, 0, 0])


def test_equal_queries_pay_the_same():
    found = break_down(problem_of([Window(8, 4)] * 4), ((0, 1, 2, 3),))
    assert len({s.part for s in found.shares}) == 1
    assert found.shares[0].part == pytest.approx(found.cost.total / 4)


def workload():
    fine = [bound(f"f{i}", Window(60 * SECOND, s * SECOND)) for i, s in enumerate((7, 11, 13))]
    coarse = [bound(f"c{i}", Window(h * 3600 * SECOND, 3600 * SECOND), projection=i) for i, h in enumerate((1, 2, 3))]
    return (*fine, *coarse, bound("all", Window(60 * SECOND, 60 * SECOND), keys=()))


@pytest.mark.parametrize("name", ["tri_weave", "weave_share", "share_all", "no_share"])
def test_a_plan_is_reckoned_in_seconds(name):
    optimizer = find_optimizer(name)
    plan = plan_workload(workload(), optimizer, lambda b: SPARK, projection)
    found = break_down_plan(plan, lambda b: SPARK, projection, {scan_key(workload()[0])})
    whole = [break_down_plan(plan_workload(workload(), find_optimizer(other), lambda b: SPARK, projection),
                             lambda b: SPARK, projection) for other in ("no_share", "share_all")]
    assert found.no_share == pytest.approx(whole[0].cost) and found.shared == pytest.approx(whole[1].cost)
    assert 0.3 < found.cost <= found.no_share * (1 + 1e-9)
    parts = [s.part for scan in found.scans for s in scan.account.shares]
    assert len(parts) == 7 and sum(parts) == pytest.approx(found.cost)
    assert [scan.known == "measured" for scan in found.scans] == [bool(scan.head.query.keys) for scan in plan.scans]


def test_trees_over_one_scan_pay_for_it_together():
    items = workload()[:6]
    plan = SharedPlan("tri_weave", (Scan((Tree(items[:3]), Tree(items[3:]))),))
    (scan,) = break_down_plan(plan, lambda b: SPARK, projection).scans
    once = SPARK.scan(float(scan.edge_rate.value)) * SPAN
    assert scan.account.cost.partial == pytest.approx(once)
    assert scan.account.cost.total == pytest.approx(once + sum(t.cost for t in scan.account.cost.trees))
    assert all(s.part >= once / 6 for s in scan.account.shares)
