"""The runs of a schedule in a thread of their own: begun anew where the queries change, and the last ones kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from weft.runner.choice import known_by, unmet_bounds
from weft.runner.reading import RunnerReading, ScheduledRun

if TYPE_CHECKING:
    from weft.runner.runner import ScheduleRunner

KEPT = 200
Texts = Mapping[str, str]


class ScheduleRuns:
    """Follows the schedule of the queries that have bounds until it is told to stop.

    `start` makes the runner of some queries, in the thread that it runs in.
    """

    def __init__(self, start: Callable[[Texts], ScheduleRunner], texts: Texts):
        self._start, self._texts = start, texts
        self._runner: ScheduleRunner | None = None
        self._ending, self._changed = Event(), Event()
        self.error: Exception | None = None
        self.runs: deque[ScheduledRun] = deque(maxlen=KEPT)
        self._thread = Thread(target=self._follow, name="weft-schedule", daemon=True)
        self._thread.start()

    @property
    def active(self) -> bool:
        """Whether it goes on."""
        return self._thread.is_alive()

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that run by the schedule."""
        return tuple(self._texts)

    def change(self, texts: Texts) -> None:
        """Go on with other queries after the running run."""
        self._texts = dict(texts)
        self._changed.set()
        if self._runner:
            self._runner.stop()

    def stop(self) -> None:
        """End after the running run."""
        self._ending.set()
        self._changed.set()
        if self._runner:
            self._runner.stop()
        self._thread.join()

    def reading(self) -> RunnerReading | None:
        """What is known now."""
        runner = self._runner
        return runner.reading() if runner else None

    def decisions(self) -> dict[str, Any] | None:
        """The policy that was chosen, and why."""
        runner = self._runner
        if runner is None:
            return None
        made = runner.chosen
        reason = (f"{made.policy.title} costs least of all policies and is busy for {made.utilisation:.1%} of the "
                  f"time; costs are {known_by(made)}.")
        return {"policy": made.policy.name, "reason": reason, "warnings": list(unmet_bounds(made)),
                "groups": [{"name": group.name, "queries": list(group.queries)} for group in made.groups]}

    def _follow(self) -> None:
        try:
            while True:
                self._changed.clear()
                if self._ending.is_set():  # asked after: else the clearing could forget that it was told to stop
                    return
                if not self._texts:
                    self._changed.wait()
                    continue
                self._run_once()
        except Exception as error:  # told by whoever watches, in the main thread
            self.error = error

    def _run_once(self) -> None:
        runner = self._start(self._texts)
        with runner:
            self._runner = runner
            if self._changed.is_set():
                return
            for run in runner:
                self.runs.append(run)
