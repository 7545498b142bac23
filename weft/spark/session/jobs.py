"""Independent Spark jobs side by side: a few at a time, and the first error cancels the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TypeVar
from uuid import uuid4

from pyspark.sql import SparkSession
from pyspark.util import inheritable_thread_target

# Spark's scheduler shares the cores; more at once would only hold more rows in memory.
JOBS_AT_ONCE = 4

T = TypeVar("T")


def run_jobs(spark: SparkSession, jobs: Sequence[Callable[[], T]],
             tell: Callable[[int], None] = lambda count: None) -> list[T]:
    """What each job gives, in their order; raises the error of the first that fails when all others have ended. `tell`
    is called in this thread with the number of jobs that are done."""
    tag = f"weft-{uuid4().hex}"
    with ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="weft-job") as pool:
        # Jobs keep what the caller's thread says of its own, such as a job group.
        futures = [pool.submit(inheritable_thread_target(spark)(tagged(spark, tag, job))) for job in jobs]
        try:
            for count, future in enumerate(as_completed(futures), 1):
                future.result()
                tell(count)
        except BaseException:
            cancel(spark, tag, futures)
            raise
    return [future.result() for future in futures]


def tagged(spark: SparkSession, tag: str, job: Callable[[], T]) -> Callable[[], T]:
    """A job under a tag, by which it can be cancelled."""

    def run() -> T:
        spark.addTag(tag)
        try:
            return job()
        finally:
            spark.removeTag(tag)

    return run


def cancel(spark: SparkSession, tag: str, futures: Sequence[Future]) -> None:
    """End what runs under a tag, and do not begin what waits."""
    for future in futures:
        future.cancel()
    spark.interruptTag(tag)
