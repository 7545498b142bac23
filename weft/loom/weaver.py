"""Weaving a stream's queries anew by itself: in the background, when its plan has drifted too far (000 §5.2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from math import isnan
from threading import Lock, Thread
from typing import Any, Protocol
from warnings import warn

from weft.errors import RunError, StreamWarning
from weft.model.live_change import LiveChange
from weft.spark.stream.progress import format_time

# 000 §6 finds 20 to 30 % a good balance between the quality of plans and the work of making them.
TOLERANCE = 0.25
MOST_WEAVINGS = 100


class WovenStream(Protocol):
    """What can be woven anew."""

    @property
    def drift(self) -> float | None:
        """By how much the plan costs more than was expected."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it can be changed any more."""

    def reweave(self) -> LiveChange:
        """Weave the queries anew, where that costs less."""


class Weaver:
    """Weaves a stream's queries anew where its drift exceeds a tolerance; `weavings` has what came of it."""

    def __init__(self, stream: WovenStream, tolerance: float):
        self.stream, self.tolerance = stream, tolerance
        self.weavings: deque[dict[str, Any]] = deque(maxlen=MOST_WEAVINGS)
        self.when_woven: Callable[[], None] = lambda: None
        self._one, self._thread = Lock(), None  # type: Lock, Thread | None

    @property
    def is_due(self) -> bool:
        """Whether the plan costs too much more than was expected (000 Eq. 6)."""
        drift = self.stream.drift
        return drift is not None and drift > self.tolerance

    def look(self) -> None:
        """Begin to weave, unless the drift is tolerated or it is being done already."""
        with self._one:
            if self.is_due and (self._thread is None or not self._thread.is_alive()):
                self._thread = Thread(target=self.weave, name="weft-weaver", daemon=True)
                self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is being woven."""
        if self._thread is not None:
            self._thread.join(timeout)

    def weave(self) -> None:
        """Weave anew and note what came of it; a stream that ends meanwhile needs no more of it."""
        drift = self.stream.drift
        try:
            made = self.stream.reweave()
        except Exception as error:  # nobody waits for this thread: whatever it is, it is told
            if not self.stream.has_ended:
                warn(StreamWarning(f"the stream's plan has drifted by {drift:.0%}, and it could not be woven anew: "
                                   f"{error}"), stacklevel=1)
            return
        self.weavings.append({"at": format_time(datetime.now(UTC)), "act": "reweave", "query": "", "kind": made.kind,
                              "drift": drift, "reason": f"At a drift of {drift:.0%}: {made.reason}"})
        self.when_woven()


def require_tolerance(value: float | None) -> float:
    """A tolerance of drift; None is without end. Raises where it is none."""
    if value is None:
        return float("inf")
    if isinstance(value, bool) or not isinstance(value, int | float) or isnan(value) or value < 0:
        raise RunError(f"drift_tolerance must be a number that is not below 0, such as {TOLERANCE}, or None for a "
                       f"stream that is never woven anew by itself: it is {value!r}.")
    return float(value)
