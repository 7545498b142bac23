"""Incremental runs (002 Algorithm 1): slices are kept in caches, only new files are aggregated, answers read all.

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
from weft.catalog.slice_caches import (
    File,
    Generation,
    SliceCache,
    begin_generation,
    commit_generation,
    covered_files,
    forget_generation,
    take_slice_cache,
)
from weft.errors import RunError
from weft.io.listing import listed_files, to_disk
from weft.model.graph import Node
from weft.model.stages import PartialStage
from weft.spark.incremental.fingerprint import answer_settings, fingerprint, own_functions, refuse_own_functions
from weft.spark.incremental.slice_cache import (
    caching_stage,
    merge_slices,
    read_slices,
    remove,
    select_slices,
    size_of,
    sweep,
    write_slices,
)
from weft.spark.incremental.snapshot import Snapshot
from weft.spark.stages.partial import run_partial

Say = Callable[[str], None]
MOST = 8  # generations of a cache; more are made one
TRIES = 5  # before a run gives up on a cache that others keep changing


@dataclass
class SourceReport:
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


class SliceReader:
    """Gives the slices of partial stages for one run, from what is kept and from files that are new since."""

    def __init__(self, spark: SparkSession, catalog: Catalog, sources: Mapping[str, Snapshot], say: Say):
        self._spark, self._catalog, self._folder = spark, catalog, catalog.path.absolute().parent / "slices"
        self._sources, self._say = sources, say
        self._settings, self._own = answer_settings(spark), own_functions(spark)
        self._readings = {name: SourceReport(len(found.files)) for name, found in sources.items()}
        sweep(catalog, self._folder)

    @property
    def report(self) -> tuple[dict, ...]:
        """Per source: files, new files, seconds, and why it was read anew, if it was."""
        return tuple(reading.to_dict(name) for name, reading in self._readings.items())

    def slices(self, node: Node[PartialStage]) -> DataFrame:
        """The slices of a stage over all files that the source has."""
        stage = node.stage
        refuse_own_functions(stage, self._own)
        began = time.perf_counter()
        for _ in range(TRIES):
            found = self._attempt(node)
            if found is not None:
                self._readings[stage.source].seconds += time.perf_counter() - began
                return found
        raise RunError(f"other runs keep changing what is kept of source '{stage.source}': run again after them.")

    def _attempt(self, node: Node[PartialStage], wider: bool = True) -> DataFrame | None:
        """The slices, or None where another process has changed the cache meanwhile."""
        stage, snapshot = node.stage, self._sources[node.stage.source]
        mark = fingerprint(node, snapshot.origin, snapshot.frame.schema.json(), self._settings)
        wanted = tuple(dict.fromkeys(column.sql for column in stage.columns))
        cache = take_slice_cache(self._catalog, mark, wanted, wider)
        whole = caching_stage(stage, cache.columns)
        try:
            filled = self._filled(cache, whole, snapshot)
        except PySparkException:
            if len(cache.columns) == len(wanted):
                raise
            return self._attempt(node, wider=False)  # the error may be one of a column that nobody asks for now
        if filled is None:
            return None
        schema = run_partial(snapshot.frame, whole).schema
        if len(filled.generations) > MOST:
            filled = self._compacted(filled, whole, schema)
        return select_slices(self._read(filled, schema), stage)

    def _filled(self, cache: SliceCache, stage: PartialStage, snapshot: Snapshot) -> SliceCache | None:
        """The cache with slices of every file of the source; None where others have changed it meanwhile."""
        have = covered_files(self._catalog, cache)
        anew = self._why_anew(cache, have, snapshot)
        new = [file for path, file in snapshot.files.items() if anew or path not in have]
        if not new and not anew:
            return cache
        self._say(f"reading {stage.source} anew: {anew}" if anew else f"reading {len(new)} new files of {stage.source}")
        made = self._write(cache, run_partial(snapshot.rows_of(new), stage))
        self._require_unchanged(stage.source, new, made)
        if not self._commit(cache, made, new, cache.ids if anew else ()):
            return None
        reading = self._readings[stage.source]
        reading.new = max(reading.new, len(new))
        reading.anew += [anew] if anew else []
        return replace(cache, generations=(*(() if anew else cache.generations), made))

    def _why_anew(self, cache: SliceCache, have: Mapping[str, File], snapshot: Snapshot) -> str:
        """Why nothing that is kept can be used; empty where it can."""
        if not cache.generations:
            return "nothing is kept of these queries yet"
        for path, file in have.items():
            if path not in snapshot.files:
                return f"{path} is gone"
            if snapshot.files[path] != file:
                return f"{path} has changed"
        whole = all(size_of(self._folder / g.id) == g.bytes for g in cache.generations)
        return "" if whole else "what was kept of it is damaged"

    def _compacted(self, cache: SliceCache, stage: PartialStage, schema: StructType) -> SliceCache:
        """The cache with one generation for all; slices of a key and start are merged where Spark can."""
        self._say(f"joining {len(cache.generations)} sets of kept slices of {stage.source}")
        rows = self._read(cache, schema)
        try:
            made = self._write(cache, merge_slices(rows, stage))
        except PySparkException:  # a sum on the way may not fit its type though the total does: the worker can add it
            made = self._write(cache, rows)
        if self._commit(cache, made, covered_files(self._catalog, cache).values(), cache.ids):
            return replace(cache, generations=(made,))
        return cache  # others were first, and what they replaced is there for a while

    def _write(self, cache: SliceCache, rows: DataFrame) -> Generation:
        """Write slices as a generation that does not count yet."""
        name = begin_generation(self._catalog, cache)
        try:
            write_slices(self._spark, rows, self._folder / name)
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

    def _commit(self, cache: SliceCache, made: Generation, files: Iterable[File], replaced: Collection[str]) -> bool:
        """Make a generation count; if others were first it goes away again."""
        done = commit_generation(self._catalog, cache, made, files, replaced)
        if not done:
            self._discard(made.id)
        return done

    def _discard(self, generation: str) -> None:
        remove(self._folder / generation)
        forget_generation(self._catalog, [generation])

    def _read(self, cache: SliceCache, schema: StructType) -> DataFrame:
        return read_slices(self._spark, [self._folder / name for name in cache.ids], schema)
