"""Write stages: answers whose outputs are alike go to a sink together."""

from __future__ import annotations

from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage
from weft.stages.ids import write_node


def add_writes(graph: StageGraph, sink: str) -> StageGraph:
    """The graph with what is written to a sink: one node for all answers of equal names and types of outputs."""
    groups: dict[tuple, list[str]] = {}
    for node in graph.of(AnswerStage):
        groups.setdefault(tuple((o.name, o.type) for o in node.stage.outputs), []).append(node.id)
    return StageGraph((*graph.nodes, *(write_node(sink, answers) for answers in groups.values())))
