"""The stage graph: a plan as one flat list of nodes, each known by a digest of what it means."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Generic, TypeVar

from weft.model.stages import (
    AnswerStage,
    DeriveStage,
    FinalStage,
    JoinStage,
    PartialStage,
    ReadStage,
    Stage,
    WriteStage,
)

S = TypeVar("S", bound=Stage, covariant=True)
T = TypeVar("T", bound=Stage)
DIGITS = 16


def digest(*meaning: Any) -> str:
    """A short text for plain values: the same in every process, and another for other values."""
    return sha256(json.dumps(meaning).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Node(Generic[S]):
    """A stage of a plan. `inputs` are the ids of the nodes that it reads.

    Its `id` is a digest of what it means and of what it reads, whatever else the plan does. `holds` are digests of what
    it may have more or less of under the same id: the columns of slices, the folds of a tree, the queries of answers.
    """

    id: str
    stage: S
    inputs: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Read, Join, Partial, Derive, Final, Answer or Write."""
        return type(self.stage).__name__.removesuffix("Stage")

    @property
    def meaning(self) -> str:
        """Its digest, which nodes share that mean the same and stand twice in a plan."""
        return self.id[:DIGITS]


@dataclass(frozen=True)
class StageGraph:
    """The nodes of a plan, each after all that it reads."""

    nodes: tuple[Node[Stage], ...]

    def __iter__(self) -> Iterator[Node[Stage]]:
        return iter(self.nodes)

    def __getitem__(self, id: str) -> Node[Stage]:
        return self._by_id[id]

    @cached_property
    def _by_id(self) -> dict[str, Node[Stage]]:
        return {node.id: node for node in self.nodes}

    @cached_property
    def _readers(self) -> dict[str, list[Node[Stage]]]:
        found: dict[str, list[Node[Stage]]] = {node.id: [] for node in self.nodes}
        for node in self.nodes:
            for id in node.inputs:
                found[id].append(node)
        return found

    def of(self, kind: type[T]) -> tuple[Node[T], ...]:
        """The nodes of a kind of stage."""
        return tuple(node for node in self.nodes if isinstance(node.stage, kind))  # type: ignore[misc]

    def readers(self, id: str, kind: type[T]) -> tuple[Node[T], ...]:
        """The nodes of a kind that read a node."""
        return tuple(node for node in self._readers[id] if isinstance(node.stage, kind))  # type: ignore[misc]

    @property
    def slices(self) -> tuple[Node[PartialStage], ...]:
        """The nodes that make slices, of rows or of other slices."""
        return self.of(PartialStage)

    @property
    def roots(self) -> tuple[Node[PartialStage], ...]:
        """The nodes that make slices of rows: one for each scan of a source."""
        return tuple(node for node in self.slices if not isinstance(node.stage, DeriveStage))

    def trees(self, slices: str) -> tuple[Node[FinalStage], ...]:
        """The nodes that fold some slices."""
        return self.readers(slices, FinalStage)

    def answers(self, final: str) -> tuple[Node[AnswerStage], ...]:
        """The nodes that project the answers of a tree."""
        return self.readers(final, AnswerStage)

    def slices_of(self, node: Node[Stage]) -> Node[PartialStage]:
        """The slices that a node's answers are folded from, or that a node is itself."""
        while not isinstance(node.stage, PartialStage):
            node = self[node.inputs[0]]
        return node  # type: ignore[return-value]

    def above(self, slices: Node[PartialStage]) -> tuple[Node[PartialStage], ...]:
        """The slices that slices are derived from, one from another, those of rows first."""
        if not isinstance(slices.stage, DeriveStage):
            return ()
        parent = self.slices_of(self[slices.inputs[0]])
        return (*self.above(parent), parent)

    @cached_property
    def scans(self) -> tuple[StageGraph, ...]:
        """Every scan alone: what it reads, and all that hangs on its slices."""
        owner: dict[str, str] = {}
        found: dict[str, list[Node[Stage]]] = {}
        for node in self.nodes:
            if isinstance(node.stage, ReadStage | JoinStage):
                continue
            if node.inputs[0] not in owner:
                found[node.id] = self._rows(node.inputs[0])
            owner[node.id] = owner.get(node.inputs[0], node.id)
            if len({owner.get(id) for id in node.inputs}) == 1:
                found[owner[node.id]].append(node)
        return tuple(StageGraph(tuple(nodes)) for nodes in found.values())

    def _rows(self, id: str) -> list[Node[Stage]]:
        """The node that gives rows, after those whose rows it joins."""
        node = self[id]
        return [*(self[each] for each in node.inputs), node]

    @property
    def root(self) -> Node[PartialStage]:
        """The slices of the only scan."""
        (found,) = self.roots
        return found

    def queries(self, id: str | None = None) -> tuple[str, ...]:
        """The names of the queries that are answered, or of those that some slices answer themselves."""
        finals = self.of(FinalStage) if id is None else self.trees(id)
        return tuple(asked.name for final in finals for node in self.answers(final.id) for asked in node.stage.queries)

    def narrow(self, queries: Collection[str]) -> StageGraph:
        """The nodes that some queries need, under the ids and with the columns that they have here.

        So slices that are kept of the whole serve every part of it.
        """
        kept: dict[str, Node[Stage]] = {}
        needed: set[str] = set()
        for node in reversed(self.nodes):
            found = asked_only(node, queries) if isinstance(node.stage, AnswerStage) else node
            if found is not None and (found.id in needed or isinstance(found.stage, AnswerStage)):
                kept[found.id] = found
                needed.update(found.inputs)
        return StageGraph(tuple(kept[node.id] for node in self.nodes if node.id in kept))

    @property
    def writes(self) -> tuple[Node[WriteStage], ...]:
        """What is written together."""
        return self.of(WriteStage)


def asked_only(node: Node[Stage], queries: Collection[str]) -> Node[Stage] | None:
    """An answer node with some of its queries; None where it has none of them."""
    assert isinstance(node.stage, AnswerStage)
    mine = [(asked, held) for asked, held in zip(node.stage.queries, node.holds, strict=True) if asked.name in queries]
    if not mine:
        return None
    stage = replace(node.stage, queries=tuple(asked for asked, _ in mine))
    return replace(node, stage=stage, holds=tuple(held for _, held in mine))
