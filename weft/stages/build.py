"""A plan as stages: per scan one partial stage, per tree a final stage and a stage per projection of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

from weft.aggregates.component import ROWS, Component
from weft.final.base import Forced
from weft.final.choose import assign
from weft.final.layout import grids
from weft.model.edges import progressions
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.window import Window
from weft.model.workload import Bound
from weft.stages.definition import AnswerStage, FinalStage, PartialStage


@dataclass(frozen=True)
class ScanStages:
    """The stages of one scan: a partial stage and the trees over it."""

    partial: PartialStage
    trees: tuple[TreeStages, ...]


@dataclass(frozen=True)
class TreeStages:
    """The stages of one tree: a final stage and its projections."""

    final: FinalStage
    answers: tuple[AnswerStage, ...]


def build(plan: SharedPlan, ansi: bool = True) -> tuple[ScanStages, ...]:
    """The stages of every scan; `ansi` says whether overflow raises."""
    return tuple(build_scan(scan, ansi, plan.forced) for scan in plan.scans)


def build_scan(scan: Scan, ansi: bool, forced: Forced) -> ScanStages:
    """The partial stage of a scan and the trees over it."""
    head = scan.head
    partial = PartialStage(
        source=head.query.source,
        where=head.query.where,
        time=head.query.time,
        time_type=head.time_type,
        keys=head.query.keys,
        key_types=head.key_types,
        progressions=progressions(scan.windows),
        components=tuple(dict.fromkeys(c for b in scan.queries for c in sent(b.components))),
    )
    return ScanStages(partial, tuple(build_tree(tree, ansi, forced) for tree in scan.trees))


def build_tree(tree: Tree, ansi: bool, forced: Forced) -> TreeStages:
    """The final stage of a tree and the projections of its answers."""
    answers = answer_stages(tree)
    components = tuple(dict.fromkeys(c for stage in answers for c in stage.components))
    return TreeStages(final_stage(len(tree.queries[0].query.keys), tree.windows, components, ansi, forced), answers)


def sent(components: tuple[Component, ...]) -> tuple[Component, ...]:
    """The components with the row count first if any count, or nothing else, is asked: counts may refer to it."""
    if components and not any(c.monoid == "count" for c in components):
        return components
    return (ROWS, *(c for c in components if c != ROWS))


def answer_stages(tree: Tree) -> tuple[AnswerStage, ...]:
    """One stage for all queries of a tree that differ in nothing but name and window."""
    groups: dict[AnswerStage, list[Bound]] = {}
    for bound in tree.queries:
        groups.setdefault(projection(bound), []).append(bound)
    return tuple(
        AnswerStage(tuple((b.query.name, b.query.window) for b in group), p.calls, p.components, p.having, p.outputs)
        for p, group in groups.items()
    )


def projection(bound: Bound) -> AnswerStage:
    """What a query makes of its answers, without its name and window."""
    components = sent(bound.components)
    calls = tuple(
        call.sql.format(*(Reference(components.index(c), c) for c in call.components)) for call in bound.calls
    )
    return AnswerStage((), calls, components, bound.query.having, bound.query.outputs)


class Reference(SimpleNamespace):
    """A component's answer in a call's SQL: `c0`, or `c0_m2` for its field m2."""

    def __init__(self, index: int, component: Component):
        super().__init__(**{field: value_column(index, field) for field in component.fields})
        self.index = index

    def __format__(self, spec: str) -> str:
        return value_column(self.index, "value")


def value_column(index: int, field: str) -> str:
    """The column that holds a field of the component at `index`."""
    return f"c{index}_{field}"


def final_stage(keys: int, windows: tuple[Window, ...], components: tuple[Component, ...], ansi: bool,
                forced: Forced) -> FinalStage:
    """The final stage that folds these components over these windows, with an algorithm for each."""
    algorithms = tuple(
        tuple(assign(c, [r.length for r in grid.reaches], forced).card.name for c in components)
        for grid in grids(windows)
    )
    return FinalStage(keys, windows, components, ansi, algorithms, forced)


def narrowed(final: FinalStage, stage: AnswerStage) -> FinalStage:
    """The final stage that computes just what an answer stage reads, each component as the tree folds it.

    Fewer windows may lie on fewer grids; the algorithm of the longest may serve all of its grid.
    """
    windows = tuple(sorted({window for _, window in stage.queries}))
    chosen = {final.windows[r.window]: names for grid, names in zip(grids(final.windows), final.algorithms, strict=True)
              for r in grid.reaches}
    place = [final.components.index(c) for c in stage.components]
    algorithms = tuple(
        tuple(chosen[windows[grid.reaches[-1].window]][i] for i in place) for grid in grids(windows)
    )
    return FinalStage(final.keys, windows, stage.components, final.ansi, algorithms, final.forced)
