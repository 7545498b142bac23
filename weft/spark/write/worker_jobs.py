"""Output rows made by workers: which projections of a tree they can make, and the job that makes them.

Where every expression of a projection is one that a worker evaluates as Spark does, its rows need not leave Python as
arrays, be taken apart and be projected in the JVM: the worker writes them, or counts them for a sink that keeps none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.types import StructField, StructType

from weft.final.outputs.files import FileFormat
from weft.final.outputs.partition import WorkerProjection, project_partition
from weft.final.project import Projection
from weft.final.prompt import Prompt
from weft.model.graph import Node, StageGraph
from weft.model.stages import AnswerStage, FinalStage
from weft.spark.batch.run import AnswerPart
from weft.spark.stages.answer import parse_type
from weft.spark.stages.final import send_slices
from weft.stages.build import answer_all
from weft.stages.project import compile_projection

REPORT_COLUMNS = "query string, file string, rows bigint, reason string"
ARROW = {"boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
         "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(),
         "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us")}


@dataclass(frozen=True)
class WorkerJob:
    """The projections of a tree that workers make: the ids of their answer stages, and a part that reads the slices."""

    ids: tuple[str, ...]
    part: AnswerPart
    final: FinalStage
    projections: tuple[WorkerProjection, ...]

    @property
    def queries(self) -> list[str]:
        """The queries whose rows it makes."""
        return [name for ids in self.queries_by_id.values() for name in ids]

    @property
    def queries_by_id(self) -> dict[str, list[str]]:
        """The queries of each answer stage."""
        return {id: [name for names in each.queries.values() for name in names]
                for id, each in zip(self.ids, self.projections, strict=True)}

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each query."""
        return {name: each.schema for each in self.projections for names in each.queries.values() for name in names}

    def run(self, target: FileFormat | None) -> list[Row]:
        """Make the rows; what each partition says of them."""
        sent = send_slices(self.part.slices, self.part.partial, self.final)
        work = partial(project_partition, self.final, self.projections, target)
        return sent.mapInArrow(Prompt(work), REPORT_COLUMNS).collect()


def plan_worker_jobs(graph: StageGraph, parts: Mapping[str, AnswerPart],
                     can_hold: Container[pa.DataType] | None = None) -> list[WorkerJob]:
    """A job for each tree of which workers can make some projection; `can_hold` are the types that a sink takes."""
    found = []
    for tree in graph.of(FinalStage):
        nodes = [node for node in graph.answers(tree.id) if node.id in parts]
        made = {node.id: projection for node in nodes if (projection := compile_answers(parts[node.id], node))}
        made = {id: projection for id, projection in made.items() if fits(parts[id].stage, can_hold)}
        if made:
            found.append(make_job({id: parts[id] for id in made}, made))
    return found


def compile_answers(part: AnswerPart, node: Node[AnswerStage]) -> Projection | None:
    """The projection of an answer stage for workers, None where only Spark can make its rows."""
    alone = replace(node.stage, queries=())
    return compiled_projection(alone, tuple(part.partial.key_types), part.partial.time_type, part.final.ansi)


@lru_cache(1024)
def compiled_projection(stage: AnswerStage, key_types: tuple[str, ...], time_type: str,
                        ansi: bool) -> Projection | None:
    """The projection of an answer stage without its queries; runs that follow one another compile it once."""
    made = compile_projection(stage, key_types, time_type, ansi)
    return made if isinstance(made, Projection) else None


def fits(stage: AnswerStage, can_hold: Container[pa.DataType] | None) -> bool:
    """Whether workers have all types of a stage's columns, and a sink takes them."""
    types = [arrow_type(json.loads(output.type)) for output in stage.outputs]
    return all(kind is not None and (can_hold is None or kind in can_hold) for kind in types)


def make_job(parts: Mapping[str, AnswerPart], made: Mapping[str, Projection]) -> WorkerJob:
    """The job of some projections of a tree."""
    first = next(iter(parts.values()))
    final = answer_all(first.final, [part.stage for part in parts.values()])
    projections = tuple(worker_projection(final, parts[id].stage, made[id]) for id in parts)
    return WorkerJob(tuple(parts), first, final, projections)


def worker_projection(final: FinalStage, stage: AnswerStage, projection: Projection) -> WorkerProjection:
    """A projection with its place in a tree and the queries that want its rows."""
    queries: dict[tuple[int, int], tuple[str, ...]] = {}
    for asked in stage.queries:
        at = (asked.predicate, final.windows.index(asked.window))
        queries[at] = (*queries.get(at, ()), asked.name)
    return WorkerProjection(projection, tuple(final.components.index(c) for c in stage.components), queries,
                            output_schema(stage))


def output_schema(stage: AnswerStage) -> pa.Schema:
    """The columns of a stage's rows in Arrow's types."""
    return pa.schema([pa.field(output.name, arrow_type(json.loads(output.type))) for output in stage.outputs])


def arrow_type(kind: Any) -> pa.DataType | None:
    """The Arrow type of a Spark type in JSON, None of those that workers leave to Spark."""
    if isinstance(kind, str):
        found = re.fullmatch(r"decimal\((\d+),(-?\d+)\)", kind)
        return pa.decimal128(int(found[1]), int(found[2])) if found else ARROW.get(kind)
    if kind["type"] != "struct":
        return None
    fields = [(field["name"], arrow_type(field["type"])) for field in kind["fields"]]
    return None if any(found is None for _, found in fields) else pa.struct(fields)


def output_struct(stage: AnswerStage) -> StructType:
    """The columns of a stage's rows, as a reader of its files sees them."""
    return StructType([StructField(o.name, parse_type(o.type)) for o in stage.outputs])


def failed_projections(job: WorkerJob, rows: Sequence[Row]) -> list[str]:
    """The ids of the answer stages that only Spark can make rows of, as workers found out on the way."""
    names = {row["query"] for row in rows if row["reason"] is not None}
    return [id for id, queries in job.queries_by_id.items() if names & set(queries)]
