"""What every source is: facts that are data, and a class that gives rows as a table or as a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, TypeAlias

from weft.errors import SourceError

if TYPE_CHECKING:  # the facts are read where there is no Spark
    from pyspark.sql import DataFrame, SparkSession

# The past of a source: a table, or a path of files like the source's; or either by the source's name.
Table: TypeAlias = "DataFrame | str | PathLike[str]"
History: TypeAlias = "Table | Mapping[str, Table]"


@dataclass(frozen=True)
class SourceFacts:
    """What a source can do, read wherever its kind matters.

    `batch` says that there is an end to read to; `streams`, that rows can be read as they come; `exactly_once`, that
    what was read can be read again, so that a crash loses nothing. A path is of `files` where Weft lists and watches
    them, and their `suffixes` tell the format; `text` may hold records that do not fit the columns. `options` are
    those that a source is read with unless the user gives others.
    """

    name: str
    batch: bool = True
    streams: bool = True
    exactly_once: bool = True
    files: bool = False
    text: bool = False
    needs_schema: bool = False
    suffixes: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()


class RowSource:
    """A source of rows: derive from it, give it `facts`, and pass an instance to `loom.source`."""

    @property
    def facts(self) -> SourceFacts:
        """What it can do."""
        kind = type(self).__name__
        raise SourceError(f"{kind} says nothing of what it can do: write facts = SourceFacts('its name') in the class.")

    def read(self, spark: SparkSession) -> DataFrame:
        """The rows that are there now; called where the facts say `batch`, once a run."""
        raise NotImplementedError

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The rows as they come, with the columns of `read`; called where the facts say `streams`."""
        raise NotImplementedError

    @property
    def keeps_past(self) -> bool:
        """Whether a stream that starts now reads the rows that were there before, as far as the source still has them.
        """
        return self.facts.batch

    def row_number(self) -> tuple[str, ...]:
        """Hidden columns that tell one row from all others whenever it is read; none where only its contents do."""
        return ()

    def read_numbered(self, spark: SparkSession, stream: bool) -> DataFrame | None:
        """The rows, or those of the stream, with a hash of each one's place beside them; None where its columns or
        `row_number` must tell rows apart."""
        return None

    def location(self) -> str | None:
        """Where the rows lie, in words that are the same at each start: a checkpoint is of one place. None where that
        is not known."""
        return None

    def input_path(self) -> str | None:
        """The file or folder that it reads, so that nothing is written there; None where it reads none."""
        return None


@dataclass(frozen=True)
class Spelling:
    """A source as the user spells it: its name, a path, topic or host, and what is said besides."""

    name: str
    place: str
    options: Mapping[str, str] = field(default_factory=dict)
    schema: str | None = None


@dataclass(frozen=True)
class NamedSource:
    """A member of the family: what makes a source of a spelling whose format is its name."""

    facts: SourceFacts
    open: Callable[[Spelling], RowSource]
