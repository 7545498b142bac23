"""The controller of a stream: its contract over random loads, its decisions by value, replays."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.cost.shedding.bounds import expected_error, needed_integer_share
from weft.cost.shedding.estimates import FEWEST_KEPT
from weft.errors import PlanError
from weft.optimize.shed.allocate import allocate, work_at
from weft.optimize.shed.controller import (
    ControllerPolicy,
    ControllerState,
    Decision,
    Reading,
    longest_trigger,
    observe,
    start_controller,
)
from weft.optimize.shed.load import ScanLoad, SheddableQuery, StreamLoad, StreamSettings

BOUND = SheddableQuery("vwap", "trades", rows=10_000, bound=0.02, freshness=60)
POLICY = ControllerPolicy()


def load_of(rate: float, fixed: float = 1.1, seconds: float = 1e-6) -> StreamLoad:
    return StreamLoad(fixed, (ScanLoad("trades", rate, seconds),))


def run(queries, rates, trigger: float = 10.0, fixed: float = 1.1,
        policy: ControllerPolicy = POLICY) -> tuple[ControllerState, list[Decision], list[float]]:
    """Triggers of a stream whose input follows `rates`, a pair of rows a second and seconds each; what it decides, and
    the utilisation at every trigger."""
    state, now, decided, used = start_controller(trigger), 0.0, [], []
    for rate, lasting in rates:
        until = now + lasting
        while now < until:
            now += state.settings.trigger
            load = load_of(rate, fixed)
            used.append(state.settings.utilisation(load))
            state, decision = observe(state, Reading(now, used[-1], load), queries, policy)
            decided += [decision] if decision else []
    return state, decided, used


def test_longer_triggers_come_first():
    """0.6 of rows and 3 s a trigger of 10 s are 0.9; F / (0.7 − 0.6) = 30 s is within the bound."""
    state, decided, _ = run([BOUND], [(600_000, 3600)], fixed=3.0)
    (one,) = decided
    assert one.kind == "lengthen" and one.settings == StreamSettings(pytest.approx(30.0)) == state.settings
    assert one.utilisation == pytest.approx(0.9) and one.expected == pytest.approx(0.7)
    assert one.reason == ("Utilisation was above 85 % for 180 s (now 90 %). Triggers every 30 s; expected utilisation "
                          "70 %.")
    assert one.at == pytest.approx(200), "20 triggers of 10 s, of which the last 18 took 180 s"


def test_then_rows_are_dropped_within_bounds():
    state, decided, used = run([BOUND], [(1_200_000, 3600)], fixed=3.0)
    (one,) = decided
    share = (0.7 - 3 / 60) / 1.2
    assert one.kind == "shed" and one.settings.trigger == 60
    assert one.settings.shares == (("trades", pytest.approx(share, rel=1e-6)),)
    assert expected_error(share, BOUND.variance) <= BOUND.bound
    assert used[-1] == pytest.approx(0.7) and state.settings == one.settings
    assert "Query 'vwap' allows no longer triggers." in one.reason and "trades keeps 54.2 % of its rows" in one.reason


def test_bounds_are_never_broken_and_the_lag_is_told():
    """At twelve times what there is the error bound needs more than the machine has; it is said once."""
    state, decided, used = run([BOUND], [(9_000_000, 7200)])
    (one,) = decided
    floor = needed_integer_share(BOUND.variance, BOUND.bound)
    assert one.kind == "overloaded" and one.settings.share_of("trades") == pytest.approx(floor)
    assert one.expected > 1 and one.reason.count("the lag grows") == 1
    assert used[-1] == pytest.approx(one.expected) and state.overloaded


def test_who_did_not_opt_in_is_not_touched():
    exact = SheddableQuery("audit", "trades", rows=10_000)
    state, decided, _ = run([BOUND, exact], [(1_200_000, 7200)])
    (one,) = decided
    assert one.kind == "overloaded" and one.settings == StreamSettings(10.0) == state.settings
    assert "What has no error bound is not touched: audit." in one.reason and "the lag grows" in one.reason
    assert "Query 'audit' allows no longer triggers." in one.reason


def test_a_spike_is_waited_out():
    _, decided, _ = run([BOUND], [(300_000, 600), (2_000_000, 170), (300_000, 600)])
    assert decided == []


def test_it_goes_back_one_step_at_a_time_and_all_the_way():
    state, decided, _ = run([BOUND], [(1_300_000, 1800), (200_000, 6 * 3600)], fixed=2.0)
    kinds = [one.kind for one in decided]
    assert kinds[0] == "shed" and set(kinds[1:]) == {"recover"}
    assert state.settings == StreamSettings(10.0), "as its user started it"
    triggers = [one.settings.trigger for one in decided]
    assert triggers == sorted(triggers, reverse=True)
    dropping = [one for one in decided if one.settings.shares]
    assert all(one.settings.trigger == 60 for one in dropping), "rows come back before triggers get shorter"
    assert all(one.expected <= POLICY.target + 1e-9 for one in decided)
    assert all("One step back." in one.reason for one in decided[1:])
    gaps = [b.at - a.at for a, b in pairwise(decided[1:])]
    assert min(gaps) >= POLICY.recover_after


def test_a_machine_that_is_slower_than_the_model_says_is_believed():
    state = replace(start_controller(10.0), triggers=POLICY.dwell, high_since=0.0)
    load = load_of(300_000)
    _, decision = observe(state, Reading(500, 1.64, load), [BOUND])
    assert decision and decision.utilisation == 1.64
    assert decision.settings.utilisation(load.scaled(1.64 / 0.41)) == pytest.approx(0.7)


def test_a_clock_that_is_set_back_starts_the_wait_anew():
    state = replace(start_controller(10.0), triggers=POLICY.dwell, high_since=1000.0)
    state, decision = observe(state, Reading(500, 0.9, load_of(800_000)), [BOUND])
    assert decision is None and state.high_since == 500


rates = st.lists(st.tuples(st.floats(1e4, 2e7), st.floats(60, 4000)), min_size=1, max_size=5)
some_queries = st.lists(
    st.builds(SheddableQuery, st.sampled_from("abcdef"), st.sampled_from(["trades", "quotes"]), st.floats(100, 1e6),
              st.one_of(st.none(), st.floats(0.005, 0.3)), st.one_of(st.none(), st.floats(5, 120)), st.floats(1, 20),
              st.sampled_from([0.5, 1.0, 2.0])),
    min_size=1, max_size=4)


@given(some_queries, rates, st.floats(5, 30), st.floats(0.1, 3))
@settings(max_examples=60)
def test_the_contract_of_decisions(queries, steps, trigger, fixed):
    """Freshness and error bounds hold, who did not opt in is not touched, decisions lie apart, replays repeat them."""
    state, decided, _ = run(queries, steps, trigger, fixed)
    for one in decided:
        assert trigger <= one.settings.trigger * (1 + 1e-9) <= longest_trigger(trigger, queries) * (1 + 2e-9)
        for query in queries:
            share = one.settings.share_of(query.scan)
            if query.bound is None:
                assert share == 1 and (query.freshness is not None or one.settings.trigger == trigger)
            elif share < 1:
                assert expected_error(share, query.variance) <= query.bound * (1 + 1e-9)
                assert share * query.rows >= FEWEST_KEPT * (1 - 1e-9)
        assert one.kind == "overloaded" or one.expected <= POLICY.target + 1e-6
        assert one.reason.startswith("Utilisation was") and one.reason.endswith(".")
    assert run(queries, steps, trigger, fixed)[:2] == (state, decided)
    times = [one.at for one in decided]
    lengths = [trigger, *(one.settings.trigger for one in decided)]
    gaps = [b - a for a, b in zip([0.0, *times], times, strict=False)]
    assert all(gap >= POLICY.dwell * length - 1e-6 or one.utilisation > 1
               for gap, length, one in zip(gaps, lengths, decided, strict=False))


scans = st.builds(lambda a, b: (ScanLoad("trades", a, 1e-6), ScanLoad("quotes", b, 2e-6)), st.floats(1e3, 1e7),
                  st.floats(1e3, 1e7))


@given(some_queries, scans, st.floats(0.01, 3))
def test_the_contract_of_allocations(queries, loads, budget):
    found = allocate(queries, loads, budget)
    kept = StreamSettings(1.0, found.shares)
    used = sum(s.work * kept.share_of(s.scan) for s in loads)
    assert found.fits == (used <= budget * (1 + 1e-9)) or used == pytest.approx(budget)
    assert 0 <= found.ratio <= 1
    if found.fits and found.shares:  # a smaller ratio would not fit
        level = found.ratio * 0.98
        if all(q.importance == 1 for q in queries) and found.ratio < 1:
            assert work_at(level, queries, loads) > budget or work_at(level, queries, loads) == pytest.approx(used)


def test_allocation_by_value():
    """Two scans of equal work, bounds of 1 and 2 %: both errors take the same part of their bounds."""
    queries = [SheddableQuery("a", "s", 1e5, 0.01), SheddableQuery("b", "t", 1e5, 0.02)]
    found = allocate(queries, [ScanLoad("s", 1e5, 1e-5), ScanLoad("t", 1e5, 1e-5)], 0.8)
    shares = dict(found.shares)
    assert found.fits and sum(shares.values()) == pytest.approx(0.8)
    ratios = [expected_error(shares[q.scan], q.variance) / q.bound for q in queries]
    assert ratios == pytest.approx([found.ratio] * 2, rel=1e-6) and found.ratio < 1


def test_the_more_important_query_gets_the_smaller_error():
    queries = [SheddableQuery("a", "s", 1e5, 0.01, importance=2), SheddableQuery("b", "t", 1e5, 0.01)]
    found = allocate(queries, [ScanLoad("s", 1e5, 1e-5), ScanLoad("t", 1e5, 1e-5)], 1.2)
    errors = {q.name: expected_error(dict(found.shares)[q.scan], q.variance) for q in queries}
    assert errors["b"] == pytest.approx(2 * errors["a"], rel=1e-6)


def test_enough_budget_drops_nothing():
    found = allocate([BOUND], load_of(1000).scans, 1.0)
    assert found.shares == () and found.ratio == 0 and found.fits
    assert allocate([], load_of(1000).scans, 0.0).shares == ()


@pytest.mark.parametrize(("make", "sentence"), [
    (lambda: SheddableQuery("q", "s", 0), "query 'q': rows must be positive, not 0"),
    (lambda: SheddableQuery("q", "s", 1, bound=-0.1), "query 'q': bound must be positive"),
    (lambda: start_controller(0), "the seconds between triggers must be positive"),
    (lambda: ControllerPolicy(target=0.9), "recover_below < target < act_above"),
])
def test_what_makes_no_sense_gets_a_sentence(make, sentence):
    with pytest.raises(PlanError, match=sentence):
        make()
