"""The process that is killed: a stream of woven queries from a folder of files to a folder of answers.

`python -m tests.crash.child FOLDER` runs until it is killed; with `--finish` it answers what is there, and then
answers everything again as a batch run.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import weft.spark.stream.sinks
from tests.crash.feed import SCHEMA, SIDE, WATERMARK
from tests.crash.queries import PARTITIONS, STARTED, WORKLOAD, WORKLOADS
from tests.crash.shares import drop_of, weighed_rows
from weft.errors import PlanError
from weft.io.files import open_filesystem
from weft.loom import Loom
from weft.model.plan import SharedPlan
from weft.spark.session.session import local_session
from weft.spark.stream.partial import is_cut_in_workers
from weft.stages.build import build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    files, root = open_filesystem(path)
    return SlowFiles(files), root


def session(folder: Path | None = None) -> SparkSession:
    """The session of a process that is killed; of a source that drops rows all logs are kept, which tell what of."""
    kept = {"spark.sql.streaming.minBatchesToRetain": "1000"} if folder and sheds(folder) else {}
    java = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={os.environ.get('TMPDIR', '/tmp')}"
    return local_session("weft-crash", cores="2",
                         **{**SETTINGS, **kept, "spark.driver.extraJavaOptions": java})


def loom_over(spark: SparkSession, folder: Path) -> Loom:
    """The queries over the files that the crash test writes."""
    loom = Loom(spark)
    starts = len(list((folder / "logs").iterdir()))
    loom.source("events", folder / "in", time="ts", format="parquet", schema=SCHEMA,
                options={"maxFilesPerTrigger": "2"}, watermark=f"{WATERMARK} seconds",
                drop=drop_of(starts) if sheds(folder) else 0.0)
    loom.source("side", folder / "side", time="at", format="parquet", schema=SIDE,
                options={"maxFilesPerTrigger": "2"}, watermark=f"{WATERMARK} seconds")
    for name, sql in WORKLOADS[(folder / WORKLOAD).read_text()].items():
        loom.query(name, sql)
    return loom


def sheds(folder: Path) -> bool:
    """Whether the source drops rows."""
    return (folder / WORKLOAD).read_text() == "shedding"


def require_made_for(folder: Path, plan: SharedPlan) -> None:
    """Raises where the plan is not the one that this test is made for."""
    workload = (folder / WORKLOAD).read_text()
    if workload == "joined":
        return
    if len(plan.scans) != 1 or not plan.scans[0].derived:
        raise PlanError("the queries of the crash test no longer share one scan with a derived grouping: change them.")
    if is_cut_in_workers(build(plan).roots[0].stage) != (workload != "bags"):
        raise PlanError(f"the queries of the workload '{workload}' are no longer cut where they were: change them.")


def go_on(spark: SparkSession, folder: Path) -> None:
    """Answer what comes, until it is killed."""
    weft.spark.stream.sinks.open_filesystem = slow_filesystem
    stream = loom_over(spark, folder).start(folder / "checkpoint", sink=str(folder / "out"))
    require_made_for(folder, stream.plan)
    print(STARTED, flush=True)
    stream.awaitTermination()


def finish(spark: SparkSession, folder: Path) -> None:
    """Answer what is there, and then everything as a batch run."""
    loom = loom_over(spark, folder)
    loom.start(folder / "checkpoint", sink=str(folder / "out"), trigger="available").awaitTermination()
    if sheds(folder):  # a batch would keep one share of all rows
        rows = weighed_rows(spark, folder, SCHEMA)
        loom._context.sources._behind = lambda source: rows
    loom.run(sink=str(folder / "expected"))
    loom.close()


def main() -> None:
    """Runs the stream."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.child")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--finish", action="store_true")
    options = parser.parse_args()
    (finish if options.finish else go_on)(session(options.folder), options.folder)


if __name__ == "__main__":
    main()
