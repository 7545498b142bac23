"""The worker: one thread that does what needs Spark, so that whoever only looks is answered at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from weft.errors import WeftError

Result = TypeVar("Result")
# How many may wait for the worker; who comes then is told to come again.
QUEUE = 16


class BusyError(WeftError):
    """More is waiting for Spark than should, or Spark is not there yet."""


class SparkWorker:
    """Does one piece of work after the other, of which only so many may wait."""

    def __init__(self, queue: int = QUEUE):
        self._pool = ThreadPoolExecutor(1, "weft-worker")
        self._queue, self._waiting, self._lock = queue, 0, Lock()

    async def do(self, work: Callable[[], Result]) -> Result:
        """What the work gives; raises at once where too much is waiting."""
        with self._lock:
            if self._waiting >= self._queue:
                raise BusyError("too many requests wait for Spark: try again in a moment.")
            try:
                future = self._pool.submit(work)
            except RuntimeError:
                raise BusyError("the service is ending.") from None
            self._waiting += 1
        # The place is free when the work is done, not when its client has gone away.
        future.add_done_callback(lambda _: self._leave())
        return await asyncio.wrap_future(future)

    def _leave(self) -> None:
        with self._lock:
            self._waiting -= 1

    def close(self) -> None:
        """Drop what waits, and wait for what runs."""
        self._pool.shutdown(cancel_futures=True)
