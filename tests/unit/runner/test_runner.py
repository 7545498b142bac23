"""The runner on a clock of the test's own: it equals the simulation, goes on where it was, no query holds up others."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from tests.strategies.running import HandClock, World, chosen_for
from tests.strategies.schedules import PAPER, problem_of
from weft.catalog.database import open_catalog
from weft.catalog.scheduled import query_states, scheduled_runs
from weft.catalog.store import CatalogWarning
from weft.errors import CatalogError
from weft.optimize.schedule import POLICIES
from weft.optimize.schedule.dispatch import BackOff
from weft.optimize.schedule.problem import MINUTE
from weft.optimize.schedule.simulate import Load, simulate
from weft.runner import runner as module

HOURS = 5 * 60 * MINUTE
DAY = 24 * 60 * MINUTE


@pytest.fixture
def catalog(tmp_path):
    with open_catalog(tmp_path / "catalog.db") as made:
        yield made


def numbers(runs, chosen):
    """Runs as those of groups: when, until when, which."""
    group = {name: g for g, each in enumerate(chosen.groups) for name in each.queries}
    return [(run.at, run.finished, tuple(sorted({group[name] for name in run.queries}))) for run in runs]


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("capacity", [5, 12, None])
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_the_runner_equals_the_simulation(catalog, policy, capacity, merge):
    chosen = chosen_for(PAPER, policy.name, 2)
    load = Load(None if capacity is None else Fraction(capacity), merge)
    expected = simulate(PAPER, chosen.schedule, HOURS, load)
    world = World(catalog, chosen, capacity, clock=HandClock(early=7))
    with world.runner(merge=merge) as runner:
        done = list(runner.runs(until=HOURS))
    assert numbers(done, chosen) == [(run.at, run.finished, run.members) for run in expected.runs]
    assert all(len(run.queries) == 2 * len({name[:2] for name in run.queries}) for run in done), "groups run whole"
    late = {(run.at, name) for run in done for name in run.late}
    assert late == {(run.at, f"G{g + 1}_{i}") for run in expected.runs for g in run.late for i in (0, 1)}


@pytest.mark.parametrize("policy", ["hybrid", "cyclic"])
def test_a_runner_that_ends_after_every_run_does_what_one_does_that_goes_on(tmp_path, policy):
    """Each run by a runner of its own, as if it were killed between any two."""
    found = []
    for number, size in enumerate((None, 1)):
        with open_catalog(tmp_path / str(number) / "catalog.db") as catalog:
            world = World(catalog, chosen_for(PAPER, policy, 2), 12)
            done = []
            while world.clock.moment < HOURS:
                with world.runner() as runner:
                    done += list(runner.runs(until=HOURS, count=size))
            found.append(numbers(done, world.chosen))
            assert len(scheduled_runs(catalog, 1000)) == len(done)
    assert found[0] == found[1]


def test_a_killed_run_is_done_again(catalog):
    """Killed in the middle of its third run, a runner comes back and does it first."""
    world = World(catalog, chosen_for(PAPER, "conservative"))

    def kill(names):
        if len(world.ran) == 2:
            raise KeyboardInterrupt

    world.fails = kill
    with pytest.raises(KeyboardInterrupt), world.runner() as runner:
        for _ in runner:
            pass
    killed = world.clock.moment
    world.fails = lambda names: None
    with world.runner() as runner:
        again = next(iter(runner))
    assert (killed, again.at, again.queries) == (3 * MINUTE, 3 * MINUTE, ("G2_0",))
    assert [len(runs) for runs in (scheduled_runs(catalog, 9), world.ran)] == [3, 3]


def test_what_a_query_answers_decides_whether_it_has_run(catalog):
    world = World(catalog, chosen_for(PAPER, "conservative"))
    with world.runner() as runner:
        assert len(list(runner.runs(once=True))) == 1
    with world.runner() as runner:
        assert list(runner.runs(once=True)) == [], "nothing is due"
        runner._meanings = {**runner._meanings, "G2_0": "written elsewhere"}
    other = world.runner()
    other._meanings = {**other._meanings, "G2_0": "written elsewhere"}
    with other:
        assert [run.queries for run in other.runs(once=True)] == [("G2_0",)]


def test_one_query_that_fails_holds_up_nobody(catalog):
    """Of eight queries in one run one fails: the others have their answers, and it is tried again, alone and rarely."""
    chosen = chosen_for(problem_of([(2, 9), (4, 9)]), "conservative", 4)
    world = World(catalog, chosen, fails=lambda names: "no such value" if "G1_2" in names else None)
    with world.runner(back_off=BackOff(MINUTE, 8 * MINUTE)) as runner:
        done = list(runner.runs(until=30 * MINUTE))
        reading = runner.reading()
    assert done[0].failed == {"G1_2": "ValueError: no such value"}
    assert set(done[0].answered) == set(chosen.queries) - {"G1_2"}
    tries = [run for run in done if run.failed]
    assert [run.at // MINUTE for run in tries] == [0, 1, 3, 7, 15, 23]
    assert all(run.queries == ("G1_2",) for run in tries[1:])
    others = [run.at // MINUTE for run in done if "G1_0" in run.queries]
    assert others == list(range(0, 30, 2))
    found = {one.query: one for one in reading.queries}
    assert (found["G1_2"].failures, found["G1_2"].failed_runs, found["G1_2"].started) == (6, 6, None)
    assert (found["G1_0"].failures, found["G1_0"].runs) == (0, 15)
    kept = query_states(catalog)["G1_2", ""]
    assert (kept.failures, kept.started, kept.reason) == (6, None, "ValueError: no such value")


def test_failures_are_known_to_the_next_runner(catalog):
    chosen = chosen_for(problem_of([(2, 9)]), "conservative", 2)
    world = World(catalog, chosen, fails=lambda names: "no" if "G1_1" in names else None)
    with world.runner() as runner:
        list(runner.runs(count=1))
    with world.runner() as runner:
        run = next(iter(runner))
    assert (run.at, run.queries) == (MINUTE, ("G1_1",)), "after its back-off, not at once"
    assert query_states(catalog)["G1_1", ""].failures == 2


def test_a_machine_that_fails_everything_is_not_asked_for_each_query(catalog):
    """A full disk: the whole and both halves fail alike, so all count as failed; later each is found to work."""
    chosen = chosen_for(problem_of([(2, 9)]), "conservative", 64)
    tries = []

    def fails(names):
        tries.append(len(names))
        return "no room left" if world.clock.moment < MINUTE else None

    world = World(catalog, chosen, fails=fails)
    with world.runner() as runner:
        first, second = list(runner.runs(count=2))
    assert tries[:3] == [64, 32, 32] and len(first.failed) == 64
    assert (second.at, second.failed, len(second.queries)) == (MINUTE, {}, 64)


def test_two_failing_queries_of_many_are_both_found(catalog):
    chosen = chosen_for(problem_of([(2, 9)]), "conservative", 32)
    bad = {"G1_3", "G1_30"}
    world = World(catalog, chosen, fails=lambda names: "no" if bad & set(names) else None)
    with world.runner() as runner:
        first, second = list(runner.runs(count=2))
    assert len(first.failed) == 32, "both halves fail alike: it may be the machine"
    assert set(second.failed) == bad and len(second.answered) == 30, "the second time it is not"


def test_an_outage_is_one_run_when_it_is_over(catalog):
    """Nothing can be read for ten minutes: few runs are tried, and then one has everything."""
    chosen = chosen_for(problem_of([(2, 9)]), "conservative", 500)
    tries = []

    def fails(names):
        tries.append(world.clock.moment)
        return "the source cannot be read" if world.clock.moment < 10 * MINUTE else None

    world = World(catalog, chosen, fails=fails)
    with world.runner(back_off=BackOff(MINUTE, 4 * MINUTE)) as runner:
        done = list(runner.runs(until=14 * MINUTE))
    outage = [run for run in done if run.failed]
    assert [run.at // MINUTE for run in outage] == [0, 1, 3, 7] and all(len(run.failed) == 500 for run in outage)
    assert sum(at < 10 * MINUTE for at in tries) <= 3 + 3 * 41
    assert [(run.at // MINUTE, len(run.answered)) for run in done[len(outage):]] == [(11, 500), (12, 500)]


@pytest.mark.parametrize("jump", [-DAY, -HOURS, HOURS, DAY, 400 * DAY])
def test_a_clock_that_is_set(catalog, jump):
    """Set back or forth while a runner waits, runs or is not there: no query waits longer than its bound."""
    start = 500 * DAY
    for when in ("waiting", "running", "away"):
        world = World(catalog, chosen_for(PAPER, "harmonic"), clock=HandClock(start))
        with world.runner() as runner:
            list(runner.runs(count=5))
            if when == "waiting":
                world.clock.moment += jump
            elif when == "running":
                world.fails = lambda names, world=world: setattr(world.clock, "moment", world.clock.moment + jump)
                list(runner.runs(count=1))
                world.fails = lambda names: None
            now = world.clock.moment + (jump if when == "away" else 0)
            if when != "away":
                done = list(runner.runs(until=now + 20 * MINUTE))
        if when == "away":
            world.clock.moment = now
            with world.runner() as runner:
                done = list(runner.runs(until=now + 20 * MINUTE))
        for name, bound in zip(world.chosen.queries, world.chosen.bounds, strict=True):
            times = [now, *(run.at for run in done if name in run.queries), now + 20 * MINUTE]
            assert max(b - a for a, b in pairwise(times)) <= bound, (when, name)
        assert len(done) <= 11


def test_it_ends_after_the_running_run(catalog):
    world = World(catalog, chosen_for(PAPER, "cyclic"), 12)
    with world.runner() as runner:
        world.fails = lambda names: runner.stop() if len(world.ran) == 2 else None
        done = list(runner)
        assert list(runner) == [], "and starts no other"
    assert len(done) == 3 and not done[-1].failed


def test_asked_to_end_it_does_not_look_for_who_failed(catalog):
    world = World(catalog, chosen_for(problem_of([(2, 9)]), "conservative", 8))
    with world.runner() as runner:
        world.fails = lambda names: runner.stop() or "no"
        (done,) = runner
    assert len(done.failed) == 8 and world.ran == []


def test_a_run_that_the_catalog_cannot_keep_is_done_all_the_same(catalog, monkeypatch):
    world = World(catalog, chosen_for(PAPER, "conservative"))

    def full(catalog, run):
        raise CatalogError("there is no room left on the disk.")

    with world.runner() as runner:
        monkeypatch.setattr(module, "keep_run", full)
        with pytest.warns(CatalogWarning, match="no room"):
            assert len(list(runner.runs(count=2))) == 2
    monkeypatch.undo()
    assert query_states(catalog) == {} and scheduled_runs(catalog, 9) == []


def test_only_runs_that_tell_what_runs_take_are_measured(catalog):
    tries = []
    world = World(catalog, chosen_for(PAPER, "conservative"),
                  fails=lambda names: tries.append(names) or ("no" if len(tries) == 2 else None))
    with world.runner() as runner:
        list(runner.runs(count=4))
    steady = [run.steady for run in reversed(scheduled_runs(catalog, 9))]
    assert steady == [False, False, True, True], "the first is cold, the second failed"


def test_readings(catalog):
    world = World(catalog, chosen_for(PAPER, "conservative"), 12)
    with world.runner() as runner:
        list(runner.runs(count=4))
        world.clock.moment += 10 * MINUTE
        found = runner.reading()
        assert found.active and found.runs == 4 and found.failed_runs == 0
        first = found.queries[0]
        assert first.age(found.now) * 1e6 == found.now - first.started
        assert first.lateness(found.now) * 1e6 == found.now - first.started - 2 * MINUTE
        assert first.runs == sum("G1_0" in names for _, names in world.ran)
    assert not runner.reading().active


def test_runs_as_json(catalog):
    world = World(catalog, chosen_for(PAPER, "conservative"), 12)
    with world.runner() as runner:
        done = list(runner.runs(count=3))
    found = done[1].to_dict()
    assert set(found) == {"at", "finished", "seconds", "queries", "failed", "late", "new_files", "next"}
    assert found["next"]["queries"] and found["late"] == {"G1_0": 25.0}
    assert found["at"] == "1970-01-01T00:02:25.000Z"


def test_the_log_is_not_kept_for_ever(catalog, monkeypatch):
    from weft.catalog import scheduled

    monkeypatch.setattr(scheduled, "MOST", 5)
    world = World(catalog, chosen_for(PAPER, "conservative"))
    with world.runner() as runner:
        list(runner.runs(count=12))
    assert len(scheduled_runs(catalog, 100)) == 5
