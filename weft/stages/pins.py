"""Pins: a plan whose scans keep the ids, predicates and columns that a stream's state knows them by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from weft.model.graph import Node, StageGraph
from weft.model.plan import Scan, ScanPins, SharedPlan
from weft.model.stages import DeriveStage, PartialStage


def pin_plan(plan: SharedPlan, graph: StageGraph) -> SharedPlan:
    """The plan with pins at every scan; the nodes of its graph are in the order of its scans."""
    nodes = iter(graph.slices)
    return replace(plan, scans=tuple(pin_scan(scan, nodes) for scan in plan.scans))


def pin_scan(scan: Scan, nodes: Iterator[Node[PartialStage]]) -> Scan:
    """A scan, and those derived from it, with pins."""
    node = next(nodes)
    columns = () if isinstance(node.stage, DeriveStage) else tuple(column.name for column in node.stage.columns)
    predicates = () if isinstance(node.stage, DeriveStage) else node.stage.predicates
    return replace(scan, pins=ScanPins(node.id, predicates, columns),
                   derived=tuple(pin_scan(child, nodes) for child in scan.derived))
