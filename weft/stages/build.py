"""A plan as a graph of stages: slices, per tree a final stage, per projection of its answers a stage."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace

from weft.aggregates.component import (
    GUARD,
    MAX_BAG_VALUES,
    ROWS,
    Component,
    Lift,
    Lowered,
    add_row_count,
    guarded_columns,
    lifted_columns,
    meanings_of,
    merging,
)
from weft.aggregates.times import instant
from weft.final.choose import answered_by, read_by
from weft.final.fold.layout import algorithms_on, grids
from weft.model.graph import Node, StageGraph, digest
from weft.model.join import JoinMethod, plain_method
from weft.model.marks import UNMARKED
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.stages import (
    AnswerStage,
    AskedFold,
    AskedQuery,
    Column,
    DeriveStage,
    FinalStage,
    Forced,
    JoinStage,
    PartialStage,
    Stage,
)
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.optimize.marks import mark
from weft.optimize.predicates import share_predicates
from weft.slicing import find_slicer
from weft.stages.ids import answer_node, final_node, join_node, read_node, slices_node

# The canonical form of a text over a source.
Identity = Callable[[str, str], str]


NONE: Mapping[str, JoinMethod] = MappingProxyType({})


def as_written(source: str, text: str) -> str:
    """The text itself, for what is compared within one workload only."""
    return text


@dataclass(frozen=True)
class Terms:
    """What a plan's stages depend on beside its queries: whether overflow raises, which algorithms the user wants, how
    large bags may be, and the canonical forms of texts."""

    ansi: bool
    forced: Forced
    max_bag_values: int
    identity: Identity


def build(plan: SharedPlan, ansi: bool = True, max_bag_values: int = MAX_BAG_VALUES,
          identity: Identity = as_written, methods: Mapping[str, JoinMethod] = NONE) -> StageGraph:
    """The stages of a plan, each after those that it reads; `methods` say how joins are made, by their names."""
    terms = Terms(ansi, plan.forced, max_bag_values, identity)
    nodes = NodeList()
    queries = [scan.head.query for scan in plan.scans]
    reads = {name: nodes.add(read_node(name)) for name in dict.fromkeys(n for query in queries for n in query.inputs)}
    for join in dict.fromkeys(query.join for query in queries if query.join):
        stage = JoinStage(join, methods.get(join.name) or plain_method(join))
        reads[join.name] = nodes.add(join_node(stage, [reads[name] for name in join.sources]))
    for scan in plan.scans:
        add_scan(nodes, scan, reads[scan.head.query.source], None, terms)
    return StageGraph(tuple(nodes.made.values()))


class NodeList:
    """Nodes under ids of their own: what means the same and stands in a plan twice is numbered."""

    def __init__(self) -> None:
        self.made: dict[str, Node[Stage]] = {}

    def add(self, node: Node[Stage]) -> str:
        """Add a node, and give the id that it has here."""
        number, id = 1, node.id
        while id in self.made:
            number += 1
            id = f"{node.id}-{number}"
        self.made[id] = replace(node, id=id)
        return id


def add_scan(nodes: NodeList, scan: Scan, source: str, parent: PartialStage | None, terms: Terms) -> None:
    """The slices of a scan, the trees over them, and the scans that read them."""
    stage = partial_stage(scan, parent, terms.identity)
    slices = nodes.add(pin_node(slices_node(stage, source, terms.identity), scan, parent is not None))
    for tree in scan.trees:
        final, answers = build_tree(tree, stage, terms)
        folded = nodes.add(final_node(final, slices))
        for answer in answers:
            nodes.add(answer_node(answer, stage, folded, terms.identity))
    for child in scan.derived:
        add_scan(nodes, child, slices, stage, terms)


def pin_node(node: Node[PartialStage], scan: Scan, derived: bool) -> Node[PartialStage]:
    """Slices under the id that a stream's state knows them by, if they still mean that. Those derived from others lie
    in a stream as the others are cut, whatever their own cuts."""
    if scan.pins is None or not (derived or scan.pins.key.startswith(node.id)):
        return node
    return replace(node, id=scan.pins.key)


def partial_stage(scan: Scan, parent: PartialStage | None, identity: Identity) -> PartialStage:
    """What makes a scan's slices, of a source's rows or of its parent's slices; both number predicates alike."""
    source = scan.head.query.source
    components = tuple(dict.fromkeys(c for b in scan.served for c in add_row_count(b.components)))
    stage = (DeriveStage if parent else PartialStage)(
        source=source,
        predicates=parent.predicates if parent else scan.predicates,
        time=scan.head.query.time,
        time_type=scan.head.time_type,
        keys=scan.keys,
        key_names=unique_names("k", (digest(identity(source, key)) for key in scan.keys)),
        key_types=scan.key_types,
        progressions=find_slicer(scan.slicer).edges(scan.cut_for),
        components=components,
        columns=(),
        sharing=parent.sharing if parent else "",
        marking=parent.marking if parent else UNMARKED,
        order=order_of(scan),
        cut_by=scan.cut_by,
    )
    if parent:
        names = dict(zip(parent.keys, parent.key_names, strict=True))
        return replace(stage, columns=tuple(merged_columns(scan, stage, parent)),
                       key_names=tuple(names[key] for key in stage.keys))
    naming = ColumnNames(scan, components, identity)
    if stage.numbered:
        return order_columns(share_slices(scan, stage, naming), scan)
    return order_columns(replace(stage, columns=tuple(plain_columns(scan, components, naming))), scan)


def order_columns(stage: PartialStage, scan: Scan) -> PartialStage:
    """The stage with the columns that a stream's state knows in their order, before those that are new."""
    if scan.pins is None:
        return stage
    place = {name: i for i, name in enumerate(scan.pins.columns)}
    return replace(stage, columns=tuple(sorted(stage.columns, key=lambda c: place.get(c.name, len(place)))))


def unique_names(letter: str, digests: Iterable[str]) -> tuple[str, ...]:
    """Names of columns; of two that mean the same the second is numbered."""
    made: list[str] = []
    for found in digests:
        name = f"{letter}_{found}"
        made.append(name if name not in made else f"{name}_{len(made)}")
    return tuple(made)


class ColumnNames:
    """Names the columns of a scan's slices by what they hold and for which rows."""

    def __init__(self, scan: Scan, components: tuple[Component, ...], identity: Identity):
        self._source, self._identity = scan.head.query.source, identity
        self._meanings = meanings_of((ROWS, *components))
        self._taken: dict[str, tuple] = {}

    def __call__(self, plain: str, number: int | None, asking: Iterable[str | None]) -> str:
        """The name of a column over the rows that pass one of the predicates that ask for it."""
        asked = sorted(self._identity(self._source, predicate) for predicate in asking if predicate)
        name = f"p_{digest(self._meanings[plain], number is None, asked)}"
        while self._taken.setdefault(name, (plain, number)) != (plain, number):
            name += "_"
        return name


def order_of(scan: Scan) -> tuple[str, ...]:
    """By what the rows of a scan are numbered, time first; empty where its windows do not count rows."""
    head = scan.head
    return (instant(head.query.time, head.time_type)[0], *head.query.order) if scan.counts_rows else ()


def plain_columns(scan: Scan, components: tuple[Component, ...], naming: ColumnNames) -> Iterator[Column]:
    """The components' columns, each over the rows of the queries that ask for it: on others it might raise an error."""
    guarded, lifts = guarded_columns(components), lifted_columns(components)
    for column, asking in scan.wanted.items():
        every = None in asking or len(asking) == len(scan.predicates)
        either = None if every else " OR ".join(f"({predicate})" for predicate in asking)
        name = naming(column, None, () if every else asking)
        yield guarded_column(column, None, either, name, guarded, lifts)


def filtered_columns(scan: Scan, components: tuple[Component, ...], naming: ColumnNames) -> Iterator[Column]:
    """For each predicate the number of its rows, and the columns that its queries ask for over just its rows."""
    guarded, lifts = guarded_columns((ROWS, *components)), lifted_columns((ROWS, *components))
    asking = scan.wanted
    for number, predicate in enumerate(scan.predicates):
        for column in dict.fromkeys((ROWS.columns[0], *(c for c, asked in asking.items() if predicate in asked))):
            name = naming(column, number, (predicate,))
            yield guarded_column(column, number, predicate, name, guarded, lifts)


def guarded_column(column: str, number: int | None, condition: str | None, name: str, guarded: Mapping[str, str],
                   lifts: Mapping[str, Lift]) -> Column:
    """A column over the rows that meet a condition, or over all if there is none or nothing to guard."""
    sql = guarded[column].replace(GUARD, condition) if condition and column in guarded else column
    lift = lifts.get(column)
    return Column(column, number, sql, name, lift and lift.under(condition))


def merged_columns(scan: Scan, stage: PartialStage, parent: PartialStage) -> Iterator[Column]:
    """The parent's columns that the scan's queries ask for, merged if Spark can, else as they are."""
    place, asking = parent.place, scan.wanted
    if parent.sharing == "filters":  # each predicate counts its rows
        asking.setdefault(ROWS.columns[0], {}).update(dict.fromkeys(scan.predicates))
    merges = merging((ROWS, *stage.components)) or {plain: ("{0}", (plain,)) for plain in asking}
    for plain, number in place:
        if plain in asking and (number is None or parent.predicates[number] in asking[plain]):
            sql, columns = merges[plain]
            # What orders several max_by is one column: its merge names no value, and not all of them are there.
            read = (place.get((column, number)) for column in columns)
            yield Column(plain, number, sql.format(*read), place[plain, number])


def share_slices(scan: Scan, partial: PartialStage, naming: ColumnNames) -> PartialStage:
    """The stage of several predicates, as they share slices at least cost."""
    filtered = tuple(filtered_columns(scan, partial.components, naming))
    sharing = scan.sharing or share_predicates(scan)
    if sharing == "filters":
        return replace(partial, sharing=sharing, columns=filtered)
    plain = tuple(plain_columns(scan, partial.components, naming))
    return replace(partial, sharing=sharing, columns=plain, marking=mark(partial.predicates, scan.risky))


def build_tree(tree: Tree, partial: PartialStage, terms: Terms) -> tuple[FinalStage, tuple[AnswerStage, ...]]:
    """The final stage of a tree and the projections of its answers."""
    answers = answer_stages(tree, partial)
    components = tuple(dict.fromkeys(c for stage in answers for c in stage.components))
    final = final_stage(len(partial.keys), tree.windows, components, terms.ansi, terms.forced)
    every = tuple(range(len(tree.windows)))
    numbers = {asked.predicate for stage in answers for asked in stage.queries} if partial.numbered else ()
    predicates = tuple((number, every) for number in sorted(numbers))
    return replace(final, predicates=predicates, marks=partial.marks, tests=partial.marking.tests,
                   max_bag_values=terms.max_bag_values), answers


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


def answer_all(final: FinalStage, stages: Sequence[AnswerStage]) -> FinalStage:
    """The final stage that folds what any of some answer stages read, each window only for those that read it."""
    final = only_components(final, {c for stage in stages for c in stage.components})
    asked: dict[tuple[int, int], set[int]] = {}
    for stage in stages:
        components = [final.components.index(c) for c in stage.components]
        for query in stage.queries:
            asked.setdefault((query.predicate, final.windows.index(query.window)), set()).update(components)
    folds = tuple(AskedFold(*pair, tuple(sorted(asked[pair]))) for pair in sorted(asked))
    places = {number: tuple(fold.window for fold in folds if fold.predicate == number) for number, _ in asked}
    predicates = tuple(sorted(places.items())) if final.predicates else ()
    return replace(final, predicates=predicates, asked=folds)


def only_components(final: FinalStage, kept: Container[Component]) -> FinalStage:
    """The final stage of some of its components."""
    places = [i for i, component in enumerate(final.components) if component in kept]
    return replace(final, components=tuple(final.components[i] for i in places),
                   algorithms=tuple(tuple(names[i] for i in places) for names in final.algorithms))


def asked_windows(stage: AnswerStage, windows: Sequence[Window]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The predicates of a stage, each with the places of the windows that are asked under it."""
    found: dict[int, set[int]] = {}
    for asked in stage.queries:
        found.setdefault(asked.predicate, set()).add(windows.index(asked.window))
    return tuple((number, tuple(sorted(found[number]))) for number in sorted(found))
