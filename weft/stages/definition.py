"""The stages a plan becomes: what explain prints is what the runners execute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from weft.aggregates.component import ROWS, Component, merging
from weft.final.base import Forced
from weft.model.query import Output
from weft.model.window import Window

MARK_BITS = 62  # of a bigint, without its sign


class Column(NamedTuple):
    """A column of the slices: what it is, for which predicate if that matters, and the SQL that computes it."""

    plain: str
    predicate: int | None
    sql: str


@dataclass(frozen=True)
class PartialStage:
    """One scan of a source: rows that pass a predicate, grouped by `keys` and slice, one column set per component.

    A slice starts at the latest point of any progression `(phase, period)` that is not after the row's time. `columns`
    are the components' columns as they are computed. Several predicates, None for that of all rows, are shared by
    "filters", each having columns of its own, or by "shards": rows that pass the same predicates make a slice of their
    own, whose marks say in bits which those are. A stage with a `parent` reads that stage's slices in place of rows.
    """

    source: str
    predicates: tuple[str | None, ...]
    time: str
    time_type: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    progressions: tuple[tuple[int, int], ...]
    components: tuple[Component, ...]
    columns: tuple[Column, ...]
    sharing: str = ""
    parent: PartialStage | None = None

    @property
    def merged(self) -> bool:
        """Whether Spark can make one slice of several, or a worker has to."""
        return merging(self.components) is not None

    @property
    def numbered(self) -> bool:
        """Whether answers bear the number of their predicate."""
        return len(self.predicates) > 1

    @property
    def marks(self) -> int:
        """How many numbers it takes to mark a slice with the predicates that its rows pass."""
        return -(-len(self.predicates) // MARK_BITS) if self.sharing == "shards" else 0


@dataclass(frozen=True)
class FinalStage:
    """One tree: slices in, the answers of its windows out, as arrays along time per key and window.

    `algorithms[g][c]` names the algorithm that folds component c over the windows of grid g; `forced` is what the
    user asked for. Where `predicates` are given, by their numbers and the places of the windows asked under each,
    answers bear the predicate's number. Slices then have as many `marks`, or without marks a count of rows and the
    components' columns for each predicate.
    """

    keys: int
    windows: tuple[Window, ...]
    components: tuple[Component, ...]
    ansi: bool
    algorithms: tuple[tuple[str, ...], ...]
    forced: Forced = ()
    predicates: tuple[tuple[int, tuple[int, ...]], ...] = ()
    marks: int = 0

    @property
    def sends_rows(self) -> bool:
        """Whether answers carry their number of rows."""
        return ROWS in self.components


class Asked(NamedTuple):
    """A query of an answer stage: its name, its window and the number of its predicate."""

    name: str
    window: Window
    predicate: int


@dataclass(frozen=True)
class AnswerStage:
    """Queries that differ only in name, window and predicate: one projection of shared answers.

    `calls` are Spark SQL over the components' answers; `having` and `outputs` over keys, calls and window.
    """

    queries: tuple[Asked, ...]
    calls: tuple[str, ...]
    components: tuple[Component, ...]
    having: str | None
    outputs: tuple[Output, ...]
