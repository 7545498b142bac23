"""The sources of a loom, by name: opened, known to Spark's analyser, and listed anew before they are read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from weft.errors import PlanError, SourceError
from weft.io.arrivals import StreamInput, refuse_own
from weft.io.sources import Files, RowSource, spell_source
from weft.io.sources.open import describe_origin, open_source
from weft.spark.bind.check import Checker
from weft.spark.bind.listings import Listings
from weft.spark.bind.schema import schema_of
from weft.spark.session.connect import is_connect
from weft.spark.session.settings import is_on
from weft.sql import SourceSchema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, eq=False)
class Source:
    """What a user registered under a name: its columns, what its rows are read from, and how it is read as a stream."""

    name: str
    schema: SourceSchema
    origin: Any
    stream: StreamInput

    @property
    def files(self) -> Files | None:
        """The files that it reads, if a path was given."""
        return self.origin if isinstance(self.origin, Files) else None


class Sources:
    """All sources; `frames` are their rows, made anew where files come or go."""

    def __init__(self, spark: SparkSession, checker: Checker):
        self._spark, self._checker = spark, checker
        self._known: dict[str, Source] = {}
        self.frames: dict[str, DataFrame] = {}
        self._listings = Listings(spark, self.frames, checker.show)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def __getitem__(self, name: str) -> Source:
        return self._known[name]

    @property
    def schemas(self) -> dict[str, SourceSchema]:
        """What the SQL reader knows of each."""
        return {name: source.schema for name, source in self._known.items()}

    @property
    def files(self) -> dict[str, Files]:
        """The files of those that were given as paths."""
        return {name: source.files for name, source in self._known.items() if source.files}

    @property
    def origins(self) -> dict[str, RowSource]:
        """What reads those that are not a user's own DataFrame."""
        return self._listings.origins

    def open(self, name: str, data: DataFrame | RowSource | str | PathLike[str], time: str | None, format: str | None,
             options: Mapping[str, str] | None, schema: str | None,
             watermark: str | None) -> tuple[Source, DataFrame]:
        """A source and its rows, which `put` makes known; raises where it cannot be read or has no such event time."""
        if not NAME.fullmatch(name):
            raise SourceError(f"'{name}' cannot name a source: use letters, digits, '_', '-' and '.'.")
        self._checker.settings.check()
        origin = spell_source(name, data, format, options, schema)
        frame, arriving = open_source(self._spark, name, origin, schema)
        refuse_own(name, frame.columns)
        known = schema_of(name, frame, time, is_on(self._spark, "spark.sql.caseSensitive"))
        return Source(name, known, origin, StreamInput(name, arriving, watermark, describe_origin(origin))), frame

    def put(self, source: Source, frame: DataFrame) -> None:
        """Make a source known under its name, instead of one that has it already."""
        name = source.name
        if name in self._known:
            self._checker.forget(name)
        self._checker.register(name, frame)
        self._known[name], self.frames[name] = source, frame
        self._listings.add(name, source.origin)

    def refresh(self, names: Iterable[str]) -> None:
        """Let the sources read the files that are there now; raises for a stream, which has no end."""
        self._listings.refresh(names)

    def refresh_files(self, name: str) -> None:
        """Let a source read the files that are there now; a stream stays as it is."""
        if not self.frames[name].isStreaming:
            self.refresh([name])

    def parquet_files(self, name: str) -> list[str]:
        """The paths that a source reads, if all are Parquet files of the machine that this program runs on."""
        files = self._known[name].files
        here = files is not None and files.format == "parquet" and not is_connect(self._spark)
        return self._listings.local_paths(name) if here else []

    def require_same(self, sources: Iterable[Source]) -> None:
        """Raise where a source was replaced since a plan was made: its columns may be others."""
        for source in sources:
            if self._known.get(source.name) is not source:
                raise PlanError(f"source '{source.name}' was replaced since this plan was made: plan again.")
