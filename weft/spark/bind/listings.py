"""Listings: a run reads the files that are there when it runs, though a DataFrame keeps the list it was made with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from os.path import dirname, exists
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from weft.catalog.slice_caches import File
from weft.errors import SourceError
from weft.io.listing import listed_files, path_after
from weft.io.sources import Files, RowSource
from weft.io.sources.open import read_rows
from weft.spark.session.settings import is_on

# A file that was changed less than so many nanoseconds ago may be changed again within the same tick of its clock.
TICK = 2_000_000_000
# Spark reads the columns of Parquet files from the first of them, unless it merges those of all, or one of these is
# there, which are asked first.
MERGING, SUMMARIES = "spark.sql.parquet.mergeSchema", ("_common_metadata", "_metadata")


class Listings:
    """The frames of sources, made anew where their files are others than before; `show` is told of each."""

    def __init__(self, spark: SparkSession, frames: dict[str, DataFrame], show: Callable[[str, DataFrame], None]):
        self._spark, self._frames, self._show = spark, frames, show
        self.origins: dict[str, RowSource] = {}
        self._seen: dict[str, dict[str, File] | None] = {}
        self._told: dict[str, File | None] = {}  # the file that told a source's columns, where one alone does

    def add(self, name: str, origin: Any) -> None:
        """Take note of what a source's frame was made of; a user's own DataFrame stays as it is."""
        self.forget(name)
        if isinstance(origin, Files):
            paths = self._frames[name].inputFiles()
            self._seen[name], self._told[name] = file_stamps(paths), telling_file(self._spark, origin, paths)
        if isinstance(origin, RowSource):
            self.origins[name] = origin

    def forget(self, name: str) -> None:
        """Know nothing of a source any more."""
        self._seen.pop(name, None)
        self.origins.pop(name, None)

    def refresh(self, names: Iterable[str]) -> None:
        """Make the frames of sources read what is there now, or raise where that has other columns."""
        for name in dict.fromkeys(names):
            if self._frames[name].isStreaming:
                raise SourceError(f"source '{name}' is a stream, which has no end to run to: use loom.start.")
            origin = self.origins.get(name)
            if isinstance(origin, Files):
                self._list(name, origin)
            elif origin is not None:
                fresh = read_rows(self._spark, name, origin)
                require_schema(name, self._frames[name].schema, fresh.schema)
                self._replace(name, fresh)

    def local_paths(self, name: str) -> list[str]:
        """The files that a frame reads, if all are on this machine."""
        uris = list(self._seen.get(name) or self._frames[name].inputFiles())
        return [path_after(uri) for uri in uris] if is_local(uris) else []

    def _list(self, name: str, origin: Files) -> None:
        before = self._frames[name]
        fresh = self._read(name, origin, before.schema)
        paths = fresh.inputFiles()
        now = file_stamps(paths)
        if now is not None and now == self._seen[name]:
            return
        telling = telling_file(self._spark, origin, paths)
        known = telling is not None and telling == self._told[name]
        if not known and not origin.declared and (set(paths) != set(before.inputFiles()) or is_local(paths)):
            require_schema(name, before.schema, origin.read(self._spark).schema)
            self._told[name] = telling
        self._seen[name] = now
        self._replace(name, fresh)

    def _read(self, name: str, origin: Files, schema: StructType) -> DataFrame:
        """The files that are there now; a folder's name may be no value of its column's type any more."""
        try:
            return origin.read(self._spark, schema)
        except SourceError:
            if not origin.declared:
                require_schema(name, schema, origin.read(self._spark).schema)
            raise

    def _replace(self, name: str, frame: DataFrame) -> None:
        self._frames[name] = frame
        self._show(name, frame)


def file_stamps(uris: Iterable[str]) -> dict[str, File] | None:
    """Size and time of local files; None where that cannot tell whether they change: elsewhere, or just changed."""
    found = list(uris)
    if not is_local(found):
        return None
    files = listed_files(found)
    return None if any(file.modified > time.time_ns() - TICK for file in files.values()) else files


def telling_file(spark: SparkSession, origin: Files, paths: Sequence[str]) -> File | None:
    """The file whose footer tells Spark the columns of Parquet files, the first by name; None where others may count
    too, folders or summaries for instance, or where it has just changed."""
    merged = any(name.lower() == "mergeschema" for name, _ in origin.options) or is_on(spark, MERGING)
    if origin.format != "parquet" or merged or not paths or not is_local(paths):
        return None
    if any("%" in path or "=" in path for path in paths):
        return None
    folders = {dirname(path_after(path)) for path in paths}
    if any(exists(f"{folder}/{name}") for folder in folders for name in SUMMARIES):
        return None
    first = min(paths)
    return (file_stamps([first]) or {}).get(first)


def is_local(uris: Iterable[str]) -> bool:
    """Whether all files are on this machine."""
    return all(uri.startswith("file:") for uri in uris)


def require_schema(name: str, before: StructType, now: StructType) -> None:
    """Raise where files that came or changed since a source was added have given it other columns."""
    if before != now:
        raise SourceError(f"source '{name}' has other columns since files came, went or changed: "
                          f"{schema_difference(before, now)}. Make a new Loom, or give the source its `schema`.")


def schema_difference(before: StructType, now: StructType) -> str:
    """How the columns of a source differ, told of one of them."""
    old, new = ({field.name: field.dataType.simpleString() for field in kind.fields} for kind in (before, now))
    for column in [*old, *new]:
        if column not in new:
            return f"'{column}' is gone"
        if column not in old:
            return f"'{column}' is new"
        if old[column] != new[column]:
            return f"'{column}' was {old[column]} and is {new[column]}"
    return "they come in another order"
