"""Runs of a schedule in a thread: kept, begun anew where queries change, ended, and failures told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from weft.errors import RunError
from weft.runner.reading import RunnerReading, ScheduledRun
from weft.server.schedule_runs import ScheduleRuns
from weft.server.service import reading_dict


class Runner:
    """A runner that makes a run every few milliseconds until it is stopped."""

    def __init__(self, texts: Mapping[str, str]):
        self.texts, self.over, self.entered = dict(texts), threading.Event(), False

    def __enter__(self) -> Runner:
        self.entered = True
        return self

    def __exit__(self, *_: object) -> None:
        self.entered = False

    def __iter__(self) -> Iterator[ScheduledRun]:
        while not self.over.wait(0.005):
            yield ScheduledRun(1, 2, 0.001, tuple(self.texts), {}, {}, 1, 3, ())

    def stop(self) -> None:
        self.over.set()

    def reading(self) -> RunnerReading:
        return RunnerReading("hybrid", 0, 1, self.entered, ())


def wait_for(true: Callable[[], Any]) -> None:
    until = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_runs_go_on_with_other_queries() -> None:
    made: list[Runner] = []

    def start(texts: Mapping[str, str]) -> Any:
        made.append(Runner(texts))
        return made[-1]

    runs = ScheduleRuns(start, {"mean": "SELECT 1"})
    wait_for(lambda: len(runs.runs) > 2)
    assert runs.active and runs.queries == ("mean",) and runs.runs[-1].queries == ("mean",)
    assert reading_dict(runs.reading())["policy"] == "hybrid"  # type: ignore[index]
    runs.change({"mean": "SELECT 1", "high": "SELECT 2"})
    wait_for(lambda: runs.runs[-1].queries == ("mean", "high"))
    runs.change({})  # nothing has a bound any more: it waits for something that has
    wait_for(lambda: not made[-1].entered)
    runs.change({"high": "SELECT 2"})
    wait_for(lambda: runs.runs[-1].queries == ("high",))
    runs.stop()
    assert not runs.active and not any(one.entered for one in made) and runs.error is None


def test_an_end_between_two_schedules_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flag that `stop` sets must not be cleared by a thread that has just looked whether it shall end."""
    cleared = threading.Event()

    class Slow(threading.Event):
        def clear(self) -> None:
            if not cleared.is_set():
                cleared.set()
                self.wait(10)
            super().clear()

    monkeypatch.setattr("weft.server.schedule_runs.Event", Slow)
    runs = ScheduleRuns(Runner, {})  # type: ignore[arg-type]
    assert cleared.wait(10)
    stopper = threading.Thread(target=runs.stop, daemon=True)
    stopper.start()
    stopper.join(10)
    assert not stopper.is_alive() and not runs.active


def test_a_failure_is_kept_for_whoever_watches() -> None:
    def start(texts: Mapping[str, str]) -> Any:
        raise RunError("the store is another runner's.")

    runs = ScheduleRuns(start, {"mean": "SELECT 1"})
    wait_for(lambda: runs.error)
    assert "another runner's" in str(runs.error) and not runs.active
    runs.stop()
