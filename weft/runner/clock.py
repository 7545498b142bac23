"""Clocks of a runner: the machine's, which somebody may set, and one that ends when the runner shall."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from weft.optimize.schedule.dispatch import RunClock

LONGEST = 0.5  # seconds of one wait, after which all is looked at again: the clock may be set, an end asked for


class SystemClock:
    """The machine's time, in µs since the epoch."""

    def now(self) -> int:
        """What the clock says."""
        return time.time_ns() // 1000

    def wait_until(self, moment: int) -> bool:
        """Waits until a moment, but not for long."""
        time.sleep(min(max((moment - self.now()) / 1e6, 0.0), LONGEST))
        return True


@dataclass(frozen=True)
class EndingClock:
    """A clock that lets nobody wait once an end is asked for or a moment has come."""

    clock: RunClock
    stopped: Callable[[], bool]
    until: int | None = None

    def now(self) -> int:
        """What the clock says."""
        return self.clock.now()

    def wait_until(self, moment: int) -> bool:
        """Waits as the clock does; False where the runner should end."""
        if self.over():
            return False
        return self.clock.wait_until(moment if self.until is None else min(moment, self.until)) and not self.over()

    def over(self) -> bool:
        """Whether the runner should end."""
        return self.stopped() or (self.until is not None and self.now() >= self.until)
