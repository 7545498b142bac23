"""A plan as stages: per scan one partial stage, per tree a final stage and a stage per projection of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace

from weft.aggregates.component import (
    GUARD,
    MAX_BAG_VALUES,
    ROWS,
    Component,
    Lift,
    Lowered,
    columns_of,
    guarded_columns,
    lifted_columns,
    merging,
)
from weft.aggregates.times import instant
from weft.final.choose import answered_by, read_by
from weft.final.fold.layout import algorithms_on, grids
from weft.model.marks import UNMARKED
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.stages import AnswerStage, AskedQuery, Column, FinalStage, Forced, PartialStage
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.optimize.marks import mark
from weft.optimize.predicates import share_predicates
from weft.slicing import find_slicer


@dataclass(frozen=True)
class ScanStages:
    """The stages of one scan: a partial stage, the trees over it, and the scans derived from its slices."""

    partial: PartialStage
    trees: tuple[TreeStages, ...]
    derived: tuple[ScanStages, ...] = ()

    @property
    def nodes(self) -> tuple[ScanStages, ...]:
        """These stages and those of the scans derived from them, each before its own."""
        return (self, *(node for stages in self.derived for node in stages.nodes))


@dataclass(frozen=True)
class TreeStages:
    """The stages of one tree: a final stage and its projections."""

    final: FinalStage
    answers: tuple[AnswerStage, ...]


def build(plan: SharedPlan, ansi: bool = True, max_bag_values: int = MAX_BAG_VALUES) -> tuple[ScanStages, ...]:
    """The stages of every scan; `ansi` says whether overflow raises, `max_bag_values` how large bags may be."""
    return tuple(build_scan(scan, ansi, plan.forced, max_bag_values) for scan in plan.scans)


def build_scan(scan: Scan, ansi: bool, forced: Forced, max_bag_values: int,
               parent: PartialStage | None = None) -> ScanStages:
    """The partial stage of a scan, the trees over it, and the scans that read its slices."""
    partial = partial_stage(scan, parent)
    trees = tuple(bound_values(build_tree(tree, partial, ansi, forced), max_bag_values) for tree in scan.trees)
    derived = tuple(build_scan(child, ansi, forced, max_bag_values, partial) for child in scan.derived)
    return ScanStages(partial, trees, derived)


def bound_values(tree: TreeStages, max_bag_values: int) -> TreeStages:
    """The tree with a bound on how many values a worker holds."""
    return replace(tree, final=replace(tree.final, max_bag_values=max_bag_values))


def partial_stage(scan: Scan, parent: PartialStage | None) -> PartialStage:
    """What makes a scan's slices, of a source's rows or of its parent's slices; both number predicates alike."""
    components = tuple(dict.fromkeys(c for b in scan.served for c in add_row_count(b.components)))
    stage = PartialStage(
        source=scan.head.query.source,
        predicates=parent.predicates if parent else scan.predicates,
        time=scan.head.query.time,
        time_type=scan.head.time_type,
        keys=scan.keys,
        key_types=scan.key_types,
        progressions=find_slicer(scan.slicer).edges(scan.cut_for),
        components=components,
        columns=tuple(plain_columns(scan, components)),
        sharing=parent.sharing if parent else "",
        marking=parent.marking if parent else UNMARKED,
        parent=parent,
        order=order_of(scan),
    )
    if parent:
        return replace(stage, columns=tuple(merged_columns(scan, stage, parent)))
    return share_slices(scan, stage) if stage.numbered else stage


def order_of(scan: Scan) -> tuple[str, ...]:
    """By what the rows of a scan are numbered, time first; empty where its windows do not count rows."""
    head = scan.head
    return (instant(head.query.time, head.time_type)[0], *head.query.order) if scan.counts_rows else ()


def plain_columns(scan: Scan, components: tuple[Component, ...]) -> Iterator[Column]:
    """The components' columns, each over the rows of the queries that ask for it: on others it might raise an error."""
    guarded, lifts = guarded_columns(components), lifted_columns(components)
    for column, asking in wanted_columns(scan).items():
        every = None in asking or len(asking) == len(scan.predicates)
        either = None if every else " OR ".join(f"({predicate})" for predicate in asking)
        yield guarded_column(column, None, either, guarded, lifts)


def filtered_columns(scan: Scan, components: tuple[Component, ...]) -> Iterator[Column]:
    """For each predicate the number of its rows, and the columns that its queries ask for over just its rows."""
    guarded, lifts = guarded_columns((ROWS, *components)), lifted_columns((ROWS, *components))
    asking = wanted_columns(scan)
    for number, predicate in enumerate(scan.predicates):
        for column in dict.fromkeys((ROWS.columns[0], *(c for c, asked in asking.items() if predicate in asked))):
            yield guarded_column(column, number, predicate, guarded, lifts)


def guarded_column(column: str, number: int | None, condition: str | None, guarded: Mapping[str, str],
                   lifts: Mapping[str, Lift]) -> Column:
    """A column over the rows that meet a condition, or over all if there is none or nothing to guard."""
    sql = guarded[column].replace(GUARD, condition) if condition and column in guarded else column
    lift = lifts.get(column)
    return Column(column, number, sql, lift and Lift(lift.sql.replace(GUARD, condition or "true"), lift.counts))


def merged_columns(scan: Scan, stage: PartialStage, parent: PartialStage) -> Iterator[Column]:
    """The parent's columns that the scan's queries ask for, merged if Spark can, else as they are."""
    place = {(column.plain, column.predicate): f"p{i}" for i, column in enumerate(parent.columns)}
    asking = wanted_columns(scan)
    if parent.sharing == "filters":  # each predicate counts its rows
        asking.setdefault(ROWS.columns[0], {}).update(dict.fromkeys(scan.predicates))
    merges = merging((ROWS, *stage.components)) or {plain: ("{0}", (plain,)) for plain in asking}
    for plain, number in place:
        if plain in asking and (number is None or parent.predicates[number] in asking[plain]):
            sql, columns = merges[plain]
            # What orders several max_by is one column: its merge names no value, and not all of them are there.
            yield Column(plain, number, sql.format(*(place.get((column, number)) for column in columns)))


def wanted_columns(scan: Scan) -> dict[str, dict[str | None, None]]:
    """The columns that the scan's queries ask for, each with the predicates of those that do."""
    found: dict[str, dict[str | None, None]] = {}
    for bound in scan.served:
        for column in columns_of(add_row_count(bound.components)):
            found.setdefault(column, {})[bound.query.where] = None
    return found


def share_slices(scan: Scan, partial: PartialStage) -> PartialStage:
    """The stage of several predicates, as they share slices at least cost."""
    filtered = tuple(filtered_columns(scan, partial.components))
    sharing = share_predicates(len(filtered))
    if sharing == "filters":
        return replace(partial, sharing=sharing, columns=filtered)
    return replace(partial, sharing=sharing, marking=mark(partial.predicates, scan.risky))


def build_tree(tree: Tree, partial: PartialStage, ansi: bool, forced: Forced) -> TreeStages:
    """The final stage of a tree and the projections of its answers."""
    answers = answer_stages(tree, partial)
    components = tuple(dict.fromkeys(c for stage in answers for c in stage.components))
    final = final_stage(len(partial.keys), tree.windows, components, ansi, forced)
    every = tuple(range(len(tree.windows)))
    numbers = {asked.predicate for stage in answers for asked in stage.queries} if partial.numbered else ()
    predicates = tuple((number, every) for number in sorted(numbers))
    return TreeStages(replace(final, predicates=predicates, marks=partial.marks,
                              tests=partial.marking.tests), answers)


def add_row_count(components: tuple[Component, ...]) -> tuple[Component, ...]:
    """The components with the row count first if any count, or nothing else, is asked: counts may refer to it."""
    if components and not any(c.monoid == "count" for c in components):
        return components
    return (ROWS, *(c for c in components if c != ROWS))


def answer_stages(tree: Tree, partial: PartialStage) -> tuple[AnswerStage, ...]:
    """Stages for all queries of a tree that differ in nothing but name, window and predicate."""
    numbers = {predicate: number for number, predicate in enumerate(partial.predicates)}
    groups: dict[AnswerStage, list[AskedQuery]] = {}
    for bound in tree.queries:
        query = bound.query
        groups.setdefault(projection(bound), []).append(AskedQuery(query.name, query.window, numbers[query.where]))
    return tuple(replace(stage, queries=tuple(asked)) for stage, asked in groups.items())


def projection(bound: BoundQuery) -> AnswerStage:
    """What a query makes of its answers, without its name and window."""
    components = add_row_count(bound.components)
    calls = tuple(lower_over_answers(call, components) for call in bound.calls)
    window = lower_over_answers(bound.times, components) if bound.times else ""
    return AnswerStage((), calls, components, bound.query.having, bound.query.outputs, window)


def lower_over_answers(lowered: Lowered, components: tuple[Component, ...]) -> str:
    """Spark SQL of a lowered call over the answers of its components, which are among these."""
    return lowered.sql.format(*(Reference(components.index(c), c) for c in lowered.components))


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
        tuple(answered_by(c, [r.length for r in grid.reaches], forced) for c in components)
        for grid in grids(windows)
    )
    return FinalStage(keys, windows, components, ansi, algorithms, forced)


def for_stream(final: FinalStage) -> FinalStage:
    """The final stage as a stream folds it: by algorithms that read any window off unequal slices."""
    algorithms = tuple(
        tuple(read_by(c, [r.length for r in grid.reaches], final.forced) for c in final.components)
        for grid in grids(final.windows)
    )
    return replace(final, algorithms=algorithms)


def narrow_final(final: FinalStage, stage: AnswerStage) -> FinalStage:
    """The final stage that computes just what an answer stage reads, each component as the tree folds it."""
    windows = tuple(sorted({asked.window for asked in stage.queries}))
    place = [final.components.index(c) for c in stage.components]
    chosen = algorithms_on(windows, final.windows, final.algorithms)
    algorithms = tuple(tuple(names[i] for i in place) for names in chosen)
    predicates = asked_windows(stage, windows) if final.predicates else ()
    return replace(final, windows=windows, components=stage.components, algorithms=algorithms, predicates=predicates)


def asked_windows(stage: AnswerStage, windows: Sequence[Window]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The predicates of a stage, each with the places of the windows that are asked under it."""
    found: dict[int, set[int]] = {}
    for asked in stage.queries:
        found.setdefault(asked.predicate, set()).add(windows.index(asked.window))
    return tuple((number, tuple(sorted(found[number]))) for number in sorted(found))
