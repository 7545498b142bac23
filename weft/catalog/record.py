"""Recording what is planned: the nodes of the stage graph that make slices, and which of them answers which query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from weft.catalog.database import Catalog
from weft.catalog.expressions import keep_expression, keep_set
from weft.catalog.nodes import NodeColumn, NodeShape, keep_node, place_node, widen_node
from weft.catalog.registrations import answering_node
from weft.model.graph import Node, StageGraph
from weft.model.stages import DeriveStage, FinalStage, PartialStage

# The canonical form of a text over a source.
Identity = Callable[[str, str], str]


def node_of(catalog: Catalog, identity: Identity, partial: PartialStage) -> int:
    """The node of a partial stage, which has the stage's columns from now on."""
    def known(text: str) -> int:
        return keep_expression(catalog, partial.source, identity(partial.source, text), text)

    predicates = tuple(known(predicate) if predicate else None for predicate in partial.predicates)
    keys = keep_set(catalog, partial.source, map(known, partial.keys))
    node = keep_node(catalog, NodeShape(partial.source, keys, known(partial.time), predicates, partial.progressions,
                                        partial.sharing, partial.unit))
    widen_node(catalog, node, [NodeColumn(c.plain, None if c.predicate is None else predicates[c.predicate], c.sql)
                               for c in partial.columns])
    return node


def place_nodes(catalog: Catalog, plan: int, graph: StageGraph, made: Mapping[str, int],
                registered: Mapping[str, int]) -> None:
    """Put nodes into a plan, by the ids that the catalog has `made` for them, and say which answers each query."""
    for node in graph.slices:
        parent = made[node.inputs[0]] if isinstance(node.stage, DeriveStage) else None
        place_node(catalog, plan, made[node.id], parent)
        for name in graph.queries(node.id):
            answering_node(catalog, registered[name], made[node.id], plan)


def digest_plan(optimizer: str, graph: StageGraph) -> str:
    """A text that is the same for plans that run alike, whatever they cost and however their SQL is spelled."""
    algorithms = [node.stage.algorithms for node in graph.of(FinalStage)]
    signature = [optimizer, [sign_node(node) for node in graph], algorithms, graph.queries()]
    return hashlib.sha256(json.dumps(signature).encode()).hexdigest()


def sign_node(node: Node) -> list:
    """A node and what it holds."""
    return [node.id, node.inputs, node.holds]
