"""A process that changes the queries of a stream until it kills itself at a random step.

    python -m tests.harness.live_child FOLDER SEED
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.child import session
from tests.harness.live_run import BEGIN, LiveRun

# Functions whose calls are steps: before it, or after it, the process may die.
STEPS = (("weft.spark.stream.start", "write_checkpoint"), ("weft.spark.stream.start", "remove_scans"),
         ("weft.spark.stream.start", "start_all"), ("weft.spark.stream.handle", "stop_queries"),
         ("weft.loom.live", "is_settled"), ("weft.loom.live", "put_in_place"),
         ("weft.spark.stream.deliver", "read_report"))


def main() -> None:
    """Runs, changes, and dies."""
    folder, seed = Path(sys.argv[1]), int(sys.argv[2])
    run = LiveRun(folder, Random(seed))
    clock = folder / "clock"
    run.clock = int(clock.read_text()) if clock.exists() else BEGIN
    run.initial = json.loads((folder / "queries.json").read_text())
    loom = run.make_loom(session())
    loom.add_queries(run.initial)
    stream = loom.start(folder / "checkpoint", str(folder / "out"), drift_tolerance=0)
    watch(run.random)
    while True:
        clock.write_text(str(run.clock + 15))
        run.feed()
        stream.processAllAvailable()
        run.change(stream)


def watch(random: Random) -> None:
    """Let one of the next steps be the last."""
    left = [random.randint(4, 40)]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            step(left)
            found = real(*args, **named)
            step(left)
            return found

        return call

    for module, name in STEPS:
        found = sys.modules[module]
        setattr(found, name, counted(getattr(found, name)))


def step(left: list[int]) -> None:
    """One step nearer to the end."""
    left[0] -= 1
    if left[0] <= 0:
        os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main()
