"""Incremental runs (002 Algorithm 1): slices are kept on shelves, only new files are aggregated, answers read all.

Nothing counts before the catalog says so in one transaction: a run that is killed leaves folders that nobody reads.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from weft.catalog.database import Catalog
from weft.catalog.kept import (
    LEASE,
    File,
    Generation,
    Shelf,
    begin,
    commit,
    covered,
    expired,
    forget,
    known,
    take_shelf,
)
from weft.errors import RunError, SourceError
from weft.io.formats import is_remote
from weft.io.listing import listed_files, spellings, to_disk
from weft.io.sources import Files
from weft.spark.fingerprint import fingerprint, own_functions, refuse_own_functions, settings_of
from weft.spark.partial import SLICE, by_key, columns, merging, run_partial
from weft.spark.session import set_for_a_while
from weft.stages.definition import Column, PartialStage

Say = Callable[[str], None]
MOST = 8  # generations of a shelf; more are made one
TRIES = 5  # before a run gives up on a shelf or a source that others keep changing
# A slice must come back as it went, whatever the session writes for itself.
EXACT = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
         "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}
STRICTLY = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false", "mergeSchema": "false",
            "datetimeRebaseMode": "CORRECTED", "recursiveFileLookup": "false"}


@dataclass(frozen=True)
class Snapshot:
    """A source as one run sees it: its files, looked at before Spark listed them, and the rows in them."""

    origin: Files
    frame: DataFrame
    files: Mapping[str, File]

    def rows_of(self, files: Collection[File]) -> DataFrame:
        """The rows of some of its files; Spark opens no other."""
        if len(files) == len(self.files):
            return self.frame
        path = self.frame.metadataColumn("_metadata")["file_path"]
        return self.frame.where(path.isin([text for file in files for text in spellings(file.path)]))


@dataclass
class Reading:
    """What a run read of a source: for the report."""

    files: int
    new: int = 0
    seconds: float = 0.0
    anew: list[str] = field(default_factory=list)

    def to_dict(self, source: str) -> dict:
        """The line of the report."""
        why = "; ".join(dict.fromkeys(self.anew)) or None
        return {"source": source, "files": self.files, "new_files": self.new, "seconds": round(self.seconds, 3),
                "anew": why}


class Keeper:
    """Gives the slices of partial stages for one run, from what is kept and from files that are new since."""

    def __init__(self, spark: SparkSession, catalog: Catalog, store: Path, sources: Mapping[str, Snapshot], say: Say):
        self._spark, self._catalog, self._folder = spark, catalog, store / "slices"
        self._sources, self._say = sources, say
        self._settings, self._own = settings_of(spark), own_functions(spark)
        self._readings = {name: Reading(len(found.files)) for name, found in sources.items()}
        sweep(catalog, self._folder)

    @property
    def report(self) -> tuple[dict, ...]:
        """Per source: files, new files, seconds, and why it was read anew, if it was."""
        return tuple(reading.to_dict(name) for name, reading in self._readings.items())

    def slices(self, stage: PartialStage) -> DataFrame:
        """The slices of a stage over all files that the source has."""
        refuse_own_functions(stage, self._own)
        began = time.perf_counter()
        for _ in range(TRIES):
            found = self._attempt(stage)
            if found is not None:
                self._readings[stage.source].seconds += time.perf_counter() - began
                return found
        raise RunError(f"other runs keep changing what is kept of source '{stage.source}': run again after them.")

    def _attempt(self, stage: PartialStage, wider: bool = True) -> DataFrame | None:
        """The slices, or None where another process has changed the shelf meanwhile."""
        snapshot = self._sources[stage.source]
        mark = fingerprint(stage, snapshot.origin, snapshot.frame.schema.json(), self._settings)
        wanted = tuple(dict.fromkeys(column.sql for column in stage.columns))
        shelf = take_shelf(self._catalog, mark, wanted, wider and stage.sharing != "shards")
        whole = filling(stage, shelf.columns)
        try:
            filled = self._filled(shelf, whole, snapshot)
        except PySparkException:
            if len(shelf.columns) == len(wanted):
                raise
            return self._attempt(stage, wider=False)  # the error may be one of a column that nobody asks for now
        if filled is None:
            return None
        schema = run_partial(snapshot.frame, whole).schema
        if len(filled.generations) > MOST:
            filled = self._compacted(filled, whole, schema)
        return chosen(self._read(filled, schema), filled.columns, stage)

    def _filled(self, shelf: Shelf, stage: PartialStage, snapshot: Snapshot) -> Shelf | None:
        """The shelf with slices of every file of the source; None where others have changed it meanwhile."""
        have = covered(self._catalog, shelf)
        anew = self._why_anew(shelf, have, snapshot)
        new = [file for path, file in snapshot.files.items() if anew or path not in have]
        if not new and not anew:
            return shelf
        self._say(f"reading {stage.source} anew: {anew}" if anew else f"reading {len(new)} new files of {stage.source}")
        made = self._write(shelf, run_partial(snapshot.rows_of(new), stage))
        self._require_unchanged(stage.source, new, made)
        if not self._commit(shelf, made, new, shelf.ids if anew else ()):
            return None
        reading = self._readings[stage.source]
        reading.new = max(reading.new, len(new))
        reading.anew += [anew] if anew else []
        return replace(shelf, generations=(*(() if anew else shelf.generations), made))

    def _why_anew(self, shelf: Shelf, have: Mapping[str, File], snapshot: Snapshot) -> str:
        """Why nothing that is kept can be used; empty where it can."""
        if not shelf.generations:
            return "nothing is kept of these queries yet"
        for path, file in have.items():
            if path not in snapshot.files:
                return f"{path} is gone"
            if snapshot.files[path] != file:
                return f"{path} has changed"
        whole = all(size_of(self._folder / g.id) == g.bytes for g in shelf.generations)
        return "" if whole else "what was kept of it is damaged"

    def _compacted(self, shelf: Shelf, stage: PartialStage, schema: StructType) -> Shelf:
        """The shelf with one generation for all; slices of a key and start are merged where Spark can."""
        self._say(f"joining {len(shelf.generations)} sets of kept slices of {stage.source}")
        rows = self._read(shelf, schema)
        try:
            made = self._write(shelf, merged(rows, stage))
        except PySparkException:  # a sum on the way may not fit its type though the total does: the worker can add it
            made = self._write(shelf, rows)
        if self._commit(shelf, made, covered(self._catalog, shelf).values(), shelf.ids):
            return replace(shelf, generations=(made,))
        return shelf  # others were first, and what they replaced is there for a while

    def _write(self, shelf: Shelf, rows: DataFrame) -> Generation:
        """Write slices as a generation that does not count yet."""
        name = begin(self._catalog, shelf)
        try:
            save(self._spark, rows, self._folder / name)
            return Generation(name, to_disk(self._folder / name))
        except Exception:
            self._discard(name)
            raise

    def _require_unchanged(self, source: str, files: Sequence[File], made: Generation) -> None:
        """Raise where a file is not what it was before it was read: nobody knows which of its rows were read."""
        try:
            after = listed_files(file.path for file in files)
        except RunError:
            self._discard(made.id)
            raise
        for file in files:
            if after[file.path] != file:
                self._discard(made.id)
                raise RunError(f"file {file.path} of source '{source}' changed while it was read: run again when it is "
                               "complete.")

    def _commit(self, shelf: Shelf, made: Generation, files: Iterable[File], replaced: Collection[str]) -> bool:
        """Make a generation count; if others were first it goes away again."""
        done = commit(self._catalog, shelf, made, files, replaced)
        if not done:
            self._discard(made.id)
        return done

    def _discard(self, generation: str) -> None:
        remove(self._folder / generation)
        forget(self._catalog, [generation])

    def _read(self, shelf: Shelf, schema: StructType) -> DataFrame:
        folders = [str(self._folder / name) for name in shelf.ids]
        return self._spark.read.schema(schema).options(**STRICTLY).parquet(*folders)


def require_store(store: Path | None) -> Path:
    """The store, or an error that says how to give one."""
    if store is None:
        raise RunError("an incremental run needs a folder to keep slices in: make the loom with Loom(store='.weft').")
    return store


def require_files(names: Iterable[str], files: Mapping[str, Files], store: Path) -> None:
    """Raise where nobody could tell which rows of a source are new, or where kept slices would be read as its rows."""
    for name in names:
        if name not in files:
            raise SourceError(f"source '{name}' is a DataFrame, and nobody knows which of its rows are new: give the "
                              "path of its files, or run without incremental.")
        if not is_remote(files[name].path) and read_as_rows(store, Path(files[name].path)):
            raise SourceError(f"the store '{store}' lies in source '{name}', which would read what is kept there as "
                              "rows: choose a folder elsewhere.")


def read_as_rows(store: Path, source: Path) -> bool:
    """Whether Spark would find the store among the files of a source; it passes over hidden folders."""
    return store.is_relative_to(source) and not any(p[0] in "._" for p in store.relative_to(source).parts)


def snapshot_of(spark: SparkSession, name: str, origin: Files, frame: DataFrame) -> Snapshot:
    """The source as it is now. Files are looked at before Spark lists them, so that one that grows is found out."""
    schema = frame.schema
    paths = origin.read(spark, schema).inputFiles()
    if set(paths) != set(frame.inputFiles()) and origin.read(spark).schema != schema:
        raise SourceError(f"source '{name}' has other columns since files came or went: make a new Loom.")
    for _ in range(TRIES):
        files = listed_files(paths)
        fresh = origin.read(spark, schema)
        paths = fresh.inputFiles()
        if set(paths) == set(files):
            return Snapshot(origin, fresh, files)
    raise RunError(f"the files of source '{name}' keep coming and going: run again when they stay.")


def filling(stage: PartialStage, texts: Sequence[str]) -> PartialStage:
    """The stage that makes the columns of a shelf, which may have more than are asked for, in their order."""
    asked = {column.sql: column for column in stage.columns}
    return replace(stage, columns=tuple(asked.get(sql, Column(sql, None, sql)) for sql in texts))


def chosen(slices: DataFrame, texts: Sequence[str], stage: PartialStage) -> DataFrame:
    """Kept slices as the stage itself would give them."""
    keys = [f"k{i}" for i in range(len(stage.keys) + (stage.sharing == "shards"))]
    places = (texts.index(column.sql) for column in stage.columns)
    found = slices.select(*keys, SLICE, *(F.col(f"p{place}").alias(f"p{i}") for i, place in enumerate(places)))
    return by_key(found, len(keys)) if stage.sharing == "shards" else found


def merged(slices: DataFrame, stage: PartialStage) -> DataFrame:
    """One slice of several of a key and start, where Spark can make it; the worker makes any other."""
    merges = merging(stage.components)
    if merges is None or not all(column.plain in merges for column in stage.columns):
        return slices
    keys = [f"k{i}" for i in range(len(stage.keys) + (stage.sharing == "shards"))]
    values = columns(merges[column.plain].format(f"p{i}") for i, column in enumerate(stage.columns))
    return slices.groupBy(*keys, SLICE).agg(*values)


def save(spark: SparkSession, rows: DataFrame, folder: Path) -> None:
    """Write slices to a new folder, and see that all of them are there to be read."""
    watch = Observation()
    counted = rows.observe(watch, F.count(F.lit(1)).alias("rows"))
    with set_for_a_while(spark, EXACT):
        counted.write.parquet(str(folder))
    sent, there = int(watch.get["rows"]), sum(pq.read_metadata(path).num_rows for path in folder.rglob("*.parquet"))
    if sent != there:
        raise RunError(f"Spark wrote {sent:,} slices to the store, and {there:,} are in '{folder}': the store must lie "
                       "where all of Spark's machines read and write the same files.")


def size_of(folder: Path) -> int:
    """The size of a generation's files."""
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def sweep(catalog: Catalog, folder: Path) -> None:
    """Remove what killed runs left and what was replaced, once nobody can be at it any more."""
    folders = list(folder.iterdir()) if folder.is_dir() else []
    gone = expired(catalog)
    for name in gone:
        remove(folder / name)
    if gone:
        forget(catalog, gone)
    # A record is made before its folder: one without belongs to a catalog that was lost.
    recorded = known(catalog)
    for path in folders:
        if path.name not in recorded and path.is_dir() and path.stat().st_mtime < time.time() - LEASE:
            remove(path)


def remove(folder: Path) -> None:
    """Remove a folder, if it is there."""
    shutil.rmtree(folder, ignore_errors=True)
