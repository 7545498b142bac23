"""Runs that die by SIGKILL at one of their steps, each in a process of its own that uses the Spark of the tests.

    python -m tests.harness.killed_run PORT SECRET STORE DATA OUT CHANGES

Reads numbers of steps. For each it forks a process, so that what a run imports is there already, and says how that
ended. Every call of the functions below is a step, before it and after it; those that wait for workers have one in
their midst too. Step 0 kills nothing and prints how many there were.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from threading import Timer
from types import ModuleType
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tests.spark.test_kills import KILLED
from tests.spark.test_refresh import QUERIES
from weft import Loom
from weft.spark.incremental import run as slices
from weft.spark.refresh import changes
from weft.spark.refresh import run as refresh
from weft.spark.write import guard, spares, staging

DURING = 0.15  # seconds after which a step is in its midst

taken: list[str] = []


def main() -> None:
    """Forks a run for each step that is asked for."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                run(int(line))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        print(f"ended {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}", flush=True)


def run(step: int) -> None:
    """Runs, and dies on the way."""
    port, secret, store, data, out, changes = sys.argv[1:]
    loom = Loom(attach(port, secret), store=store)
    loom.source("r", data, time="ts", format="parquet")
    loom.add_queries({name: QUERIES[name] for name in KILLED})
    slices.MOST = 2  # so that generations are joined on the way
    watch(step)
    loom.run(sink=out, incremental=True, changes=changes)
    print(f"steps {len(taken)}", flush=True)
    os._exit(0)  # the tests go on with the session


def attach(port: str, secret: str) -> Any:
    """The session of the process that has the gateway."""
    os.environ |= {"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}
    gateway = launch_gateway()
    java = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
        gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
    return SparkSession(SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf())))


def watch(step: int) -> None:
    """Make every call of the functions that change something count, and the one of that number the last."""
    functions: list[tuple[ModuleType | type, tuple[str, ...]]] = [
        (slices, ("begin_generation", "cut_files", "write_slices", "to_disk", "commit_anew", "commit_increment",
                  "commit_merged", "remove", "forget_generation", "sweep")),
        (refresh, ("run_from_files", "write_spark_files", "remove_others", "link_unchanged", "describe", "write_seen")),
        (staging, ("mark_result", "exchange_folders", "move_folder")), (staging.Staging, ("delete", "put_back")),
        (spares.Spares, ("take", "keep", "drop")), (spares, ("spoil",)),
        (guard, ("recover",)), (changes.ChangeFeed, ("settle", "add", "_write", "publish"))]
    for place, names in functions:
        for name in names:
            setattr(place, name, counted(f"{place.__name__}.{name}", getattr(place, name), step))


def counted(name: str, real: Callable, step: int) -> Callable:
    """The same function with a step before it, one after it, and where it waits for Spark one in its midst."""
    waits = name.endswith(("cut_files", "write_slices", "run_from_files", "write_spark_files"))

    def call(*args: Any, **more: Any) -> Any:
        take(f"before {name}", step)
        timer = Timer(DURING, die) if waits and take(f"during {name}", None) == step else None
        if timer:
            timer.start()
        made = real(*args, **more)
        if timer:
            timer.cancel()
            die()
        take(f"after {name}", step)
        return made

    return call


def take(name: str, step: int | None) -> int:
    """The number of a step, which is the last if it is the one to die at."""
    taken.append(name)
    if len(taken) == step:
        die()
    return len(taken)


def die() -> None:
    """What no process survives."""
    print(f"dies {taken[-1]}", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
