"""The history of a stream's triggers: the last of them, each with a number by which a page asks for what is new."""

from __future__ import annotations

from collections import deque
from itertools import dropwhile
from threading import Lock
from typing import Any

from weft.spark.stream.progress import TriggerMetrics

# Half an hour of triggers of three seconds.
KEPT = 600


class TriggerHistory:
    """A ring of triggers; any thread may add and ask."""

    def __init__(self, kept: int = KEPT):
        self._ring: deque[tuple[int, TriggerMetrics]] = deque(maxlen=kept)
        self._next, self._lock = 1, Lock()

    def add(self, figures: TriggerMetrics) -> None:
        """Keep a trigger, unless it is kept already: Spark tells some of them twice."""
        with self._lock:
            if not any(is_same(figures, one) for _, one in self._ring):
                self._ring.append((self._next, figures))
                self._next += 1

    def after(self, number: int) -> dict[str, Any]:
        """The triggers after one, and the number of the last."""
        with self._lock:
            found = list(dropwhile(lambda each: each[0] <= number, self._ring))
            last = self._next - 1
        return {"last": last, "triggers": [{"number": n, **figures.to_dict()} for n, figures in found]}


def is_same(one: TriggerMetrics, other: TriggerMetrics) -> bool:
    """Whether two are the same trigger."""
    return (one.scan, one.batch, one.at) == (other.scan, other.batch, other.at)
