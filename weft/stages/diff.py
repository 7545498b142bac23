"""What two plans have in common: nodes by their ids, and what nodes of the same id have more or less of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage, FinalStage


@dataclass(frozen=True)
class Change:
    """What of one kind is in both plans, only in the new one, or only in the old one; by ids, or by names."""

    kept: tuple[str, ...]
    added: tuple[str, ...]
    dropped: tuple[str, ...]

    def __str__(self) -> str:
        return f"{len(self.kept)} kept, {len(self.added)} added, {len(self.dropped)} dropped"


@dataclass(frozen=True)
class PlanDiff:
    """How a plan differs from an earlier one: its nodes, the columns of slices, the folds of trees, and its queries.

    A node that is kept may still have more or fewer columns, or answer other queries.
    """

    nodes: Change
    columns: Change
    folds: Change
    queries: Change

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        changes = (self.nodes, self.columns, self.folds, self.queries)
        return not any(change.added or change.dropped for change in changes)

    def to_dict(self) -> dict:
        """The differences as plain values."""
        return asdict(self)

    def __str__(self) -> str:
        named = [(name, getattr(self, name)) for name in ("nodes", "columns", "folds", "queries")]
        lines = [f"{name}: {change}" for name, change in named]
        signs = [f"  {sign} {name}" for sign, names in (("+", self.queries.added), ("-", self.queries.dropped))
                 for name in names]
        return "\n".join((*lines, *signs))


def diff(old: StageGraph, new: StageGraph) -> PlanDiff:
    """How a plan's stages differ from those of an earlier plan."""
    return PlanDiff(
        compare((node.id for node in old), (node.id for node in new)),
        compare(columns(old), columns(new)),
        compare(folds(old), folds(new)),
        compare_queries(queries(old), queries(new)),
    )


def columns(graph: StageGraph) -> list[str]:
    """The columns of all slices; one name means something else in other slices."""
    return [f"{node.id}.{name}" for node in graph.slices for name in node.holds]


def folds(graph: StageGraph) -> list[str]:
    """The folds of all trees: a window and a component over some slices, in whatever tree."""
    return [fold for node in graph.of(FinalStage) for fold in node.holds]


def compare(old: Iterable[str], new: Iterable[str]) -> Change:
    """The same, the new and the gone, in the order of their plans."""
    before, now = dict.fromkeys(old), dict.fromkeys(new)
    return Change(tuple(id for id in now if id in before), tuple(id for id in now if id not in before),
                  tuple(id for id in before if id not in now))


def queries(graph: StageGraph) -> dict[str, str]:
    """The meaning of each query by its name."""
    return {asked.name: f"{node.stage.outputs} {held}" for node in graph.of(AnswerStage)
            for asked, held in zip(node.stage.queries, node.holds, strict=True)}


def compare_queries(old: Mapping[str, str], new: Mapping[str, str]) -> Change:
    """The queries by name; one that asks for something else is both dropped and added."""
    kept = tuple(name for name in new if old.get(name) == new[name])
    return Change(kept, tuple(name for name in new if name not in kept), tuple(n for n in old if n not in kept))
