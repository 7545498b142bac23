"""Which schedule is followed, by which costs, and the sentences for bounds that cannot be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.strategies.schedules import PAPER, problem_of
from weft.cost.runs import RunCosts, fit_runs
from weft.errors import PlanError
from weft.model.query import Query
from weft.model.window import Window
from weft.optimize.schedule import POLICIES, RunGroup, ScheduleProblem
from weft.optimize.schedule.problem import MINUTE
from weft.runner.choice import choose_schedule, make_problem, require_sustainable, unmet_bounds
from weft.runner.groups import QueryGroup, group_queries

SECOND = 1_000_000


def query(name, every):
    return Query(name, "", "r", "ts", Window(MINUTE, MINUTE), None, (), (), (), None, "", every=every)


def groups_of(problem, size=1):
    return [QueryGroup(g.bound, tuple(f"{g.name}_{i}" for i in range(size))) for g in problem.groups]


def in_seconds(*groups, overhead=1.0):
    """A problem of (bound, read, answers) in seconds."""
    made = tuple(RunGroup(f"G{i}", int(bound * SECOND), Fraction(read), Fraction(answers))
                 for i, (bound, read, answers) in enumerate(groups, 1))
    return ScheduleProblem(made, Fraction(overhead))


def test_queries_of_one_bound_are_a_group():
    found = group_queries([query("b", 2 * MINUTE), query("a", MINUTE), query("c", 2 * MINUTE)])
    assert found == (QueryGroup(MINUTE, ("a",)), QueryGroup(2 * MINUTE, ("b", "c")))
    assert [group.name for group in found] == ["a", "b +1"]


def test_queries_without_a_bound_are_refused():
    with pytest.raises(PlanError, match=r"there is none for b, c: say how fresh answers must be: every="):
        group_queries([query("a", MINUTE), query("b", None), query("c", None)])
    with pytest.raises(PlanError, match="and 3 more"):
        group_queries([query("a", MINUTE), *(query(f"q{i}", None) for i in range(9))])
    with pytest.raises(PlanError, match="no query has a bound"):
        group_queries([query("b", None)])


def test_the_cheapest_policy_is_followed_unless_one_is_named():
    groups = groups_of(PAPER)
    assert choose_schedule(groups, PAPER).policy.name == "cyclic"
    assert choose_schedule(groups, PAPER, "hybrid").rate.per_minute == Fraction(114, 10)
    one = problem_of([(2, 9)])
    assert choose_schedule(groups_of(one), one).policy is POLICIES[0], "of equals the first"
    with pytest.raises(PlanError, match="did you mean 'hybrid'"):
        choose_schedule(groups, PAPER, "hybird")


def test_queries_of_a_group_have_its_rhythm():
    made = choose_schedule(groups_of(PAPER, 3), PAPER, "harmonic")
    rhythms = made.timetable().rhythms
    assert len(rhythms) == len(made.queries) == len(made.bounds) == 9
    assert [rhythms[i] for i in (0, 3, 6)] == list(made.schedule.rhythms) and rhythms[0] == rhythms[2]


def test_a_bound_below_what_a_run_takes():
    problem = in_seconds((0.5, 0.2, 0.1), (60, 0.2, 0.1), overhead=2)
    made = choose_schedule(groups_of(problem), problem)
    with pytest.raises(PlanError, match=r"every 500 ms for G1_0 is less than a run takes, however little it does: 2 s "
                                        r"\(estimated.*\)\. The least that can be kept here is every 2\.3 s\."):
        require_sustainable(made)
    with pytest.raises(PlanError, match="measured by 7 earlier runs"):
        require_sustainable(replace(made, measured=7))


def test_bounds_that_no_schedule_keeps():
    problem = in_seconds((4, 3, 2), (6, 3, 2), overhead=2)
    made = choose_schedule(groups_of(problem), problem)
    require_sustainable(made)
    found = list(unmet_bounds(made))
    assert found[0].startswith(f"These bounds cannot all be kept: {made.policy.name} would need")
    assert f"{made.utilisation:.0%} of the time (estimated" in found[0] and made.utilisation > 1
    assert found[1].startswith("No schedule keeps every 4 s for G1_0: one run of G1_0 takes 7 s")
    calm = in_seconds((60, 3, 2), (600, 3, 2), overhead=2)
    assert list(unmet_bounds(choose_schedule(groups_of(calm), calm))) == []
    long = in_seconds((10, 1, 1), (600, 20, 2), overhead=2)
    (found,) = unmet_bounds(choose_schedule(groups_of(long), long))
    assert "one run of G2_0 takes 24 s" in found


def test_costs_are_fitted_to_earlier_runs():
    """Overhead twice, reading three times and answers half of what the model says: a few different runs tell."""
    model = RunCosts((Fraction(1), Fraction(2), Fraction(4)), (Fraction(1), Fraction(3), Fraction(2)), Fraction(2))
    sets = [(0,), (1,), (2,), (0, 1), (0, 1, 2), (1, 2)] * 4
    true = RunCosts(tuple(3 * a for a in model.reads), tuple(b / 2 for b in model.answers), 2 * model.overhead)
    found = fit_runs(model, [(members, float(true.together(members))) for members in sets])
    for members in sets:
        assert float(found.together(members)) == pytest.approx(float(true.together(members)), rel=0.02)
    assert float(found.overhead) == pytest.approx(4, rel=0.1)
    assert fit_runs(model, []) is model


def test_runs_of_one_kind_scale_what_they_do_not_tell_apart():
    model = RunCosts((Fraction(1), Fraction(2)), (Fraction(1), Fraction(1)), Fraction(2))
    found = fit_runs(model, [((0, 1), 12.0)] * 20)
    assert float(found.together([0, 1])) == pytest.approx(12, rel=0.02)
    assert 0 < found.overhead < 12 and found.reads[1] == 2 * found.reads[0]


def test_newer_runs_count_more():
    """A cold machine took twice as long; sixty runs later that is forgotten."""
    model = RunCosts((Fraction(1), Fraction(2)), (Fraction(1), Fraction(1)), Fraction(2))
    runs = [(members, float(model.together(members)) * factor)
            for factor, count in ((1, 20), (2, 10)) for members in [(0,), (1,), (0, 1)] * count]
    found = fit_runs(model, runs)
    assert float(found.together([0, 1])) == pytest.approx(float(model.together([0, 1])), rel=0.15)


def test_costs_to_the_microsecond():
    problem = make_problem(groups_of(PAPER), RunCosts((Fraction(1, 3),) * 3, (Fraction(1, 7),) * 3, Fraction(2, 3)))
    assert problem.overhead == Fraction(666667, SECOND) and problem.groups[0].read == Fraction(333333, SECOND)
