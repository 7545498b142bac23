"""Incremental runs (002 Algorithm 1): slices are kept on shelves, only new files are aggregated, answers read all.

Nothing counts before the catalog says so in one transaction: a run that is killed leaves folders that nobody reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from weft.catalog.database import Catalog
from weft.catalog.kept import File, Generation, Shelf, begin, commit, covered, forget, take_shelf
from weft.errors import RunError
from weft.io.listing import listed_files, to_disk
from weft.spark.incremental.fingerprint import fingerprint, own_functions, refuse_own_functions, settings_of
from weft.spark.stages.partial import run_partial
from weft.spark.incremental.slice_cache import chosen, filling, load, merged, remove, save, size_of, sweep
from weft.spark.incremental.snapshot import Snapshot
from weft.model.stages import PartialStage

Say = Callable[[str], None]
MOST = 8  # generations of a shelf; more are made one
TRIES = 5  # before a run gives up on a shelf that others keep changing


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

    def __init__(self, spark: SparkSession, catalog: Catalog, sources: Mapping[str, Snapshot], say: Say):
        self._spark, self._catalog, self._folder = spark, catalog, catalog.path.absolute().parent / "slices"
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
        shelf = take_shelf(self._catalog, mark, wanted, wider)
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
        return load(self._spark, [self._folder / name for name in shelf.ids], schema)
