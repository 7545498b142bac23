"""The contract of the searches for join orders, over the whole family; exhaustive is the oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings

from tests.strategies.joins import example_1, problems
from weft.cost.joins.estimate import estimate
from weft.cost.joins.left_deep import load_of, orders
from weft.cost.joins.problem import BY_KEYS, InputStream, JoinPredicate, JoinProblem
from weft.errors import PlanError
from weft.model.window import TIME
from weft.optimize.join_order import (
    EVERY_JOIN_OPTIMIZER,
    JOIN_OPTIMIZERS,
    choose_order,
    find_join_optimizer,
)
from weft.optimize.join_order.dynamic_programming import dynamic_programming
from weft.optimize.join_order.exhaustive import exhaustive

EVERY = pytest.mark.parametrize("optimizer", EVERY_JOIN_OPTIMIZER, ids=lambda o: o.name)
NEAR = 1 + 1e-9


@EVERY
def test_the_contract(optimizer):
    """An order of all streams; shares that are shares; a machine that is not overrun; never more than comes in."""

    @given(problems())
    @settings(max_examples=30)
    def check(problem):
        plan = optimizer.choose(problem)
        assert plan.order in list(orders(problem))
        assert len(plan.keep) == len(plan.order) and all(0 <= share <= 1 for share in plan.keep)
        assert plan.used <= NEAR
        assert plan.output <= load_of(problem, plan.order).output * NEAR
        assert plan == estimate(problem, plan.order, plan.keep), "its figures are those of its order and boxes"
        assert plan == optimizer.choose(replace(problem)), "equal input, equal plan"

    check()


@EVERY
def test_exact_where_a_plan_is_feasible_and_never_better_than_the_best(optimizer):
    @given(problems())
    @settings(max_examples=30)
    def check(problem):
        best, found = exhaustive.choose(problem), optimizer.choose(problem)
        assert found.objective <= best.objective * NEAR
        if best.feasible or problem.shed_by == BY_KEYS:
            assert found.objective * NEAR >= best.objective
        if best.feasible:
            assert set(found.keep) == {1.0} and found.output == pytest.approx(best.output)

    check()


@given(problems())
@settings(max_examples=30)
def test_exhaustive_takes_the_best_of_all(problem):
    plans = [estimate(problem, order) for order in orders(problem)]
    best = exhaustive.choose(problem)
    feasible = [plan for plan in plans if plan.utilisation <= 1]
    if feasible:
        assert best.utilisation == pytest.approx(min(plan.utilisation for plan in feasible), rel=1e-9)
    else:
        assert best.output == pytest.approx(max(plan.output for plan in plans), rel=1e-9)


@given(problems())
@settings(max_examples=30)
def test_retuned_boxes_are_never_worse(problem):
    retuned = find_join_optimizer("dynamic_programming:retuned").choose(problem)
    plain = dynamic_programming.choose(problem)
    assert retuned.order == plain.order and retuned.output * NEAR >= plain.output


@pytest.mark.parametrize(("ms", "order"), [(0.5, (1, 2, 0)), (4.2, (1, 2, 0)), (4.3, (0, 2, 1)), (14, (0, 2, 1)),
                                           (20, (0, 2, 1))])
def test_example_1_by_value(ms, order):
    """Plan b leads up to 4.2 ms, plan c from 4.3 ms (004 Fig. 6); dynamic programming finds both."""
    for optimizer in EVERY_JOIN_OPTIMIZER:
        plan = choose_order(optimizer, example_1(ms))
        assert plan.order == order, optimizer.name
    assert choose_order(exhaustive, example_1(14, TIME, BY_KEYS)).order == (1, 2, 0)


def test_by_keys_the_cheapest_plan_is_the_one_to_drop_from():
    """004 Obs. 2 for joins."""

    @given(problems(kinds=((TIME, BY_KEYS),)))
    @settings(max_examples=40)
    def check(problem):
        plans = [estimate(problem, order) for order in orders(problem)]
        cheapest = min(plans, key=lambda plan: plan.utilisation)
        assert exhaustive.choose(problem).utilisation == pytest.approx(cheapest.utilisation)

    check()


def chain(size: int) -> JoinProblem:
    """So many streams, each joined with the one before."""
    names = [f"s{number}" for number in range(size)]
    streams = tuple(InputStream(name, 10 + number, 10) for number, name in enumerate(names))
    predicates = tuple(JoinPredicate(a, b, 0.05) for a, b in pairwise(names))
    return replace(example_1(1), streams=streams, predicates=predicates)


def test_many_streams_are_for_dynamic_programming():
    with pytest.raises(PlanError, match="Exhaustive takes at most 7 streams, not 8: use dynamic_programming"):
        choose_order(exhaustive, chain(8))
    assert len(choose_order(dynamic_programming, chain(8)).order) == 8
    with pytest.raises(PlanError, match="at most 12 streams, not 13: join fewer"):
        choose_order(dynamic_programming, chain(13))


def test_names_are_found_or_told():
    assert find_join_optimizer("exhaustive") is exhaustive and JOIN_OPTIMIZERS[-1] is exhaustive
    with pytest.raises(PlanError, match="did you mean 'exhaustive'"):
        find_join_optimizer("exhaustiv")
    with pytest.raises(PlanError, match="join orders are chosen by dynamic_programming, "):
        find_join_optimizer("zzz")
