"""The paper's values, corrected where it slips, and what goes beyond it (003)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.strategies.schedules import PAPER, problem_of
from weft.cost.runs import count_comparisons, intervals_read
from weft.optimize.schedule import find_policy, make_schedule
from weft.optimize.schedule.cost_rate import cost_rate
from weft.optimize.schedule.hybrid import of_parts, part_cost
from weft.optimize.schedule.problem import MINUTE, ScheduleProblem, merge_groups
from weft.optimize.schedule.speed_up import speed_up_sides, speed_ups
from weft.optimize.schedule.timetable import Schedule

WINDOWS = {2: (10, 5, 6), 3: (15, 12), 5: (20, 30)}  # Q1 to Q7, minutes, by slide


def planned(name: str, problem: ScheduleProblem = PAPER) -> Schedule:
    return make_schedule(find_policy(name), problem)


def per_minute(name: str) -> Fraction:
    return cost_rate(PAPER, planned(name)).per_minute


def test_a_synopsis_is_read_once_for_all_windows_of_a_group():
    assert [count_comparisons(ranges, 1) for ranges in WINDOWS.values()] == [9, 14, 29]
    assert list(intervals_read(WINDOWS[2], 1)) == [10, 5, 6]


@pytest.mark.parametrize(("parts", "cost", "minutes"), [
    ([[0], [1], [2]], 358, 30),  # the paper prints 11.63: it leaves out 9 / 30, where all three coincide
    ([[0, 1], [2]], 114, 10),
    ([[0, 1, 2]], 29, 2),
    ([[0], [1, 2]], 76, 6),
    ([[0, 2], [1]], 101, 6),
])
def test_the_five_choices(parts, cost, minutes):
    assert part_cost(PAPER, parts) * MINUTE == Fraction(cost, minutes)
    assert cost_rate(PAPER, of_parts(PAPER, parts)).per_minute == Fraction(cost, minutes)


def test_two_groups_alone():
    two = ScheduleProblem(PAPER.groups[:2])
    assert cost_rate(two, planned("conservative", two)).per_minute == Fraction(46, 6)
    assert cost_rate(two, planned("hybrid", two)).per_minute == Fraction(14, 2)


@pytest.mark.parametrize(("name", "cost", "period", "runs"), [
    ("conservative", Fraction(358, 30), 30, 22),
    ("aggressive", Fraction(29, 2), 2, 15),
    ("hybrid", Fraction(114, 10), 10, 18),
    ("harmonic", Fraction(43, 4), 4, 15),
    ("cyclic", Fraction(52, 5), 5, 18),
])
def test_what_each_policy_costs(name, cost, period, runs):
    schedule = planned(name)
    assert per_minute(name) == cost
    assert schedule.period == period * MINUTE and schedule.best
    assert sum(1 for _ in schedule.runs(0, 30 * MINUTE)) == runs
    assert cost_rate(PAPER, schedule).runs * 30 * MINUTE == runs


def test_the_optimum_run_by_run():
    runs = [(run.at // MINUTE, run.members) for run in planned("cyclic").runs(0, 5 * MINUTE)]
    assert runs == [(0, (0, 1, 2)), (2, (0,)), (3, (0, 1))]


def test_when_speeding_up_pays():
    costs, spares = speed_up_sides(PAPER, slow=1, fast=0)
    assert (costs * MINUTE, spares * MINUTE) == (Fraction(5, 2), Fraction(19, 6))
    together = merge_groups(PAPER, [[0, 1], [2]])
    costs, spares = speed_up_sides(together, slow=1, fast=0)
    assert (costs * MINUTE, spares * MINUTE) == (Fraction(15, 2), Fraction(22, 5))


def test_what_is_sped_up_and_what_that_saves():
    assert speed_ups(PAPER, planned("conservative")) == ()
    (only,) = speed_ups(PAPER, planned("hybrid"))
    assert (only.group, only.every) == (1, 2 * MINUTE)
    assert only.saves == cost_rate(PAPER, planned("conservative")).cost - cost_rate(PAPER, planned("hybrid")).cost
    # All at once pays for none of them by itself: G3 at its own bound would save 3.1 a minute.
    assert [round(float(one.saves * MINUTE), 2) for one in speed_ups(PAPER, planned("aggressive"))] == [2.33, -3.1]


def test_groups_of_one_bound_run_together():
    problem = problem_of([(5, 29), (2, 9), (2, 4), (3, 14)])
    schedule = planned("cyclic", problem)
    assert schedule.rhythms[1] == schedule.rhythms[2]
    assert cost_rate(problem, schedule).per_minute == Fraction(52, 5)


def test_wefts_own_costs():
    """A run takes 4 however little it does, and each group's answers 1, 2 and 3."""
    problem = problem_of([(2, 9, 1), (3, 14, 2), (5, 29, 3)], overhead=4)
    assert problem.costs.together([0, 1]) == 4 + 14 + 3
    assert problem.costs.together([]) == 0
    assert cost_rate(problem, planned("aggressive", problem)).per_minute == Fraction(4 + 29 + 6, 2)
    expected = Fraction(358 + 22 * 4, 30) + Fraction(1, 2) + Fraction(2, 3) + Fraction(3, 5)
    assert cost_rate(problem, planned("conservative", problem)).per_minute == expected
