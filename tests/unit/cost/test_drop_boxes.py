"""Drop boxes of joins: the paper's figures by value, and that nothing better fits."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.strategies.joins import KINDS, example_1, problems
from weft.cost.joins.drop_boxes import DROP_BOXES, find_drop_boxes
from weft.cost.joins.drop_boxes.geometric import geometric
from weft.cost.joins.drop_boxes.knapsack import coefficients, knapsack
from weft.cost.joins.estimate import estimate
from weft.cost.joins.join_cost import symmetric_cost
from weft.cost.joins.left_deep import load_of, orders
from weft.cost.joins.problem import BY_KEYS, BY_ROWS, InputStream, JoinPredicate, JoinProblem
from weft.errors import PlanError
from weft.model.window import ROW_COUNT, TIME

PLANS = {"a": (0, 1, 2), "b": (1, 2, 0), "c": (0, 2, 1)}
FIGURE_6 = {
    2.5: (833.3, 1000, 1000), 3.5: (642.9, 1000, 896.1), 5: (500, 733.3, 818.2), 10: (333.3, 400, 727.3),
    14: (285.7, 304.8, 701.3), 20: (250, 233.3, 500), 50: (200, 133.3, 200), 100: (100, 100, 100),
}


def outputs(ms: float, windows: str = ROW_COUNT, shed_by: str = BY_ROWS) -> tuple[float, ...]:
    return tuple(estimate(example_1(ms, windows, shed_by), order).output for order in PLANS.values())


@pytest.mark.parametrize("ms", FIGURE_6)
def test_figure_6_by_value(ms):
    assert outputs(ms) == pytest.approx(FIGURE_6[ms], abs=0.05)


def test_coefficients_of_example_1_by_value():
    taken = {name: coefficients(load_of(example_1(1000), order)) for name, order in PLANS.items()}
    by_stream = {name: [pair[0][order.index(s)] for s in range(3)]
                 for (name, order), pair in zip(PLANS.items(), taken.values(), strict=True)}
    assert by_stream["a"] == pytest.approx([60, 420, 20]) and by_stream["b"] == pytest.approx([10, 210, 60])
    assert by_stream["c"] == pytest.approx([110, 70, 220])
    assert taken["a"][1] == pytest.approx([100, 700, 200])  # plan a has the streams in their own order


def test_where_the_plans_of_example_1_change_places():
    """b and c at 4.255 ms; b is the worst from 16.67 ms on, which the paper calls 17; the gap peaks near 14.3."""
    def ahead(ms: float, first: int, second: int) -> bool:
        found = outputs(ms)
        return found[first] > found[second]

    assert ahead(4.254, 1, 2) and ahead(4.256, 2, 1)
    assert ahead(16.66, 1, 0) and ahead(16.68, 0, 1)
    gaps = {ms / 10: outputs(ms / 10)[2] / outputs(ms / 10)[1] for ms in range(40, 400)}
    assert max(gaps, key=gaps.__getitem__) == pytest.approx(14.3, abs=0.05)
    assert max(gaps.values()) == pytest.approx(2.33, abs=0.005)


def test_the_paper_freezes_a_window():
    """At 14 ms plan c drops all of C, whose window of rows is counted on for ever."""
    plan = estimate(example_1(14), PLANS["c"])
    assert dict(zip("ACB", plan.keep, strict=True)) == pytest.approx({"A": 0.013, "B": 1.0, "C": 0.0}, abs=5e-4)
    assert plan.output > 700


@pytest.mark.parametrize(("ms", "want", "by_keys"), [(5, (361.7, 680, 375.6), 714.3), (14, (89.1, 169.9, 46.4), 255.1),
                                                     (100, (1.1, 1.9, 0.6), 35.7)])
def test_windows_of_time_by_value(ms, want, by_keys):
    assert outputs(ms, TIME) == pytest.approx(want, abs=0.06)
    assert outputs(ms, TIME, BY_KEYS)[1] == pytest.approx(by_keys, abs=0.05)


def test_with_windows_of_time_too_the_cheapest_plan_may_be_the_wrong_one():
    """(AB)C takes least, but what is dropped of C thins out (AC)B from the first join on."""
    streams = (InputStream("A", 100, 6), InputStream("B", 4, 900), InputStream("C", 5000, 0.2))
    predicates = (JoinPredicate("A", "B", 0.1), JoinPredicate("A", "C", 0.02))
    problem = JoinProblem(streams, predicates, symmetric_cost(0.010), TIME)
    abc, acb = (estimate(problem, order) for order in ((0, 1, 2), (0, 2, 1)))
    assert (abc.cost, acb.cost) == pytest.approx((41_344, 67_104))
    assert (abc.output, acb.output) == pytest.approx((299.0, 19_512.6), rel=1e-3)


@pytest.mark.parametrize("boxes", DROP_BOXES, ids=lambda boxes: boxes.name)
def test_the_contract_of_drop_boxes(boxes):
    @given(problems(kinds=((boxes.windows, boxes.shed_by),)))
    @settings(max_examples=40)
    def check(problem):
        assert find_drop_boxes(problem) is boxes
        for order in orders(problem):
            load, plan = load_of(problem, order), estimate(problem, order)
            assert all(0 <= share <= 1 for share in plan.keep)
            assert boxes.reduce(load, (1.0,) * len(order)).output == pytest.approx(load.output)
            assert plan.output <= load.output * (1 + 1e-9)
            if load.utilisation > 1:  # all of the machine is used, and not more
                assert plan.used == pytest.approx(1, rel=1e-9)
            else:
                assert set(plan.keep) == {1.0} and plan.used == plan.utilisation

    check()


def test_every_kind_of_problem_has_drop_boxes_or_a_sentence():
    assert [(boxes.windows, boxes.shed_by) for boxes in DROP_BOXES] == list(KINDS)
    with pytest.raises(PlanError, match="Use windows of time, or drop by rows"):
        find_drop_boxes(example_1(14, ROW_COUNT, BY_KEYS))


@given(problems(kinds=((ROW_COUNT, BY_ROWS),), most=4))
@settings(max_examples=40)
def test_no_other_shares_of_a_knapsack_give_more(problem):
    """The optimum of one linear constraint lies where at most one share is neither 0 nor 1."""
    for order in orders(problem):
        load = load_of(problem, order)
        if load.utilisation > 1:
            taken, given_ = coefficients(load)
            best = max(value for value in corner_outputs(taken, given_))
            assert knapsack.reduce(load, knapsack.choose(load)).output == pytest.approx(best, rel=1e-9)


def corner_outputs(taken, given_):
    """The outputs of all corners: every stream whole or not at all but one, which gets what is left."""
    for rest in range(len(taken)):
        for whole in product((0.0, 1.0), repeat=len(taken)):
            room = 1 - sum(a * x for p, (a, x) in enumerate(zip(taken, whole, strict=True)) if p != rest)
            if room >= 0:
                share = min(1.0, room / taken[rest])
                yield sum(w * (share if p == rest else x) for p, (w, x) in enumerate(zip(given_, whole, strict=True)))


@given(problems(kinds=((TIME, BY_ROWS),)))
@settings(max_examples=40)
def test_the_geometric_program_is_solved(problem):
    """KKT, which suffices since the program is convex in log x: thinned streams have equal parts of the load, and no
    whole one has more."""
    for order in orders(problem):
        load = load_of(problem, order)
        if load.utilisation > 1:
            keep = geometric.choose(load)
            parts = load_parts(load, keep)
            thinned = [part for part, share in zip(parts, keep, strict=True) if share < 1]
            assert thinned and thinned == pytest.approx([thinned[0]] * len(thinned), rel=1e-6)
            assert max(parts) <= thinned[0] * (1 + 1e-6)


def load_parts(load, keep):
    """By stream the sum of all terms of the load that it is in."""
    results, whole = [], 1.0
    for share, taken in zip(keep, load.results, strict=True):
        whole *= share
        results.append(taken * whole)
    return [own * share + sum(results[max(place, 1):])
            for place, (own, share) in enumerate(zip(load.own, keep, strict=True))]


@given(problems(kinds=((TIME, BY_ROWS),)), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_no_shares_nearby_give_more(problem, chance: random.Random):
    """Without KKT: other shares, brought back to what the machine can do, give no more."""
    order = next(orders(problem))
    load = load_of(problem, order)
    assume(load.utilisation > 1)
    best = geometric.reduce(load, geometric.choose(load)).output
    for _ in range(20):
        keep = [min(1.0, share * chance.uniform(0.3, 3)) for share in geometric.choose(load)]
        while geometric.reduce(load, keep).utilisation > 1:
            keep = [share * 0.99 for share in keep]
        assert geometric.reduce(load, keep).output <= best * (1 + 1e-9)


@given(problems(kinds=((TIME, BY_ROWS),)))
@settings(max_examples=40)
def test_dropping_by_keys_gives_at_least_as_much_as_by_rows(problem):
    """Π_{i≤k} x_i ≥ Πx for every result, so shares x that fit have Πx ≤ 1 / C, and 1 / C is the share of keys."""
    by_keys = JoinProblem(problem.streams, problem.predicates, problem.cost, TIME, BY_KEYS, problem.capacity)
    for order in orders(problem):
        assert estimate(by_keys, order).output >= estimate(problem, order).output * (1 - 1e-9)


def test_numbers_beyond_doubles_get_a_sentence():
    streams = tuple(InputStream(name, 1e200, 1e200) for name in "AB")
    problem = JoinProblem(streams, (JoinPredicate("A", "B", 1.0),), symmetric_cost(1e-3))
    with pytest.raises(PlanError, match="give smaller numbers"):
        estimate(problem, (0, 1))


def joined(left, right, of_time: bool, size: int) -> set[tuple[int, int]]:
    """The pairs that a window join of two streams of (time, key) gives, the last `size` rows or seconds of each."""
    found, kept = set(), ([], [])
    for at, side, key in sorted([(t, 0, k) for t, k in left] + [(t, 1, k) for t, k in right]):
        other = kept[1 - side]
        window = [row for row in other if row[0] >= at - size] if of_time else other[-size:]
        found |= {((at, t) if side == 0 else (t, at)) for t, k in window if k == key}
        kept[side].append((at, key))
    return found


def test_dropping_before_a_window_of_rows_gives_rows_that_are_no_answer():
    """What a drop box leaves lies longer in a window of rows than it should; in a window of time it does not."""
    chance = random.Random(7)
    left = [(2 * i, chance.randrange(5)) for i in range(300)]
    right = [(2 * i + 1, chance.randrange(5)) for i in range(300)]
    some = [row for row in right if chance.random() < 0.3]
    assert joined(left, some, True, 20) <= joined(left, right, True, 20)
    assert joined(left, some, False, 10) - joined(left, right, False, 10)
