"""What runs next: merging, deadlines, failures, clocks that jump, and the simulator that follows the same loop."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies.schedules import PAPER, problem_of, problems
from weft.optimize.schedule import POLICIES, find_policy, make_schedule
from weft.optimize.schedule.dispatch import (
    MINUTE,
    BackOff,
    FinishedRun,
    GroupState,
    NextRun,
    RunRules,
    after_run,
    first_state,
    follow,
    next_run,
    set_back,
)
from weft.optimize.schedule.figures import group_figures
from weft.optimize.schedule.simulate import Load, run_length, simulate
from weft.optimize.schedule.timetable import BoundsAlone

BOUNDS = PAPER.bounds
ALONE = BoundsAlone(BOUNDS)
LONG = 6000 * MINUTE


def figures(simulation):
    return [group_figures(simulation.runs, g, bound, simulation.until)
            for g, bound in enumerate(simulation.problem.bounds)]


def executions(capacity, merge):
    found = figures(simulate(PAPER, ALONE, LONG, Load(Fraction(capacity), merge)))
    return sum(group.runs for group in found) / (LONG / MINUTE)


@pytest.mark.parametrize(("capacity", "apart", "merged"), [(6, 0.346, 0.558), (4, 0.231, 0.414)])
def test_late_pending_executes_more(capacity, apart, merged):
    assert executions(capacity, False) == pytest.approx(apart, abs=0.001)
    assert executions(capacity, True) == pytest.approx(merged, abs=0.001)


def test_merging_is_not_monotone_in_capacity():
    gaps = [figures(simulate(PAPER, ALONE, LONG, Load(Fraction(capacity))))[0].mean_gap for capacity in (8, 6)]
    assert [float(gap / MINUTE) for gap in gaps] == pytest.approx([5.37, 3.58], abs=0.01)


def test_what_is_late_and_what_is_due_is_one_run():
    """003 Fig. 2 (d): G1 and G2 are late, G3 has just become due."""
    rules = RunRules(ALONE, BOUNDS)
    state = tuple(GroupState(due * MINUTE, last * MINUTE) for due, last in ((2, 0), (3, 0), (5, 0)))
    assert next_run(5 * MINUTE, rules, state) == NextRun(5 * MINUTE, (0, 1, 2), (0, 1))
    apart = RunRules(ALONE, BOUNDS, merge=False)
    assert next_run(5 * MINUTE, apart, state) == NextRun(5 * MINUTE, (0,), (0,))
    assert next_run(1 * MINUTE, rules, state) == NextRun(2 * MINUTE)


def test_apart_runs_together_only_what_became_due_together():
    rules = RunRules(make_schedule(find_policy("conservative"), PAPER), BOUNDS, merge=False)
    state = (GroupState(6 * MINUTE, 4 * MINUTE), GroupState(6 * MINUTE, 3 * MINUTE), GroupState(5 * MINUTE, 0))
    assert next_run(7 * MINUTE, rules, state).members == (2,), "its deadline is the earliest"
    state = after_run(FinishedRun(7 * MINUTE, 8 * MINUTE, (2,)), rules, state)
    assert next_run(8 * MINUTE, rules, state) == NextRun(8 * MINUTE, (0, 1), (0, 1))


def test_occurrences_that_were_missed_are_one():
    schedule = make_schedule(find_policy("conservative"), PAPER)
    rules = RunRules(schedule, BOUNDS)
    state = tuple(GroupState(0) for _ in BOUNDS)
    late = 61 * MINUTE
    state = after_run(FinishedRun(late, late, (0, 1, 2)), rules, state)
    assert [group.due // MINUTE for group in state] == [62, 63, 65]
    assert [group.started for group in state] == [late] * 3


def test_a_runner_that_comes_back_knows_what_it_did():
    rules = RunRules(ALONE, BOUNDS)
    state = first_state(rules, 10 * MINUTE, (9 * MINUTE, None, 4 * MINUTE))
    assert next_run(10 * MINUTE, rules, state) == NextRun(10 * MINUTE, (1, 2), (2,))
    assert state[0] == GroupState(11 * MINUTE, 9 * MINUTE)


def test_what_fails_waits_longer_each_time():
    back_off = BackOff(MINUTE, 10 * MINUTE)
    assert [back_off.delay(n) // MINUTE for n in (1, 2, 3, 4, 5, 60, 500)] == [1, 2, 4, 8, 10, 10, 10]


def test_a_failing_group_does_not_hold_up_the_others():
    """G2 fails for an hour: the others run as if it were not there, and its tries become rare."""
    schedule = make_schedule(find_policy("conservative"), PAPER)
    hour, back_off = 60 * MINUTE, BackOff(MINUTE, 16 * MINUTE)

    def fails(run):
        return [1] if 1 in run.members and run.at < hour else []

    found = simulate(PAPER, schedule, 2 * hour, Load(fails=fails, back_off=back_off))
    for g in (0, 2):
        times = [run.at for run in found.runs if g in run.members]
        assert times == list(range(0, 2 * hour, BOUNDS[g]))
    tries = [run for run in found.runs if 1 in run.failed]
    assert [run.at // MINUTE for run in tries] == [0, 1, 3, 7, 15, 31, 47]
    assert all(run.members == (1,) for run in tries[1:]), "it is tried apart from those that work"
    well = [run for run in found.runs if 1 in run.members and run.at >= hour]
    assert well[0].at == 63 * MINUTE and well[1].at == 66 * MINUTE, "back in its rhythm, with G1"
    assert well[1].members == (0, 1)


def test_a_run_that_fails_whole_is_tried_again_together_and_then_one_by_one():
    """Who is at fault shows at the third try: G3, and it alone."""
    rules = RunRules(ALONE, BOUNDS, back_off=BackOff(MINUTE, 4 * MINUTE))
    runs = simulate(PAPER, ALONE, 20 * MINUTE,
                    Load(fails=lambda run: run.members if 2 in run.members else [], back_off=rules.back_off)).runs
    assert [(run.at // MINUTE, run.members) for run in runs[:4]] == [
        (0, (0, 1, 2)), (1, (0, 1, 2)), (3, (0,)), (3, (1,))]
    assert all(run.members == (2,) for run in runs[4:] if run.failed)
    assert sum(0 in run.members and not run.failed for run in runs) >= 8


def test_what_fails_gets_its_turn_under_overload():
    problem = problem_of([(2, 30), (3, 30)])
    found = simulate(problem, BoundsAlone(problem.bounds), 600 * MINUTE,
                     Load(Fraction(10), fails=lambda run: [1] if 1 in run.members else []))
    tries = [run.at for run in found.runs if 1 in run.failed]
    assert len(tries) >= 10
    assert figures(found)[0].mean_gap < 4 * MINUTE, "the other one runs nearly all the time"


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_clock_that_jumps(policy):
    """Set back by a day, nothing waits longer than its bound; set forward by a day, all of it is one run."""
    rules = RunRules(make_schedule(policy, PAPER), BOUNDS)
    day = 24 * 60 * MINUTE
    state = tuple(GroupState(rules.timetable.next_due(g, 10 * day), 10 * day) for g in range(3))
    assert set_back(10 * day, rules, state) == set_back(11 * day, rules, state) == state
    back = set_back(9 * day, rules, state)
    assert [group.started for group in back] == [9 * day] * 3
    assert all(9 * day < group.due <= 9 * day + bound for group, bound in zip(back, BOUNDS, strict=True))
    assert next_run(9 * day + BOUNDS[2], rules, back).members == (0, 1, 2)
    forth = next_run(11 * day + 1, rules, state)
    assert forth.members == forth.late == (0, 1, 2)


def test_a_clock_that_is_set_back_keeps_what_failed_and_what_never_ran_from_waiting():
    rules, day = RunRules(ALONE, BOUNDS, back_off=BackOff(MINUTE, 8 * MINUTE)), 24 * 60 * MINUTE
    state = (GroupState(10 * day, 9 * day, 3), GroupState(10 * day), GroupState(2 * day, day))
    assert set_back(5 * day, rules, state) == (
        GroupState(5 * day + 4 * MINUTE, 5 * day, 3), GroupState(5 * day), GroupState(2 * day, day))


def test_the_loop_goes_on_after_the_clock_was_set_back():
    """An hour back after the third run: G1 goes on every two minutes of the new time."""
    rules, clock = RunRules(BoundsAlone((2 * MINUTE,)), (2 * MINUTE,)), FakeClock(200 * MINUTE, 0)
    clock.moment = 100 * MINUTE
    times = []
    for run, _ in follow(rules, first_state(rules, clock.now()), clock, lambda run: ()):
        times.append(run.at // MINUTE)
        if len(times) == 3:
            clock.moment -= 60 * MINUTE
        if len(times) == 6:
            break
    assert times == [100, 102, 104, 46, 48, 50]


class FakeClock:
    """A clock of which somebody else moves the hands; it may wake early, as clocks do."""

    def __init__(self, stop: int, early: int):
        self.moment, self.stop, self.early = 0, stop, early

    def now(self) -> int:
        return self.moment

    def wait_until(self, moment: int) -> bool:
        self.moment = max(self.moment + 1, moment - self.early) if self.early else moment
        self.early = 0 if self.moment < moment else 7
        return self.moment < self.stop


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("capacity", [5, 12, 40])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_a_runner_on_a_fake_clock_equals_the_simulation(policy, capacity, merge):
    schedule, until = make_schedule(policy, PAPER), 300 * MINUTE
    expected = simulate(PAPER, schedule, until, Load(Fraction(capacity), merge))
    rules, clock = RunRules(schedule, BOUNDS, merge), FakeClock(until, 7)

    def execute(run):
        clock.moment += run_length(PAPER.costs.together(run.members), Fraction(capacity))
        return ()

    done, state = [], first_state(rules, 0)
    for run, state in follow(rules, state, clock, execute):  # noqa: B007, B020
        done.append(run)
        if clock.now() >= until:
            break
    assert tuple(done) == expected.runs
    assert [group.started for group in state] == [max(r.at for r in done if g in r.members) for g in range(3)]


@given(problems, st.integers(1, 60))
@settings(max_examples=40)
def test_bounds_that_hold_for_a_period_hold_for_ever(problem, capacity):
    """A run at the end of the period that starts in time finds everything as at the beginning."""
    schedule = make_schedule(find_policy("harmonic"), problem)
    period = schedule.period
    once = simulate(problem, schedule, period + 1, Load(Fraction(capacity)))
    kept = all(group.missed == 0 for group in figures(once))
    if kept and once.runs[-1].at == period:
        again = simulate(problem, schedule, 6 * period, Load(Fraction(capacity)))
        assert all(group.missed == 0 for group in figures(again))


@given(problems, st.one_of(st.none(), st.integers(1, 80)), st.booleans())
@settings(max_examples=40)
def test_every_run_starts_after_the_one_before_it_and_when_something_is_due(problem, capacity, merge):
    schedule = make_schedule(find_policy("hybrid"), problem)
    until = 40 * max(problem.bounds)
    found = simulate(problem, schedule, until, Load(None if capacity is None else Fraction(capacity), merge))
    last: dict[int, int] = {}
    clear = 0
    for run in found.runs:
        assert run.at >= clear
        for g in run.members:
            assert g not in last or run.at >= schedule.next_due(g, last[g])
            last[g] = run.at
        clear = run.finished
    assert set(last) == set(range(len(problem.groups)))
    assert found.busy <= until


def test_ages_of_answers():
    """Answers are of when their run started; they are there when it has ended."""
    runs = [FinishedRun(0, 2, (0,)), FinishedRun(6, 10, (0,)), FinishedRun(12, 14, (0,), failed=(0,))]
    found = group_figures(runs, 0, 5, 16)
    assert (found.runs, found.mean_gap, found.longest_gap) == (2, 6, 6)
    assert found.missed == 2, "the gap of 6, and the one since 6 that is open at 16"
    # From 2 to 10 the answers are of 0, so 2 to 10 old; from 10 to 16 of 6, so 4 to 10 old.
    assert found.mean_age == Fraction((100 - 4) + (100 - 16), 2 * 14) and found.oldest == 10
    never = group_figures(runs, 1, 5, 16)
    assert (never.runs, never.mean_gap, never.mean_age, never.missed) == (0, None, None, 1)
