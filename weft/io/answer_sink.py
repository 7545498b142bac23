"""What every sink is: facts that are data, and a class that takes the answers of a run or of a trigger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.errors import RunError

if TYPE_CHECKING:  # the facts are read where there is no Spark
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Columns:
    """Which columns a sink can hold: `types` it refuses, by Spark's names in JSON; whether names must be `unique`; and
    `signs` in a name that do not come back as they were written."""

    types: frozenset[str] = frozenset()
    unique: bool = False
    signs: str = ""


@dataclass(frozen=True)
class SinkFacts:
    """What a sink can do, read wherever its kind matters.

    `batch` says that `loom.run` may write to it, `streams` that `loom.start` may. It writes `exactly_once` where a
    trigger that comes again after a crash leaves no answer twice. `over_connect` says that its answers can be seen
    where the driver is a server; `observable`, that it reads all rows, in plans that hear Spark's observations: for
    any other a trigger's answers are cached and read once more. `needs_path` is a folder that has one folder a query,
    staged and marked by Weft. `options` are those that Spark writes with.
    """

    name: str
    batch: bool = True
    streams: bool = True
    exactly_once: bool = False
    over_connect: bool = True
    observable: bool = False
    needs_path: bool = False
    columns: Columns | None = Columns()
    options: tuple[tuple[str, str], ...] = ()


class Answers(Mapping[str, "DataFrame"]):
    """The answers of a run, or of one trigger: the rows of each query by its name."""

    # The column of `together` that names the query of a row.
    query_column: str

    @abstractmethod
    def together(self) -> Iterator[tuple[tuple[str, ...], DataFrame]]:
        """Queries of like columns, and the rows of them all, each with its query's name: fewer jobs than query by
        query."""

    @abstractmethod
    def compute(self) -> None:
        """Compute every answer and throw it away."""


class AnswerSink:
    """Where answers go: derive from it, give it `facts`, and pass an instance to `loom.run` or `loom.start`."""

    @property
    def facts(self) -> SinkFacts:
        """What it can do."""
        kind = type(self).__name__
        raise RunError(f"{kind} says nothing of what it can do: write facts = SinkFacts('its name') in the class.")

    def write(self, answers: Answers, trigger: int | None) -> None:
        """Take the answers: of a whole run, where `trigger` is None, or of the trigger of that number.

        A trigger may come again after a crash. A stream of several scans writes from as many threads, each of which
        counts its own triggers; a query is in one of them.
        """
        raise NotImplementedError

    def location(self) -> str | None:
        """Where it keeps answers, in words that are the same at each start: a checkpoint goes with one sink. None where
        it keeps none."""
        return None

    def output_path(self, query: str) -> str | None:
        """The file or folder that a query's answers are written to; None where they go elsewhere. Nothing runs if a
        source, the store, a checkpoint or dead letters lie there."""
        return None

    def require_free(self, queries: Sequence[str], stream: str | None) -> None:
        """Raise a `RunError` where writing these queries would replace anything but their own earlier answers; asked
        before anything runs. `stream` is the identity of a stream, the same at each start from its checkpoint, and None
        for a run."""


@dataclass(frozen=True)
class NamedSink:
    """A member of the family: what makes a sink of what the user says besides its name; None where it is no name that
    people write, but a value they pass."""

    facts: SinkFacts
    open: Callable[[Mapping[str, str]], AnswerSink] | None = None
