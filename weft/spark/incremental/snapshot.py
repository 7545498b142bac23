"""Snapshots: a source's files as one run sees them, and the rows of some of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from weft.catalog.slice_caches import File
from weft.catalog.store import Store
from weft.errors import RunError, SourceError
from weft.io.formats import is_remote
from weft.io.listing import listed_files, spellings
from weft.io.sources import Files
from weft.model.query import Query

TRIES = 5  # before a run gives up on a source whose files come and go


@dataclass(frozen=True)
class Snapshot:
    """A source as one run sees it: its files, looked at before Spark listed them, and the rows in them."""

    origin: Files
    frame: DataFrame
    files: Mapping[str, File]

    @cached_property
    def schema(self) -> str:
        """The columns in JSON."""
        return self.frame.schema.json()

    def rows_of(self, files: Collection[File]) -> DataFrame:
        """The rows of some of its files; Spark opens no other."""
        if len(files) == len(self.files):
            return self.frame
        path = self.frame.metadataColumn("_metadata")["file_path"]
        return self.frame.where(path.isin([text for file in files for text in spellings(file.path)]))


def require_store(store: Store | None) -> Store:
    """The store, or an error that says how to give one."""
    if store is None:
        raise RunError("an incremental run needs a folder to keep slices in: make the loom with Loom(store='.weft').")
    return store


def refuse_counting(queries: Iterable[Query]) -> None:
    """Raise where a query counts rows: a new row may come before those that are kept, and so give them new numbers."""
    names = [query.name for query in queries if query.window.counts_rows]
    if names:
        raise RunError(f"an incremental run cannot answer {', '.join(names)}: a window of ROWS counts rows, and new "
                       "ones may renumber those that are kept. Leave such queries out, or run without incremental.")


def refuse_joins(queries: Iterable[Query]) -> None:
    """Raise where a query joins sources: a new row may meet rows of any time before it."""
    names = [query.name for query in queries if query.join]
    if names:
        raise RunError(f"an incremental run cannot answer {', '.join(names)}: a join is made anew of all rows of its "
                       "sources, and nobody keeps it. Leave such queries out, or run without incremental.")


def require_files(names: Iterable[str], files: Mapping[str, Files], store: Path) -> None:
    """Raise where nobody could tell which rows of a source are new, or where kept slices would be read as its rows."""
    store = store.absolute()
    for name in names:
        if name not in files:
            raise SourceError(f"source '{name}' is no path of files, and nobody knows which of its rows are new: give "
                              "the path of its files, or run without incremental.")
        if not is_remote(files[name].path) and read_as_rows(store, Path(files[name].path)):
            raise SourceError(f"the store '{store}' lies in source '{name}', which would read what is kept there as "
                              "rows: choose a folder elsewhere.")


def read_as_rows(store: Path, source: Path) -> bool:
    """Whether Spark would find the store among the files of a source; it passes over hidden folders."""
    return store.is_relative_to(source) and not any(p[0] in "._" for p in store.relative_to(source).parts)


def snapshot_of(spark: SparkSession, name: str, origin: Files, before: DataFrame) -> Snapshot:
    """The source as it is now; `before` lists it as it was a moment ago. Files are looked at before Spark lists them,
    so that one that grows is found out."""
    paths = before.inputFiles()
    for _ in range(TRIES):
        files = listed_files(paths)
        fresh = origin.read(spark, before.schema)
        paths = fresh.inputFiles()
        if set(paths) == set(files):
            return Snapshot(origin, fresh, files)
    raise RunError(f"the files of source '{name}' keep coming and going: run again when they stay.")
