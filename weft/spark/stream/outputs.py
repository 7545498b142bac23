"""Output rows that the workers of a stream make: for which sinks and parts, and what a trigger's workers report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession

from weft.final.outputs.partition import WorkerProjection
from weft.final.outputs.trigger import TriggerOutputs
from weft.final.project import Projection
from weft.final.state.bucket import BucketPart
from weft.io.answer_sink import AnswerSink
from weft.io.files import open_filesystem
from weft.io.sinks import FolderSink, NoopSink
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage
from weft.spark.stream.buckets import BucketPlan
from weft.spark.stream.state import ANSWERS, COUNT_PART, DEAD_PART, FILE_PART, PART
from weft.spark.write.worker_files import HeldTypes, file_format, held_types
from weft.spark.write.worker_jobs import fits, worker_projection
from weft.stages.project import compile_projection

# Where workers write, below the folder that a sink stages a trigger in.
WORKERS = "workers"
# Of the buckets of a scan, what workers make of its answers.
ChooseOutputs = Callable[[StageGraph, Sequence[BucketPlan]], TriggerOutputs]


@dataclass(frozen=True)
class TriggerReport:
    """What the workers of a trigger sent: the files they wrote, each with its query, dead letters, and the ids of the
    parts whose answers they left to Spark."""

    files: tuple[tuple[str, str], ...]
    letters: tuple[str, ...]
    parts: frozenset[str]


def outputs_for(spark: SparkSession, sink: AnswerSink, scan_name: str) -> ChooseOutputs:
    """What workers make for a sink: files of Parquet where they and the driver see the same disk, and all that nobody
    keeps; any other sink reads DataFrames."""
    if isinstance(sink, NoopSink):
        return lambda scan, plans: TriggerOutputs(compile_parts(scan, plans, None))
    types = held_types(spark, sink) if isinstance(sink, FolderSink) else None
    if not isinstance(sink, FolderSink) or types is None:
        return lambda scan, plans: TriggerOutputs()
    folder = f"{open_filesystem(sink.path)[1]}/{staging_name(scan_name)}/{WORKERS}"

    def choose(scan: StageGraph, plans: Sequence[BucketPlan]) -> TriggerOutputs:
        made = compile_parts(scan, plans, types)
        return TriggerOutputs(made, file_format(spark, folder, [answer_stage(scan, id) for id in made]))

    return choose


def staging_name(scan_name: str) -> str:
    """The name of the folder that a trigger of a scan is first written to."""
    return f"_weft_staging_{scan_name}"


def compile_parts(scan: StageGraph, plans: Sequence[BucketPlan],
                  can_hold: HeldTypes | None) -> Mapping[str, WorkerProjection]:
    """The projections that workers can make, by the id of their answer stage."""
    parts = [part for each in plans for part in each.node.parts]
    found = {part.id: compile_part(scan, part) for part in parts if fits(answer_stage(scan, part.id), can_hold)}
    return {id: projection for id, projection in found.items() if projection is not None}


def compile_part(scan: StageGraph, part: BucketPart) -> WorkerProjection | None:
    """The projection of a part for workers, None where only Spark can make its rows."""
    stage, partial = answer_stage(scan, part.id), scan.slices_of(scan[part.id]).stage
    made = compile_projection(stage, partial.key_types, partial.time_type, part.final.ansi)
    return worker_projection(part.final, stage, made) if isinstance(made, Projection) else None


def answer_stage(scan: StageGraph, id: str) -> AnswerStage:
    """The answer stage of an id."""
    stage = scan[id].stage
    assert isinstance(stage, AnswerStage)
    return stage


def read_report(batch: DataFrame) -> TriggerReport:
    """Let the workers of a trigger do their work, all of it, and hear what they have to say."""
    told = f"IF({PART} IN ('{DEAD_PART}', '{FILE_PART}'), CAST({ANSWERS} AS STRING), NULL) AS told"
    said = batch.where(f"{ANSWERS} IS NOT NULL AND {PART} <> '{COUNT_PART}'")  # texts: a column at a time takes longer
    return to_report(said.selectExpr(PART, told).collect())


def to_report(rows: Sequence[Row]) -> TriggerReport:
    """The rows of a report by their kinds."""
    files = tuple(tuple(json.loads(text)) for part, text in rows if part == FILE_PART)
    letters = tuple(text for part, text in rows if part == DEAD_PART)
    return TriggerReport(files, letters, frozenset(part for part, _ in rows) - {DEAD_PART, FILE_PART})
