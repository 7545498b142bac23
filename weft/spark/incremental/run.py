"""Incremental runs (002 Algorithm 1): slices are kept in caches, only new files are aggregated, answers read all.

Nothing counts before the catalog says so in one transaction: a run that is killed leaves folders that nobody reads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from weft.catalog.database import Catalog
from weft.catalog.slice_caches import (
    File,
    Generation,
    SliceCache,
    begin_generation,
    commit_anew,
    commit_increment,
    commit_merged,
    covered_files,
    forget_generation,
    nearest_cache,
    take_slice_cache,
    unfinished_generations,
)
from weft.errors import RunError
from weft.io.listing import listed_files, to_disk
from weft.model.graph import Node, StageGraph
from weft.model.stages import DeriveStage, PartialStage
from weft.spark.incremental.fingerprint import fingerprint, refuse_own_functions
from weft.spark.incremental.kept_slices import (
    Filling,
    KeptSlices,
    generations_after,
    is_damaged,
    join_last,
    why_derived_anew,
)
from weft.spark.incremental.report import SourceReport
from weft.spark.incremental.slice_cache import (
    EXACT,
    caching_stage,
    group_names,
    merge_slices,
    read_slices,
    remove,
    require_written,
    schema_of,
    starts_in,
    sweep,
    write_slices,
)
from weft.spark.incremental.snapshot import Snapshot
from weft.spark.incremental.widen import split_columns, widen
from weft.spark.incremental.worker_slices import (
    ScanIncrement,
    can_cut,
    can_derive,
    cut_files,
    merge_in_workers,
    read_together,
)
from weft.spark.session.jobs import run_jobs
from weft.spark.session.session import temporary_settings
from weft.spark.session.settings import is_on
from weft.spark.stages.partial import derive_slices, run_partial

Say = Callable[[str], None]
MOST = 8  # generations of a cache; of more the small ones are made one
SMALL = 1 << 23  # bytes that one task reads sooner than several bring together
TRIES = 5  # before a run gives up on a cache that others keep changing


class SliceReader:
    """Brings the kept slices of stages up to date for one run, and gives them; `settings` are those that change what
    SQL finds, `own` the functions that are not Spark's."""

    def __init__(self, spark: SparkSession, catalog: Catalog, sources: Mapping[str, Snapshot],
                 settings: Mapping[str, str], own: set[str], say: Say):
        self._spark, self.catalog, self._folder = spark, catalog, catalog.path.absolute().parent / "slices"
        self._sources, self._say, self._settings, self._own = sources, say, settings, own
        self._readings = {name: SourceReport(len(found.files)) for name, found in sources.items()}
        self._kept: dict[str, KeptSlices] = {}
        sweep(catalog, self._folder)

    @property
    def report(self) -> tuple[dict, ...]:
        """Per source: files, new files, seconds, and why it was read anew, if it was."""
        return tuple(reading.to_dict(name) for name, reading in self._readings.items())

    def __getitem__(self, id: str) -> KeptSlices:
        return self._kept[id]

    def bring_up(self, graph: StageGraph) -> None:
        """Bring the slices of all stages up to date: those of rows side by side, then those derived from them."""
        for node in graph.roots:
            refuse_own_functions(node.stage, self._own)
        with temporary_settings(self._spark, EXACT):
            for roots in read_together(graph.roots):
                self._cut_by_worker(graph, roots)
            waiting: Sequence[Node[PartialStage]] = [node for node in graph.slices if node.id not in self._kept]
            while waiting:
                ready = [node for node in waiting if not isinstance(node.stage, DeriveStage)
                         or node.inputs[0] in self._kept]
                self._fill_all(ready)
                waiting = [node for node in waiting if node.id not in self._kept]
            self._join_all()

    def _fill_all(self, nodes: Sequence[Node[PartialStage]]) -> None:
        """Bring the slices of some nodes up to date, side by side; what has the same cache one after another."""
        first: dict[int, Filling] = {}
        for node in nodes:
            filling = self._look(node)
            if first.setdefault(filling.cache.id, filling) is filling:
                self._tell(filling)
        found = run_jobs(self._spark, [partial(self._brought_up, filling) for filling in first.values()])
        done = {filling.node.id: kept for filling, kept in zip(first.values(), found, strict=True)}
        self._kept |= done
        if len(done) < len(nodes):
            self._fill_all([node for node in nodes if node.id not in done])

    def _cut_by_worker(self, graph: StageGraph, roots: Sequence[Node[PartialStage]]) -> None:
        """Let one worker make the slices of new files, if these are few and it can; else they are left to Spark."""
        found = [mine for root in roots if (mine := self._increments(graph, root))]
        files = {file.path: file for mine in found for file in mine[0].files}
        if not found or sum(file.size for file in files.values()) > SMALL:
            return
        if any(len(mine[0].files) != len(files) for mine in found):  # scans that lack different files
            return
        began, source = time.perf_counter(), roots[0].stage.source
        for mine in found:
            self._tell(mine[0])
        names = [[begin_generation(self.catalog, filling.cache) for filling in mine] for mine in found]
        scans = [ScanIncrement(tuple(mine), tuple(self._folder / name for name in each))
                 for mine, each in zip(found, names, strict=True)]
        try:
            rows = self._sources[source].rows_of(list(files.values()))
            ansi = is_on(self._spark, "spark.sql.ansi.enabled")
            counts = cut_files(rows, scans, self._folder, ansi, self._settings) or {}
            for scan in scans if counts else ():
                self._add_all(scan, counts)
        except PySparkException:  # Spark makes them, or raises its own error
            pass
        except Exception:
            self._discard(*chain(*names))
            raise
        self._discard(*chain(*names))
        self._readings[source].took(began, time.perf_counter())

    def _increments(self, graph: StageGraph, root: Node[PartialStage]) -> list[Filling]:
        """What adds new files to the slices of a scan and to those derived from them; nothing where more is to do."""
        first = self._look(root)
        if first.anew or first.widened or not first.files or not can_cut(first):
            return []
        before, found = {root.id: self._opened(first, first.cache)}, [first]
        for node in graph.slices:
            if isinstance(node.stage, DeriveStage) and node.inputs[0] in before:
                filling = self._look(node, parents=before)
                if not filling.files and not filling.anew and can_derive(first.stage, filling.stage):
                    before[node.id] = self._opened(filling, filling.cache)
                    found.append(filling)
        return found

    def _add_all(self, scan: ScanIncrement, counts: Mapping[Path, int]) -> None:
        """Let the new slices of a scan count, then those derived from them, as long as nobody else was first."""
        for filling, folder in zip(scan.fillings, scan.folders, strict=True):
            require_written(folder, counts[folder])
            made, derived = Generation(folder.name, to_disk(folder)), isinstance(filling.stage, DeriveStage)
            files = [self._kept[filling.node.inputs[0]].mark] if derived else filling.files
            if not derived:
                self._require_unchanged(filling.stage.source, files, made)
            cache = commit_increment(self.catalog, filling.cache, made, files, starts_in(folder))
            if cache is None:
                return
            self._put_down(replace(filling, files=files), derived)
            self._kept[filling.node.id] = self._counted(filling, cache)

    def _tell(self, filling: Filling) -> None:
        source, derived = filling.node.stage.source, isinstance(filling.stage, DeriveStage)
        if filling.widened:
            self._say(f"reading {len(filling.widened)} more columns of {source}")
        elif filling.files and not derived:
            self._say(f"reading {source} anew: {filling.anew}" if filling.anew
                      else f"reading {len(filling.files)} new files of {source}")

    def _brought_up(self, filling: Filling) -> KeptSlices:
        """The slices of a node, after others have changed its cache too if need be."""
        began, source = time.perf_counter(), filling.node.stage.source
        for _ in range(TRIES):
            cache = self._attempt(filling)
            if cache is not None:
                self._readings[source].took(began, time.perf_counter())
                return self._counted(filling, cache)
            filling = self._look(filling.node)
        raise RunError(f"other runs keep changing what is kept of source '{source}': run again after them.")

    def _attempt(self, filling: Filling) -> SliceCache | None:
        """The cache with all slices, or None where another process has changed it meanwhile."""
        try:
            return self._filled(filling)
        except PySparkException:
            if not filling.wider and not filling.widened:
                raise
        # The error may be one of a column that nobody asks for now.
        return self._filled(self._look(filling.node, wider=False))

    def _look(self, node: Node[PartialStage], wider: bool = True,
              parents: Mapping[str, KeptSlices] | None = None) -> Filling:
        """What brings the cache of a node up to date, a derived one to what it is derived from, among `parents`."""
        snapshot, derived = self._sources[node.stage.source], isinstance(node.stage, DeriveStage)
        meaning = fingerprint(node, snapshot.origin, snapshot.schema, self._settings)
        wanted = tuple(dict.fromkeys(column.sql for column in node.stage.columns))
        cache = take_slice_cache(self.catalog, meaning, wanted, wider and not derived)
        whole = caching_stage(node.stage, cache.columns)
        if derived:
            return self._look_at_slices(node, whole, meaning, cache, (parents or self._kept)[node.inputs[0]])
        found = None if cache.generations or not wider else self._look_beside(node, whole, meaning, cache)
        return found or self._look_at_files(node, whole, meaning, cache)

    def _look_beside(self, node: Node[PartialStage], whole: PartialStage, meaning: str,
                     cache: SliceCache) -> Filling | None:
        """What fills a new cache out of one that has some of its columns; None where there is none that serves."""
        snapshot, base = self._sources[node.stage.source], nearest_cache(self.catalog, meaning, cache.columns)
        split = None if base is None else split_columns(node.stage, base.columns)
        if base is None or split is None:
            return None
        kept, lacking = split
        have = covered_files(self.catalog, base)
        if self._why_anew(base, have, snapshot):
            return None

        def make() -> DataFrame:
            folders = [self._folder / name for name in base.ids]
            names = [*group_names(kept), *(column.name for column in kept.columns)]
            old = read_slices(self._spark, folders, schema_of(folders[0])).select(*names)
            new = [file for path, file in snapshot.files.items() if path not in have]
            if new:
                old = old.unionByName(run_partial(snapshot.rows_of(new), kept))
            return widen(old, kept, run_partial(snapshot.frame, lacking), lacking, cache.columns)

        return Filling(node, whole, meaning, cache, list(snapshot.files.values()), "", make,
                       tuple(column.sql for column in lacking.columns))

    def _look_at_files(self, node: Node[PartialStage], whole: PartialStage, meaning: str,
                       cache: SliceCache) -> Filling:
        """What brings a cache of a source's rows up to date."""
        snapshot, have = self._sources[node.stage.source], covered_files(self.catalog, cache)
        anew = self._why_anew(cache, have, snapshot)
        new = [file for path, file in snapshot.files.items() if anew or path not in have]
        return Filling(node, whole, meaning, cache, new, anew,
                       lambda: run_partial(in_one_task(snapshot.rows_of(new), (f.size for f in new)), whole))

    def _look_at_slices(self, node: Node[PartialStage], whole: PartialStage, meaning: str,
                        cache: SliceCache, parent: KeptSlices) -> Filling:
        """What brings a cache up to date that is derived from another one's slices."""
        assert isinstance(whole, DeriveStage)
        have = list(covered_files(self.catalog, cache).values())
        anew = why_derived_anew(cache, have, parent)
        new = parent.cache.generations if anew else generations_after(parent.cache, max(f.size for f in have))
        return Filling(node, whole, meaning, cache, [parent.mark] if new else [], anew, lambda: self._merged(
            derive_slices(in_one_task(parent.read(self._spark, new), (g.bytes for g in new)), whole), whole))

    def _merged(self, slices: DataFrame, stage: PartialStage) -> DataFrame:
        """Slices with those of a key and start made one, where Spark has left them to workers."""
        return merge_in_workers(slices, stage, is_on(self._spark, "spark.sql.ansi.enabled"))

    def _filled(self, filling: Filling) -> SliceCache | None:
        """The cache with slices of everything; None where others have changed it meanwhile."""
        cache, files = filling.cache, filling.files
        if not files and not filling.anew:
            return cache
        made = self._write(cache, filling.make())
        derived = isinstance(filling.stage, DeriveStage)
        if not derived:
            self._require_unchanged(filling.stage.source, files, made)
        if filling.anew or filling.widened:
            done = commit_anew(self.catalog, cache, made, files)
        else:
            done = commit_increment(self.catalog, cache, made, files, starts_in(self._folder / made.id))
        if done is None:  # others were first
            self._discard(made.id)
            return None
        self._put_down(filling, derived)
        return done

    def _put_down(self, filling: Filling, derived: bool) -> None:
        """Put what was done into the report."""
        reading, why = self._readings[filling.stage.source], [filling.anew] if filling.anew else []
        if derived:
            reading.derived_anew += why
        else:
            reading.new = max(reading.new, len(filling.files))
            reading.anew += why
            reading.widened += filling.widened

    def _counted(self, filling: Filling, cache: SliceCache) -> KeptSlices:
        """The slices of a cache that is up to date, put into the report if they are derived."""
        if isinstance(filling.stage, DeriveStage):
            self._readings[filling.stage.source].derived += 1
        return self._opened(filling, cache)

    def _opened(self, filling: Filling, cache: SliceCache) -> KeptSlices:
        """The slices of a cache as it is."""
        return KeptSlices(filling.node.stage, filling.meaning, cache, self._folder,
                          schema_of(self._folder / cache.ids[0]))

    def _why_anew(self, cache: SliceCache, have: Mapping[str, File], snapshot: Snapshot) -> str:
        """Why nothing that is kept can be used; empty where it can."""
        if not cache.generations:
            return "nothing is kept of these queries yet"
        for path, file in have.items():
            if path not in snapshot.files:
                return f"{path} is gone"
            if snapshot.files[path] != file:
                return f"{path} has changed"
        return "what was kept of it is damaged" if is_damaged(cache, self._folder) else ""

    def _join_all(self) -> None:
        """Make one of the small generations of caches that have many."""
        many = [kept for kept in self._kept.values() if join_last(kept.cache.generations, MOST)]
        caches = {kept.cache.id: kept for kept in many}
        for source in dict.fromkeys(kept.stage.source for kept in many):
            self._say(f"joining sets of kept slices of {source}")
        joined = dict(zip(caches, run_jobs(self._spark, [partial(self._joined, kept) for kept in caches.values()]),
                          strict=True))
        self._kept |= {id: replace(kept, cache=joined[kept.cache.id]) for id, kept in self._kept.items()
                       if kept.cache.id in joined}

    def _joined(self, kept: KeptSlices) -> SliceCache:
        """The cache with one generation for its small ones; slices of a key and start are merged where Spark can."""
        cache = kept.cache
        last = cache.generations[-join_last(cache.generations, MOST):]
        rows = in_one_task(read_slices(self._spark, [self._folder / g.id for g in last], kept.schema),
                           (g.bytes for g in last))
        try:
            stage = caching_stage(kept.stage, cache.columns)
            made = self._write(cache, self._merged(merge_slices(rows, stage), stage))
        except PySparkException:  # a sum on the way may not fit its type though the total does: the worker can add it
            made = self._write(cache, rows)
        done = commit_merged(self.catalog, cache, made, last)
        if done is None:  # others were first, and what they replaced is there for a while
            self._discard(made.id)
        return done or cache

    def _write(self, cache: SliceCache, rows: DataFrame) -> Generation:
        """Write slices as a generation that does not count yet."""
        name = begin_generation(self.catalog, cache)
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

    def _discard(self, *generations: str) -> None:
        """Remove those of some generations that do not count."""
        for name in (gone := unfinished_generations(self.catalog, generations)):
            remove(self._folder / name)
        forget_generation(self.catalog, gone)


def in_one_task(rows: DataFrame, sizes: Iterable[int]) -> DataFrame:
    """Rows of small files in one partition, which Spark aggregates without a shuffle."""
    return rows.coalesce(1) if sum(sizes) <= SMALL else rows
