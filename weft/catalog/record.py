"""Recording what is planned: the stage list itself, walked from each scan to what is computed from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from weft.catalog.database import Catalog
from weft.catalog.expressions import keep_expression, keep_set
from weft.catalog.nodes import NodeColumn, NodeShape, keep_node, place_node, widen_node
from weft.catalog.registrations import answering_node
from weft.model.stages import PartialStage
from weft.stages.build import ScanStages

# The canonical form of a text over a source.
Identity = Callable[[str, str], str]


@dataclass(frozen=True)
class Placed:
    """A scan's stages, their node, and the node that it is computed from, None for the source."""

    stages: ScanStages
    node: int
    parent: int | None

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries that read the node."""
        return tuple(asked.name for tree in self.stages.trees for stage in tree.answers for asked in stage.queries)


def walk_scans(stages: ScanStages, make: Callable[[PartialStage], int], parent: int | None = None) -> Iterator[Placed]:
    """A scan and all that is computed from it, parents first; `make` gives a partial stage's node."""
    node = make(stages.partial)
    yield Placed(stages, node, parent)
    for child in stages.derived:
        yield from walk_scans(child, make, node)


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


def place_nodes(catalog: Catalog, plan: int, placed: Iterable[Placed], registered: Mapping[str, int]) -> None:
    """Put nodes into a plan, and say of each query which of them answers it."""
    for found in placed:
        place_node(catalog, plan, found.node, found.parent)
        for name in found.queries:
            answering_node(catalog, registered[name], found.node, plan)


def digest(optimizer: str, stages: Iterable[ScanStages], identity: Identity) -> str:
    """A text that is the same for plans that run alike, whatever they cost and however their SQL is spelled."""
    signature = [optimizer, [sign_plan(scan, identity) for scan in stages]]
    return hashlib.sha256(json.dumps(signature).encode()).hexdigest()


def sign_plan(scan: ScanStages, identity: Identity) -> list[Any]:
    """What is particular to a scan and to all that is computed from it, as plain values."""
    partial = scan.partial

    def form(text: str | None) -> str | None:
        return identity(partial.source, text) if text else None

    head = [partial.source, form(partial.time), [*map(form, partial.predicates)], [*map(form, partial.keys)],
            partial.progressions, partial.unit, partial.sharing, [(c.plain, c.predicate) for c in partial.columns]]
    trees = [[[astuple(w) for w in tree.final.windows], tree.final.algorithms, tree.final.ansi,
              [[[(a.name, astuple(a.window), a.predicate) for a in stage.queries], stage.calls, stage.having,
                [astuple(o) for o in stage.outputs]] for stage in tree.answers]] for tree in scan.trees]
    return [head, trees, [sign_plan(child, identity) for child in scan.derived]]
