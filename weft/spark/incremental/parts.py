"""The answer stages of a plan over kept slices, which are opened when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from pyspark.sql import DataFrame, SparkSession

from weft.model.graph import Node, StageGraph
from weft.model.stages import AnswerStage, FinalStage
from weft.spark.batch.run import AnswerPart
from weft.spark.incremental.run import SliceReader


def kept_parts(spark: SparkSession, graph: StageGraph, reader: SliceReader) -> dict[str, AnswerPart]:
    """Every answer stage over its kept slices, by its id; derived ones are kept too, so nothing lies above them."""
    frames = {node.id: cache(partial(reader[node.id].read, spark)) for node in graph.slices}
    return {node.id: kept_part(graph, node, frames[graph.slices_of(node).id]) for node in graph.of(AnswerStage)}


def kept_part(graph: StageGraph, node: Node[AnswerStage], read: Callable[[], DataFrame]) -> AnswerPart:
    """An answer stage over slices."""
    final = graph[node.inputs[0]].stage
    assert isinstance(final, FinalStage)
    return AnswerPart(read, graph.slices_of(node).stage, final, node.stage)
