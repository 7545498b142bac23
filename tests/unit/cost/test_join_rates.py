"""Rates, windows and seconds of selections and joins, by value and against rows that are really joined."""

from __future__ import annotations

import random
from itertools import permutations
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.joins import example_1, log_floats, problems
from weft.cost.joins.filters import Filter, FilterPlan, cheapest_filters
from weft.cost.joins.flows import Flow, join, join_all, select
from weft.cost.joins.join_cost import JoinCost, WindowCost, is_feasible, symmetric_cost
from weft.cost.joins.left_deep import load_of, orders
from weft.cost.joins.problem import InputStream, JoinPredicate, JoinProblem
from weft.errors import PlanError
from weft.model.window import TIME

FIGURE_1 = (Filter(0.0005, 0.25), Filter(0.001, 0.5))
flows = st.builds(Flow, log_floats(-1, 3), log_floats(0, 3))
filters = st.builds(Filter, log_floats(-4, -1), log_floats(-2, 0))


def test_figure_1_by_value():
    plan_a, plan_b = FilterPlan(1000, FIGURE_1), FilterPlan(1000, FIGURE_1[::-1])
    assert (plan_a.utilisation, plan_b.utilisation) == pytest.approx((0.75, 1.25))
    assert plan_a.costs == pytest.approx((0.5, 0.25)) and plan_b.costs == pytest.approx((1.0, 0.25))
    assert is_feasible(plan_a.utilisation) and not is_feasible(plan_b.utilisation)
    assert (plan_a.kept, plan_b.kept) == pytest.approx((1.0, 0.8))
    assert (plan_a.output, plan_b.output) == pytest.approx((125, 100))
    assert cheapest_filters(1000, FIGURE_1[::-1]) == plan_a


def test_a_machine_that_is_just_full_is_not_feasible():
    assert is_feasible(0.999) and not is_feasible(1.0)


@given(log_floats(0, 4), st.lists(filters, min_size=1, max_size=4))
def test_the_cheapest_order_of_filters_is_by_rank(rate, members):
    least = min(FilterPlan(rate, order).utilisation for order in permutations(members))
    assert cheapest_filters(rate, members).utilisation == pytest.approx(least)


@given(log_floats(2, 5), st.lists(filters, min_size=1, max_size=4), st.data())
def test_one_drop_box_at_the_source_suffices(rate, members, data):
    """004 Obs. 2: boxes anywhere that fit into the machine give no more."""
    keep = [data.draw(st.floats(0.001, 1)) for _ in range(len(members) + 1)]
    plan = FilterPlan(rate, tuple(members))
    fits = plan.utilisation_with(keep) <= 1
    assert not fits or plan.output_with(keep) <= plan.output * (1 + 1e-9)
    assert plan.utilisation_with([plan.kept]) == 0 or plan.utilisation * plan.kept <= 1 + 1e-9


def test_selections_shrink_rate_and_window():
    assert select(Flow(1000, 10), 0.25) == Flow(250, 2.5)


@given(st.lists(flows, min_size=2, max_size=4), log_floats(-3, 0))
def test_the_order_of_joins_does_not_change_what_comes_out(streams, selectivity):
    """004 Obs. 1: Eq. 5 and 6 are Eq. 3 and 4 in any order."""
    whole = join_all(streams, selectivity)
    for order in permutations(streams):
        found = order[0]
        for place, stream in enumerate(order[1:]):
            found = join(found, stream, selectivity if place == 0 else 1.0)
        assert (found.rate, found.window) == pytest.approx((whole.rate, whole.window))


def test_a_row_enters_the_window_of_its_own_side():
    cost = JoinCost(WindowCost(1, 2, 4), WindowCost(8, 16, 32))
    # 004 Eq. 8 would insert left rows into the right window.
    assert (cost.of_left, cost.of_right) == (1 + 2 + 32, 8 + 16 + 4)
    assert cost.seconds(3, 5) == 3 * 35 + 5 * 28 and not cost.symmetric


@given(log_floats(-1, 4), log_floats(-1, 4))
def test_equal_sides_add_their_rates(left, right):
    """004 Eq. 9."""
    side = WindowCost(1e-4, 2e-4, 3e-4)
    assert JoinCost(side, side).seconds(left, right) == pytest.approx((left + right) * 6e-4)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_join_takes_some_time(seconds):
    with pytest.raises(PlanError, match="give positive seconds"):
        symmetric_cost(seconds)


def test_example_1_by_value():
    problem = example_1(0.5)
    loads = {order: load_of(problem, order) for order in orders(problem)}
    assert {order: load.tuples for order, load in loads.items()} == pytest.approx(
        {(0, 1, 2): 500, (0, 2, 1): 400, (1, 2, 0): 280})
    assert all(load.output == pytest.approx(1000) for load in loads.values())
    used = [load_of(example_1(ms), order).utilisation for ms in (0.5, 3) for order in ((0, 1, 2), (1, 2, 0), (0, 2, 1))]
    assert used == pytest.approx([0.25, 0.14, 0.20, 1.5, 0.84, 1.2])
    # The paper calls plan a, against plan b, "a 170% increase".
    assert loads[0, 1, 2].tuples / loads[1, 2, 0].tuples - 1 == pytest.approx(0.786, abs=0.001)


@given(problems())
def test_a_load_is_its_joins_one_by_one(problem):
    """The coefficients against Eq. 3, 4 and 8, join by join."""
    timed = problem.windows == TIME
    streams = [Flow(s.rate, s.rate * s.window if timed else s.window) for s in problem.streams]
    for order in list(orders(problem))[:6]:
        load, left, work, entered = load_of(problem, order), streams[order[0]], 0.0, 0.0
        for place, number in enumerate(order[1:], start=1):
            right = streams[number]
            result = join(left, right, prod(problem.selectivities[number][b] for b in order[:place]))
            work += problem.cost.seconds(left.rate, right.rate, result.rate)
            entered, left = entered + left.rate + right.rate, result
        assert load.utilisation == pytest.approx(work / problem.capacity)
        assert (load.output, load.tuples) == pytest.approx((left.rate, entered))


@given(problems())
def test_orders_are_all_there_are(problem):
    """Each once, the first two in one order only where the sides are alike; and joined by predicates if asked."""
    found = list(orders(problem))
    seen = {order if not problem.cost.symmetric else (frozenset(order[:2]), *order[2:]) for order in found}
    assert len(seen) == len(found) > 0
    every = [order for order in permutations(range(len(problem.streams))) if problem.cross_products or
             all(problem.neighbours[order[k]] & {*order[:k]} for k in range(1, len(order)))]
    assert len(found) * (2 if problem.cost.symmetric else 1) == len(every)


def test_without_cross_products_example_1_has_two_plans():
    assert [*orders(example_1(14, cross_products=False))] == [(0, 1, 2), (1, 2, 0)]


A, B, C = (InputStream(name, 10, 10) for name in "ABC")
AB = JoinPredicate("A", "B", 0.5)
WRONG = {
    "a rate of zero": (lambda: InputStream("A", 0, 10), "the rate of stream 'A' must be positive, not 0"),
    "no number": (lambda: InputStream("A", float("nan"), 10), "the rate of stream 'A' must be positive"),
    "a window of zero": (lambda: InputStream("A", 1, -2), "the window of stream 'A' must be positive, not -2"),
    "too selective": (lambda: JoinPredicate("A", "B", 0), "above 0 and at most 1, not 0"),
    "not selective": (lambda: JoinPredicate("A", "B", 1.5), "above 0 and at most 1, not 1.5"),
    "itself": (lambda: JoinPredicate("A", "A", 0.5), "joins 'A' with itself"),
    "one stream": (lambda: problem_of((A,), ()), "at least two streams"),
    "twice": (lambda: problem_of((A, B, A), (AB,)), "stream 'A' is there twice"),
    "unknown": (lambda: problem_of((A, C), (AB,)), "there is no stream 'B'. The streams are A, C."),
    "two of a pair": (lambda: problem_of((A, B), (AB, JoinPredicate("B", "A", 1))), "of 'A' and 'B' is there twice"),
    "no predicate": (lambda: problem_of((A, B), ()), "nothing joins 'B' with 'A'"),
    "an island": (lambda: problem_of((A, B, C), (AB,)), "give the selectivity of 'C' and a stream"),
    "windows": (lambda: problem_of((A, B), (AB,), windows="weeks"), "windows are 'rows' or 'time'"),
    "drop boxes": (lambda: problem_of((A, B), (AB,), shed_by="chance"), "drop boxes decide by 'rows' or 'keys'"),
    "capacity": (lambda: problem_of((A, B), (AB,), capacity=0), "the capacity must be positive"),
}


def problem_of(streams, predicates, **more):
    return JoinProblem(streams, predicates, symmetric_cost(1e-3), **more)


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_joined_gets_a_sentence(case):
    make, sentence = WRONG[case]
    with pytest.raises(PlanError, match=sentence.replace(".", r"\.")):
        make()


def test_rows_that_are_really_joined_come_at_the_estimated_rate():
    """Two streams by turns, windows of rows: each new row looks at the last rows of the other side."""
    random_rows = random.Random(4)
    rates, sizes, keys = (3, 1), (20, 30), 10
    kept: tuple[list[int], list[int]] = ([], [])
    found = 0
    for second in range(4000):
        for side in (0, 0, 0, 1):
            key = random_rows.randrange(keys)
            if second >= 100:  # windows are full
                found += sum(key == other for other in kept[1 - side][-sizes[1 - side]:])
            kept[side].append(key)
    want = join(Flow(rates[0], sizes[0]), Flow(rates[1], sizes[1]), 1 / keys)
    assert found / 3900 == pytest.approx(want.rate, rel=0.03)
