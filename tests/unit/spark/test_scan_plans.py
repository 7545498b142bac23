"""Plans that take the place of others while a scan runs: by number for workers, and at a boundary on the driver."""

from __future__ import annotations

from shutil import rmtree
from threading import Event, Thread
from types import SimpleNamespace

import pytest

from weft.errors import RunError
from weft.model.stages import PartialStage
from weft.spark.stream import worker_plans
from weft.spark.stream.answer_counts import CountTable
from weft.spark.stream.counts import count_table
from weft.spark.stream.deliver import deliver
from weft.spark.stream.flow import Flow
from weft.spark.stream.scan_plans import UNKNOWN, Delivery, NextPlan, ScanPlans, serves_rows
from weft.spark.stream.worker_plans import WorkerPlan, WorkerPlans, prepare_plan


def plan_named(name: str) -> WorkerPlan:
    return WorkerPlan((), counts=CountTable(((name,),)))


def run_task(monkeypatch, trigger: int | None) -> None:
    context = SimpleNamespace(getLocalProperty=lambda name: None if trigger is None else str(trigger))
    monkeypatch.setattr(worker_plans, "TaskContext", SimpleNamespace(get=lambda: context))


def test_a_trigger_runs_under_the_newest_plan_up_to_its_number(tmp_path, monkeypatch):
    plans = WorkerPlans(plan_named("first"), str(tmp_path / "plans"))
    assert plans.current() is plans.first  # in no task
    run_task(monkeypatch, 5)
    assert plans.current() is plans.first  # nothing is there yet
    seven = prepare_plan(plans.folder, 7, 2, plan_named("two"))
    run_task(monkeypatch, 9)
    assert plans.current() is plans.first  # not in place yet
    seven.put_in_place()
    prepare_plan(plans.folder, 7, 3, plan_named("three")).put_in_place()  # another one at the same boundary
    prepare_plan(plans.folder, 10, 4, plan_named("four")).put_in_place()
    found = []
    for trigger in (6, 7, 9, 10, 1_000_000):
        run_task(monkeypatch, trigger)
        found.append(plans.current().counts.queries[0][0])
    assert found == ["first", "three", "three", "four", "four"]
    assert (tmp_path / "plans").stat().st_mode & 0o77 == 0  # nobody else puts plans there


def test_a_task_of_no_known_trigger_runs_under_the_plan_of_the_start_or_under_none(tmp_path, monkeypatch):
    plans = WorkerPlans(plan_named("first"), str(tmp_path / "plans"))
    run_task(monkeypatch, None)
    prepared = prepare_plan(plans.folder, 7, 2, plan_named("two"))
    assert plans.current() is plans.first  # there is no other
    prepared.put_in_place()
    with pytest.raises(RuntimeError, match="in the thread that Weft calls it in"):
        plans.current()


def make_plans(tmp_path, *parts) -> ScanPlans:
    labels = count_table(parts).labels
    return ScanPlans(Flow(None, parts, labels, slices=SimpleNamespace(), folder=str(tmp_path / "plans")), None, None)


def part_of(id: str, *names: str) -> SimpleNamespace:
    queries = [SimpleNamespace(name=name, window=1, predicate=0) for name in names]
    return SimpleNamespace(id=id, stage=SimpleNamespace(queries=queries))


def test_another_plan_waits_for_the_delivery_and_its_commit(tmp_path):
    plans, begun, done, committed, held = make_plans(tmp_path), Event(), Event(), [3], []

    def deliver() -> None:
        with plans.deliver(4):
            begun.set()
            done.wait(10)

    worker = Thread(target=deliver)
    worker.start()
    assert begun.wait(10)

    def change() -> None:
        with plans.at_boundary(lambda last: last == committed[0], lambda: True):
            held.append(plans.begun)

    changer = Thread(target=change)
    changer.start()
    changer.join(0.1)
    assert not held
    done.set()
    worker.join(10)
    changer.join(0.1)
    assert not held  # delivered, and not committed
    committed[0] = 4
    changer.join(10)
    assert held == [4]


def test_who_cannot_wait_is_told(tmp_path):
    plans = make_plans(tmp_path)
    with pytest.raises(RunError, match="has ended"), plans.at_boundary(lambda last: False, lambda: False):
        raise AssertionError
    with plans.deliver(1), pytest.raises(RunError, match="from within its own sink"), \
            plans.at_boundary(lambda last: True, lambda: True):
        raise AssertionError
    with plans.at_boundary(lambda last: last == 1, lambda: True):  # the gate is free again
        assert plans.gate.locked()
    assert not plans.gate.locked() and make_plans(tmp_path).begun == UNKNOWN


def test_triggers_deliver_what_their_plan_has(tmp_path):
    plans, later = make_plans(tmp_path), Delivery((), frozenset({"later"}))
    prepared = prepare_plan(plans.folder, 6, 2, plan_named("later"))
    plans.put_in_place(NextPlan(6, later, {}, prepared))
    assert [plans.delivery(number) is later for number in (5, 6, 7)] == [False, True, True]
    with pytest.raises(OSError, match="No such file"):
        plans.put_in_place(NextPlan(8, later, {}, prepared))
    with pytest.raises(RunError, match="could not follow"), plans.deliver(8):
        raise AssertionError


def test_a_sink_knows_triggers_by_the_version_of_their_plan(tmp_path):
    plans, numbers = make_plans(tmp_path), []

    def target(parts, number, make=None):
        numbers.append(number)

    target.facts = SimpleNamespace(observable=False)
    take = deliver(plans.deliver, target, lambda batch, number: numbers.append(number))
    batch = SimpleNamespace(persist=lambda level: None, unpersist=lambda: None)
    take(batch, 5)
    prepared = prepare_plan(plans.folder, 6, 3, plan_named("later"))
    plans.put_in_place(NextPlan(6, Delivery((), version=3), {}, prepared))
    take(batch, 6)
    assert numbers == [5, 5, 2_000_000_006, 2_000_000_006]


def test_a_plan_that_was_tidied_away_is_there_again_before_the_next_trigger(tmp_path, monkeypatch):
    plans = make_plans(tmp_path)
    for trigger in (6, 8):
        prepared = prepare_plan(plans.folder, trigger, trigger, plan_named(f"since {trigger}"))
        plans.put_in_place(NextPlan(trigger, Delivery(()), {}, prepared))
    rmtree(plans.folder)
    run_task(monkeypatch, 9)
    with plans.deliver(9):
        found = WorkerPlans(plan_named("first"), plans.folder).current()
    assert found.counts.queries == (("since 8",),) and (tmp_path / "plans").stat().st_mode & 0o77 == 0


def test_rows_serve_what_needs_no_more_of_them():
    rows = PartialStage("t", (None,), "ts", "timestamp", ("k",), ("k0",), ("string",), ((0, 5),), (), ("a", "b"))
    fewer = PartialStage("t", (None,), "ts", "timestamp", ("k",), ("k0",), ("string",), ((0, 5),), (), ("b",))
    finer = PartialStage("t", (None,), "ts", "timestamp", ("k",), ("k0",), ("string",), ((0, 1),), (), ("b",))
    assert serves_rows(rows, fewer) and not serves_rows(fewer, rows) and not serves_rows(rows, finer)
