"""Running a plan as a batch: slices once a scan, answers for whoever asks, results as lazy DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.aggregates.component import Component
from weft.model.graph import Node, StageGraph
from weft.model.stages import AnswerStage, AskedQuery, DeriveStage, FinalStage, PartialStage
from weft.model.window import Window
from weft.spark.stages.answer import run_answer
from weft.spark.stages.final import run_final
from weft.spark.stages.partial import derive_slices
from weft.spark.stages.partitions import keep_rows
from weft.stages.build import answer_all, narrow_final, value_column

QUERY = "__weft_query"
# What gives the slices of a partial stage that reads a source, and what looks at slices on their way.
SlicesOf = Callable[[Node[PartialStage]], DataFrame]
Watching = Callable[[DataFrame, PartialStage], DataFrame]


@dataclass(frozen=True)
class TreeAnswers:
    """The answers of a tree, folded once for all that its projections read."""

    wire: DataFrame
    final: FinalStage


@dataclass(frozen=True)
class AnswerPart:
    """An answer stage and what gives the slices it reads, always the same frame; `above` are the slices that these are
    derived from, one by one. Of a `tree` it reads the answers that are folded for all of its projections."""

    read: Callable[[], DataFrame]
    partial: PartialStage
    final: FinalStage
    stage: AnswerStage
    above: tuple[DataFrame, ...] = ()
    tree: TreeAnswers | None = None

    @property
    def slices(self) -> DataFrame:
        """The slices it reads."""
        return self.read()

    def only(self, asked: AskedQuery) -> AnswerPart:
        """The part that answers one query alone."""
        return replace(self, stage=replace(self.stage, queries=(asked,)))

    def rows(self) -> DataFrame:
        """The rows of all its queries: `w` and `q` the numbers of window and predicate, then the outputs `o0 …`."""
        final = narrow_final(self.final, self.stage)
        wire = self.wire(final) if self.tree is None else select_answers(self.tree, self.partial, final, self.stage)
        return run_answer(wire, self.partial, final, self.stage)

    def wire(self, final: FinalStage) -> DataFrame:
        """The answers of a final stage as arrays."""
        return run_final(self.slices, self.partial, final)

    def result(self) -> DataFrame:
        """The rows of its only query under the names its SQL gives them."""
        return self.rows().drop("w", "q").toDF(*(o.name for o in self.stage.outputs))

    @property
    def one_each(self) -> bool:
        """Whether no two queries ask for the same answers."""
        return len({(asked.predicate, asked.window) for asked in self.stage.queries}) == len(self.stage.queries)

    def named(self) -> DataFrame:
        """The rows of all its queries with the name of the query, one copy for each query that wants them."""
        rows, outputs = self.rows(), [f"o{i}" for i in range(len(self.stage.outputs))]
        wanted: dict[tuple[int, Window], list[str]] = {}
        for asked in self.stage.queries:
            wanted.setdefault((asked.predicate, asked.window), []).append(asked.name)
        numbers, windows = sorted({number for number, _ in wanted}), sorted({window for _, window in wanted})
        names = [[wanted.get((number, window), []) for window in windows] for number in numbers]
        place = F.array_position(F.array(*map(F.lit, numbers)), F.col("q")).cast("int")
        if self.one_each:
            table = F.array(*(F.array(*(F.lit(n[0] if n else None) for n in row)) for row in names))
            query = F.element_at(F.element_at(table, place), F.col("w") + 1)
        else:
            table = F.array(*(F.array(*(string_array(n) for n in row)) for row in names))
            query = F.explode(F.element_at(F.element_at(table, place), F.col("w") + 1))
        return rows.select(query.alias(QUERY), *outputs).toDF(QUERY, *(o.name for o in self.stage.outputs))


def string_array(names: Sequence[str]) -> Column:
    """A literal array of strings, which may be empty."""
    return F.array(*map(F.lit, names)) if names else F.array().cast("array<string>")


class Results(Mapping[str, DataFrame]):
    """A Spark DataFrame per query, made when it is asked for; slices are computed once and kept until `close`."""

    def __init__(self, parts: Iterable[AnswerPart], report: tuple[dict, ...] = (), sources: tuple[dict, ...] = (),
                 check: Callable[[], None] = lambda: None):
        self._home = {asked.name: (part, asked) for part in parts for asked in part.stage.queries}
        self._kept: list[DataFrame] = []
        self.report, self.sources = report, sources
        self._check = check  # answers are made when they are asked for, and must mean what their slices meant

    @property
    def queries(self) -> tuple[str, ...]:
        """The names of the queries."""
        return tuple(self._home)

    def __getitem__(self, name: str) -> DataFrame:
        part, asked = self._home[name]
        self._check()
        for slices in (*part.above, part.slices):
            if not any(slices is kept for kept in self._kept):
                self._kept.append(keep_rows(slices))
        return part.only(asked).result()

    def __iter__(self) -> Iterator[str]:
        return iter(self._home)

    def __len__(self) -> int:
        return len(self._home)

    def close(self) -> None:
        """Let go of the slices."""
        for slices in self._kept:
            slices.unpersist()
        self._kept.clear()

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def leave_unobserved(slices: DataFrame, stage: PartialStage) -> DataFrame:
    """The slices as they are."""
    return slices


def build_parts(graph: StageGraph, slices_of: SlicesOf,
                watch: Watching = leave_unobserved) -> dict[str, AnswerPart]:
    """Every answer stage over its slices, by its id; `watch` may put something between slices and their readers."""
    slices: dict[str, DataFrame] = {}
    for node in graph.slices:
        found = slices_of(node) if not isinstance(node.stage, DeriveStage) else derive_slices(
            slices[node.inputs[0]], node.stage)
        slices[node.id] = watch(found, node.stage)
    return {node.id: build_part(graph, node, slices) for node in graph.of(AnswerStage)}


def build_part(graph: StageGraph, node: Node[AnswerStage], slices: Mapping[str, DataFrame]) -> AnswerPart:
    """An answer stage over its slices."""
    read, final = graph.slices_of(node), graph[node.inputs[0]].stage
    assert isinstance(final, FinalStage)
    above = tuple(slices[other.id] for other in graph.above(read))
    return AnswerPart(lambda: slices[read.id], read.stage, final, node.stage, above)


def share_answers(graph: StageGraph, parts: Mapping[str, AnswerPart]) -> dict[str, AnswerPart]:
    """The parts, those of a tree of several projections over answers that are folded once for all of them."""
    made = dict(parts)
    for node in graph.of(FinalStage):
        answers = [answer for answer in graph.answers(node.id) if answer.id in parts]
        if len(answers) > 1:
            first = parts[answers[0].id]
            final = answer_all(first.final, [answer.stage for answer in answers])
            tree = TreeAnswers(run_final(first.slices, first.partial, final), final)
            made |= {answer.id: replace(parts[answer.id], tree=tree) for answer in answers}
    return made


def select_answers(tree: TreeAnswers, partial: PartialStage, final: FinalStage, stage: AnswerStage) -> DataFrame:
    """The answers of a tree that a projection reads, as the final stage made for it alone would send them."""
    place = {window: i for i, window in enumerate(tree.final.windows)}
    pairs = sorted({(asked.predicate, place[asked.window]) for asked in stage.queries})
    number = f"k{len(partial.keys)} * {len(place)} + w" if partial.numbered else "w"
    mine = ", ".join(str(q * len(place) + w if partial.numbered else w) for q, w in pairs)
    sent = [f"k{i}" for i in range(len(partial.keys) + partial.numbered)]
    window = ", ".join(str(final.windows.index(w) if w in final.windows else -1) for w in tree.final.windows)
    values = [f"{name} AS {alias}" for i, component in enumerate(final.components)
              for name, alias in zip(sent_columns(tree.final.components.index(component), component),
                                     sent_columns(i, component), strict=True)]
    return tree.wire.where(f"{number} IN ({mine})").selectExpr(
        f"get(array({window}), w) AS w", *sent, "first", "slide", "range", "starts", *values)


def sent_columns(index: int, component: Component) -> list[str]:
    """The columns of the wire that hold a component's answers."""
    names = [value_column(index, field) for field in component.fields]
    return [*names, value_column(index, "mark")] if component.nullable else names
