"""What Spark calls with each trigger: its answers go to the sink, its dead letters to their folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from weft.spark.stream.failures import short_interruptions
from weft.spark.stream.flow import ExpectedPart
from weft.spark.stream.outputs import TriggerReport, read_report
from weft.spark.stream.scan_plans import Deliveries
from weft.spark.stream.sinks import DeadLetterSink, Delivered, StreamSink, number_trigger
from weft.spark.stream.state import DEAD_PART, PART


def deliver(deliveries: Deliveries, target: StreamSink, dead: DeadLetterSink,
            suspect: bool = False) -> Callable[[DataFrame, int], None]:
    """What Spark calls with the answers of each trigger; in a `suspect` source broken records are no surprise."""

    def take(batch: DataFrame, number: int) -> None:
        with short_interruptions(), deliveries(number) as now:
            number = number_trigger(now.version, number)
            if now.made:
                deliver_made(batch, number, now.parts, target, dead)
            elif not target.facts.observable:
                deliver_all(batch, number, now.parts, target, dead)
            else:
                deliver_observed(batch, number, now.parts, target, dead, suspect)

    return take


def deliver_observed(batch: DataFrame, number: int, expected: tuple[ExpectedPart, ...], target: StreamSink,
                     dead: DeadLetterSink, suspect: bool) -> None:
    """Let a sink have the answers, and look for dead letters only where it has passed by some."""
    with cached_batch(batch, len(expected) > 1 or suspect):
        found = Observation()
        lost = F.expr(f"coalesce(sum(IF({PART} = '{DEAD_PART}', 1, 0)), 0)").alias("dead")
        watched = batch.observe(found, lost)
        target(tuple(part.arrived(watched) for part in expected), number)
        if found.get["dead"]:
            dead(batch, number)


def deliver_all(batch: DataFrame, number: int, expected: tuple[ExpectedPart, ...], target: StreamSink,
                dead: DeadLetterSink) -> None:
    """Let a sink have the answers that may read some of them or none, or in a plan of which an observation hears
    nothing. What nobody reads Spark neither folds nor keeps; so they are held, and the search for dead letters reads
    them all."""
    with cached_batch(batch, True):
        target(tuple(part.arrived(batch) for part in expected), number)
        dead(batch, number)


def deliver_made(batch: DataFrame, number: int, expected: tuple[ExpectedPart, ...], target: StreamSink,
                 dead: DeadLetterSink) -> None:
    """Let workers make output rows. One job lets them, and brings their report with the dead letters; Spark projects
    what they leave to it, where they leave anything. The batch is cached, for a second look at it would fold again and
    count every answer twice; rows that workers made are not in it."""
    parts = tuple(part.arrived(batch) for part in expected)
    reports: list[TriggerReport] = []

    def make() -> Delivered:
        reports.append(read_report(batch))
        return Delivered(tuple(part for part in parts if part.id in reports[0].parts), reports[0].files)

    with cached_batch(batch, True):
        target(parts, number, make)
    dead.write(reports[0].letters, number)


@contextmanager
def cached_batch(batch: DataFrame, several: bool) -> Iterator[None]:
    """Keep a trigger's answers while they are read several times: each time they would be folded again."""
    if not several:
        yield
        return
    batch.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield
    finally:
        batch.unpersist()
