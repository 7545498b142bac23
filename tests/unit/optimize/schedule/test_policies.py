"""The contract of the policies: every bound is kept, costs hold, and nobody beats the optimum."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.schedules import PAPER, least_cost, paper_problems, problem_of, problems, weft_problems
from weft.errors import PlanError
from weft.optimize.schedule import POLICIES, RunGroup, ScheduleProblem, find_policy, make_schedule
from weft.optimize.schedule.base import Policy
from weft.optimize.schedule.cost_rate import cost_rate, exact_rate, sampled_rate
from weft.optimize.schedule.problem import MINUTE, close_bounds
from weft.optimize.schedule.simulate import simulate
from weft.optimize.schedule.timetable import Rhythm, Schedule, steady_schedule

hybrid = sys.modules["weft.optimize.schedule.hybrid"]  # the name in the package is the policy
cyclic = sys.modules["weft.optimize.schedule.cyclic"]


def cost_of(name: str, problem: ScheduleProblem) -> Fraction:
    return cost_rate(problem, make_schedule(find_policy(name), problem)).cost


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@given(problems)
@settings(max_examples=40)
def test_every_bound_is_kept_and_no_run_is_empty(policy, problem):
    schedule = make_schedule(policy, problem)
    until = min(schedule.period, 400 * min(problem.bounds)) + max(problem.bounds)
    runs = list(schedule.runs(0, until))
    assert all(run.members for run in runs) and [run.at for run in runs] == sorted({run.at for run in runs})
    for g, bound in enumerate(problem.bounds):
        times = [run.at for run in runs if g in run.members]
        assert times[0] < bound and until - times[-1] <= bound
        assert all(b - a <= bound for a, b in pairwise(times))
    assert schedule == make_schedule(policy, replace(problem)), "equal input, equal schedule"


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@given(problems)
@settings(max_examples=25)
def test_simulated_cost_is_the_closed_form_over_the_period(policy, problem):
    schedule = make_schedule(policy, problem)
    if schedule.period > 2000 * min(problem.bounds):
        return
    runs = simulate(problem, schedule, 2 * schedule.period).runs
    second = [run for run in runs if run.at >= schedule.period]  # the first period begins with all groups
    rate = cost_rate(problem, schedule)
    assert sum(problem.costs.together(run.members) for run in second) == rate.cost * schedule.period
    assert len(second) == rate.runs * schedule.period


@given(problems)
@settings(max_examples=60)
def test_who_is_never_dearer_than_whom(problem):
    cost = {policy.name: cost_of(policy.name, problem) for policy in POLICIES}
    assert cost["hybrid"] <= min(cost["conservative"], cost["aggressive"])
    assert cost["cyclic"] <= cost["harmonic"] <= cost["aggressive"]
    assert cost["cyclic"] <= cost["hybrid"]


SMALL = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 20), st.sampled_from([0, 0, 3])), min_size=1, max_size=3)


@given(st.builds(problem_of, SMALL, st.sampled_from([0, 7])))
@settings(max_examples=40)
def test_cyclic_is_the_optimum_of_all_schedules(problem):
    schedule = make_schedule(find_policy("cyclic"), problem)
    merged = hybrid.merge_groups(problem, problem.classes)  # groups of one bound are one by definition
    assert schedule.best and cost_rate(problem, schedule).cost == least_cost(merged)


def test_the_oracle_finds_the_papers_optimum():
    assert least_cost(PAPER) * MINUTE == Fraction(52, 5)


@given(paper_problems)
@settings(max_examples=30)
def test_hybrid_prices_every_partition_right(problem):
    merged = hybrid.merge_groups(problem, problem.classes)
    prices, parts = hybrid.PartitionPrices(merged), hybrid.best_partition(merged)
    dearest = max(hybrid.partitions(len(merged.groups)), key=prices.of)
    assert prices.of(dearest) * hybrid.part_cost(merged, parts) == prices.of(parts) * hybrid.part_cost(merged, dearest)
    assert hybrid.part_cost(merged, parts) == min(hybrid.part_cost(merged, p) for p in
                                                  hybrid.partitions(len(merged.groups)))


def many(size: int, seed: int, answers: bool = False) -> ScheduleProblem:
    random = Random(seed)
    bounds = random.sample(range(2, 10 * size), size)
    return problem_of([(bound, random.randint(5, 60), random.randint(1, 9) * answers) for bound in sorted(bounds)],
                      overhead=10 * answers)


def test_merging_neighbours_is_close_to_the_best_partition():
    ratios = []
    for seed in range(25):
        problem = many(7, seed, answers=bool(seed % 2))
        ratios.append(hybrid.part_cost(problem, hybrid.merged_neighbours(problem))
                      / hybrid.part_cost(problem, hybrid.best_partition(problem)))
    assert min(ratios) >= 1 and max(ratios) <= 1.05 and sum(ratio == 1 for ratio in ratios) >= 20


@pytest.mark.parametrize(("size", "answers"), [(12, True), (45, False)])
def test_many_bounds(size, answers):
    """The laws hold where not everything can be tried, and each policy says so."""
    problem = many(size, size, answers)
    found = {policy.name: make_schedule(policy, problem) for policy in POLICIES}
    cost = {name: cost_rate(problem, schedule).cost for name, schedule in found.items()}
    assert cost["hybrid"] <= min(cost["conservative"], cost["aggressive"])
    assert cost["cyclic"] <= min(cost["hybrid"], cost["harmonic"]) <= cost["aggressive"]
    assert not found["hybrid"].best and "more than 10 bounds" in found["hybrid"].note
    assert found["cyclic"].best or "too many ages" in found["cyclic"].note


@given(weft_problems)
@settings(max_examples=15)
def test_cyclic_without_room_falls_back_on_what_never_costs_more(problem):
    room, cyclic.AGES = cyclic.AGES, len(problem.groups)
    try:
        schedule = make_schedule(find_policy("cyclic"), problem)
    finally:
        cyclic.AGES = room
    assert cost_rate(problem, schedule).cost <= min(cost_of(name, problem) for name in ("harmonic", "hybrid"))
    assert schedule.best or schedule.note


def test_odd_units_are_rounded_down():
    """Bounds of a prime number of microseconds have no unit that is coarse enough."""
    problem = ScheduleProblem(tuple(RunGroup(f"G{i}", bound, Fraction(cost), Fraction(1)) for i, (bound, cost) in
                                    enumerate([(120_000_007, 9), (180_000_017, 14), (300_000_007, 29)])))
    schedule = make_schedule(find_policy("cyclic"), problem)
    even = problem_of([(2, 9, 1), (3, 14, 1), (5, 29, 1)])
    assert "rounded down" in schedule.note
    assert cost_rate(problem, schedule).cost <= cost_of("cyclic", even) * Fraction(101, 100)


def test_close_bounds_become_one():
    assert close_bounds([10, 11, 100, 105, 1000], 3) == [[0, 1], [2, 3], [4]]
    assert close_bounds([1, 2, 3], 3) == [[0], [1], [2]]


def test_a_cost_that_cannot_be_counted_is_sampled():
    random = Random(5)
    bounds = random.sample(range(1_000_003, 9_000_000, 2), 14)
    groups = (RunGroup(f"G{i}", bound, Fraction(random.randint(1, 30))) for i, bound in enumerate(bounds))
    problem = ScheduleProblem(tuple(groups))
    rate = cost_rate(problem, make_schedule(find_policy("conservative"), problem))
    assert exact_rate(problem, steady_schedule(bounds)) is None and rate.error > 0
    alone = sum(group.read / group.bound for group in problem.groups)  # such bounds hardly ever coincide
    assert abs(float(rate.cost - alone)) <= rate.error + float(alone) * 1e-3


@given(problems)
@settings(max_examples=20)
def test_a_sample_agrees_with_the_count(problem):
    schedule = make_schedule(find_policy("hybrid"), problem)
    exact, sample = cost_rate(problem, schedule), sampled_rate(problem, schedule)
    assert abs(float(exact.cost - sample.cost)) <= 2 * sample.error + 1e-12


def test_hybrid_on_random_sets_of_four_groups():
    """About 0.76 of conservative and 0.86 of aggressive, below both in half of them; the paper has no such figures."""
    random, costs = Random(0), []
    for _ in range(200):
        bounds = sorted(random.sample(range(2, 31), 4))
        problem = problem_of([(bound, random.randint(5, 60)) for bound in bounds])
        costs.append([float(cost_of(name, problem)) for name in ("hybrid", "conservative", "aggressive")])
    assert sum(mine / other for mine, other, _ in costs) / 200 == pytest.approx(0.76, abs=0.02)
    assert sum(mine / other for mine, _, other in costs) / 200 == pytest.approx(0.86, abs=0.02)
    assert sum(mine < min(others) for mine, *others in costs) / 200 == pytest.approx(0.53, abs=0.05)


def test_the_page_names_every_policy():
    page = (Path(__file__).parents[4] / "docs" / "schedules.md").read_text()
    assert [policy.name for policy in POLICIES if f"| `{policy.name}` |" not in page] == []
    assert len({policy.name for policy in POLICIES}) == len(POLICIES)
    assert all(policy.title and policy.about and policy.paper for policy in POLICIES)


@pytest.mark.parametrize(("bad", "words"), [
    (lambda: ScheduleProblem(()), "no groups"),
    (lambda: problem_of([(0, 3)]), "bound of group 'G1' must be longer than zero"),
    (lambda: problem_of([(1, -3)]), "cost of group 'G1' must not be negative"),
    (lambda: problem_of([(1, 3)], overhead=-1), "overhead"),
    (lambda: ScheduleProblem(PAPER.groups[:1] * 2), "two groups have the name 'G1'"),
    (lambda: find_policy("hybird"), "did you mean 'hybrid'"),
    (lambda: find_policy("quux"), "choose one of conservative, aggressive, hybrid, harmonic, cyclic"),
])
def test_bad_input_gets_a_sentence(bad, words):
    with pytest.raises(PlanError, match=words):
        bad()


def test_a_policy_that_breaks_a_bound_is_named():
    lazy = Policy("lazy", "Lazy", "", "", lambda problem: steady_schedule([5 * MINUTE] * len(problem.groups)))
    with pytest.raises(PlanError, match="policy 'lazy' leaves 'G1' 5 min without a run: its bound is 2 min"):
        make_schedule(lazy, PAPER)
    lossy = Policy("lossy", "Lossy", "", "", lambda problem: Schedule((Rhythm(1),) * 2))
    with pytest.raises(ValueError, match="zip"):
        make_schedule(lossy, PAPER)
