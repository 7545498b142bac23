"""The process that is killed: a stream of woven queries from a folder of files to a folder of answers.

`python -m weft.testing.crash.child FOLDER` runs until it is killed; with `--finish` it answers what is there, and then
answers everything again as a batch run.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import weft.spark.outlet
from weft.errors import PlanError
from weft.loom import Loom
from weft.model.plan import SharedPlan
from weft.spark.session import local_session
from weft.spark.sink import filesystem
from weft.testing.crash.feed import SCHEMA, WATERMARK
from weft.testing.crash.queries import PARTITIONS, QUERIES, STARTED

# How long a file takes to be moved or removed: as on a slow disk, so that a kill can come between two of them.
SLOW = 0.02
SETTINGS = {
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
    # A process that lives for seconds spends them on compiling, if it is let to.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Snapshots and purges come every minute and every hundred triggers otherwise, which no process here lives to see.
    "spark.sql.streaming.stateStore.maintenanceInterval": "1s",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    "spark.sql.streaming.minBatchesToRetain": "6",
}


class SlowFiles:
    """A file system on which moving and removing take a while."""

    def __init__(self, files: Any):
        self._files = files

    def __getattr__(self, name: str) -> Any:
        if name in ("move", "delete_file", "delete_dir"):
            time.sleep(SLOW)
        return getattr(self._files, name)


def slow_filesystem(path: str) -> tuple[Any, str]:
    """The file system of a path, slowed down."""
    files, root = filesystem(path)
    return SlowFiles(files), root


def loom_over(folder: Path) -> Loom:
    """The queries over the files that the crash test writes."""
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={os.environ.get('TMPDIR', '/tmp')}"
    loom = Loom(local_session("weft-crash", cores="2", **SETTINGS, **{"spark.driver.extraJavaOptions": java}))
    loom.source("events", folder / "in", time="ts", format="parquet", schema=SCHEMA,
                options={"maxFilesPerTrigger": "2"}, watermark=f"{WATERMARK} seconds")
    for name, sql in QUERIES.items():
        loom.query(name, sql)
    return loom


def require_derived(plan: SharedPlan) -> None:
    """Raises where the plan is not the one that this test is made for."""
    if len(plan.scans) != 1 or not plan.scans[0].derived:
        raise PlanError("the queries of the crash test no longer share one scan with a derived grouping: change them.")


def main() -> None:
    """Runs the stream."""
    parser = argparse.ArgumentParser(prog="python -m weft.testing.crash.child")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--finish", action="store_true")
    options = parser.parse_args()
    weft.spark.outlet.filesystem = slow_filesystem
    loom = loom_over(options.folder)
    stream = loom.start(options.folder / "checkpoint", sink=str(options.folder / "out"),
                        trigger="available" if options.finish else None)
    require_derived(stream.plan)
    print(STARTED, flush=True)
    stream.await_end()
    if options.finish:
        loom.run(sink=str(options.folder / "expected"))


if __name__ == "__main__":
    main()
