"""Ids: what each stage of a plan means, in few words that every plan would choose alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from functools import partial

from weft.aggregates.component import Component
from weft.model.graph import Node, digest
from weft.model.stages import AnswerStage, DeriveStage, FinalStage, JoinStage, PartialStage, ReadStage, WriteStage

Identity = Callable[[str, str], str]


def read_node(source: str) -> Node[ReadStage]:
    """The rows of a source."""
    return Node(digest("read", source), ReadStage(source))


def join_node(stage: JoinStage, reads: Sequence[str]) -> Node[JoinStage]:
    """The rows of a join, however they are made; `reads` are the nodes of its sources, each once."""
    return Node(digest("join", stage.join.digest, *reads), stage, tuple(reads))


def slices_node(stage: PartialStage, source: str, identity: Identity) -> Node[PartialStage]:
    """Slices of rows or of other slices, whatever their columns, which it holds.

    Where slices are marked, the order of predicates matters: marks are bits by their numbers.
    """
    form = partial(identity, stage.source)
    predicates = [form(predicate) if predicate else None for predicate in stage.predicates]
    cut = [sorted(stage.progressions), stage.unit, [form(text) for text in stage.order]]
    keys = [[form(key), kind] for key, kind in zip(stage.keys, stage.key_types, strict=True)]
    if isinstance(stage, DeriveStage):
        id = digest("derive", source, keys, cut)
    else:
        listed = predicates if stage.marks else sorted(predicates, key=str)
        id = digest("partial", source, form(stage.time), stage.time_type, listed, stage.sharing, keys, cut)
    return Node(id, stage, (source,), tuple(column.name for column in stage.columns))


def final_node(stage: FinalStage, id: str) -> Node[FinalStage]:
    """A tree over slices; it holds a fold for each of its windows and components."""
    windows = [list(astuple(window)) for window in stage.windows]
    folds = [digest(id, window, component_meaning(component)) for window in windows for component in stage.components]
    return Node(digest("final", id, windows, stage.ansi), stage, (id,), tuple(dict.fromkeys(folds)))


def component_meaning(component: Component) -> list:
    """What a component is, however its arguments are spelled."""
    return [component.monoid.name, component.meanings or component.columns, component.type, component.fields,
            component.parameters]


def answer_node(stage: AnswerStage, slices: PartialStage, id: str, identity: Identity) -> Node[AnswerStage]:
    """A projection of a tree's answers; it holds its queries."""
    texts = [identity(slices.source, predicate) if predicate else None for predicate in slices.predicates]
    components = [component_meaning(component) for component in stage.components]
    outputs = [list(astuple(output)) for output in stage.outputs]
    queries = tuple(digest(asked.name, list(astuple(asked.window)), texts[asked.predicate]) for asked in stage.queries)
    own = digest("answer", id, stage.calls, components, stage.having, outputs, stage.window)
    return Node(own, stage, (id,), queries)


def write_node(sink: str, answers: Sequence[str]) -> Node[WriteStage]:
    """What is written together."""
    return Node(digest("write", sink, *answers), WriteStage(sink), tuple(answers))
