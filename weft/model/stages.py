"""The stages a plan becomes: what explain prints is what the runners execute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from weft.aggregates.component import MAX_BAG_VALUES, ROWS, Component, Lift, merging
from weft.model.join import Join, JoinMethod
from weft.model.marks import UNMARKED, Marking, Test
from weft.model.query import Output
from weft.model.window import ROW_COUNT, TIME, Window

# The algorithm forced for each function, a name or one from outside, as pairs so that a stage can hold them.
Forced = tuple[tuple[str, Any], ...]


class Column(NamedTuple):
    """A column of the slices: what it is, for which predicate if that matters, the SQL that computes it, its name, and
    what a row brings to it, if that can be told. The name is a digest of what it holds, so plans agree on it."""

    plain: str
    predicate: int | None
    sql: str
    name: str
    lift: Lift | None = None


@dataclass(frozen=True)
class ReadStage:
    """The rows of a source."""

    source: str


@dataclass(frozen=True)
class JoinStage:
    """The rows of a join of sources, made in one of the ways that all give the same rows."""

    join: Join
    method: JoinMethod

    @property
    def source(self) -> str:
        """Its name as a source."""
        return self.join.name


@dataclass(frozen=True)
class PartialStage:
    """One scan of a source: rows that pass a predicate, grouped by `keys` and slice, one column set per component.

    A slice starts at the latest point of any progression `(phase, period)` that is not after the row's time. `columns`
    are the components' columns as they are computed. Several predicates, None for that of all rows, are shared by
    "filters", each having columns of its own, or by "shards": rows that pass the same predicates make a slice of their
    own, whose marks say which those are. Where an `order` is given, rows are numbered by it within their keys, and
    slices cut at numbers instead of times. `key_names` name the keys' columns, by digests like those of others.
    `cut_by` says who makes slices of a stream's rows, "spark" or "workers", where that was chosen by what it costs.
    """

    source: str
    predicates: tuple[str | None, ...]
    time: str
    time_type: str
    keys: tuple[str, ...]
    key_names: tuple[str, ...]
    key_types: tuple[str, ...]
    progressions: tuple[tuple[int, int], ...]
    components: tuple[Component, ...]
    columns: tuple[Column, ...]
    sharing: str = ""
    marking: Marking = UNMARKED
    order: tuple[str, ...] = ()
    cut_by: str = ""

    @property
    def place(self) -> dict[tuple[str, int | None], str]:
        """The name of the column that holds something for a predicate, None for what is of no single one."""
        return {(column.plain, column.predicate): column.name for column in self.columns}

    @property
    def mark_names(self) -> tuple[str, ...]:
        """The columns of a slice's marks."""
        return tuple(f"m{i}" for i in range(self.marking.size))

    @property
    def merged(self) -> bool:
        """Whether Spark can make one slice of several, or a worker has to."""
        return merging(self.components) is not None

    @property
    def counts_rows(self) -> bool:
        """Whether slices are so many rows long, not so much time."""
        return bool(self.order)

    @property
    def unit(self) -> str:
        """What slices are cut of: TIME or ROW_COUNT."""
        return ROW_COUNT if self.counts_rows else TIME

    @property
    def numbered(self) -> bool:
        """Whether answers bear the number of their predicate."""
        return len(self.predicates) > 1

    @property
    def marks(self) -> int:
        """How many numbers it takes to mark a slice with the predicates that its rows pass."""
        return self.marking.size


@dataclass(frozen=True)
class DeriveStage(PartialStage):
    """Slices with fewer keys, and cut less finely, out of another stage's slices; its columns' SQL reads those."""


class AskedFold(NamedTuple):
    """What is asked of a window under a predicate: the places of the components."""

    predicate: int
    window: int
    components: tuple[int, ...]


@dataclass(frozen=True)
class FinalStage:
    """One tree: slices in, the answers of its windows out, as arrays along time per key and window.

    `algorithms[g][c]` names the algorithm that folds component c over the windows of grid g; `forced` is what the
    user asked for. Where `predicates` are given, by their numbers and the places of the windows asked under each,
    answers bear the predicate's number. Slices then have as many `marks`, of which each predicate, by its number, asks
    its `tests`; or without marks a count of rows and the components' columns for each predicate. A worker holds at most
    `max_bag_values` values of a column of bags. `asked` says what is folded of which window; without it, everything is.
    `first` has, in a stream whose queries have changed, the earliest start of windows that are whole, by the number of
    the predicate, 0 where there is one, and the place of the window.
    """

    keys: int
    windows: tuple[Window, ...]
    components: tuple[Component, ...]
    ansi: bool
    algorithms: tuple[tuple[str, ...], ...]
    forced: Forced = ()
    predicates: tuple[tuple[int, tuple[int, ...]], ...] = ()
    marks: int = 0
    tests: tuple[tuple[Test, ...], ...] = ()
    max_bag_values: int = MAX_BAG_VALUES
    asked: tuple[AskedFold, ...] = ()
    first: tuple[tuple[int, int, int], ...] = ()

    def windows_asking(self, component: int, predicate: int) -> frozenset[int]:
        """The places of the windows that ask for a component under a predicate."""
        if not self.asked:
            return frozenset(range(len(self.windows)))
        return self._asking.get((component, predicate), frozenset())

    @cached_property
    def _asking(self) -> dict[tuple[int, int], frozenset[int]]:
        found: dict[tuple[int, int], set[int]] = {}
        for predicate, window, components in self.asked:
            for component in components:
                found.setdefault((component, predicate), set()).add(window)
        return {key: frozenset(windows) for key, windows in found.items()}

    @property
    def sends_rows(self) -> bool:
        """Whether answers carry their number of rows."""
        return ROWS in self.components


class AskedQuery(NamedTuple):
    """A query of an answer stage: its name, its window and the number of its predicate."""

    name: str
    window: Window
    predicate: int


@dataclass(frozen=True)
class AnswerStage:
    """Queries that differ only in name, window and predicate: one projection of shared answers.

    `calls` are Spark SQL over the components' answers, and so is `window` where slices do not tell the window's times;
    `having` and `outputs` are over keys, calls and window.
    """

    queries: tuple[AskedQuery, ...]
    calls: tuple[str, ...]
    components: tuple[Component, ...]
    having: str | None
    outputs: tuple[Output, ...]
    window: str = ""


@dataclass(frozen=True)
class WriteStage:
    """What goes to a sink in one job, or in each trigger of one Spark query."""

    sink: str


Stage = ReadStage | JoinStage | PartialStage | FinalStage | AnswerStage | WriteStage
