"""A refresh: rows in a folder of Parquet brought up to date, the touched buckets of each query and nothing else.

Nothing is in place before all of it is written. Each query's folder is then swapped with one that has the new files and
links to all others; its mark says of which slices its rows are, so each query is up to date, or not yet, by itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os.path import basename
from shutil import rmtree

from pyarrow import fs
from pyspark.sql import Row, SparkSession

from weft.errors import RunError
from weft.final.outputs.files import FileFormat
from weft.final.project import Projection
from weft.io.answer_sink import AnswerSink
from weft.io.files import open_filesystem
from weft.io.folders import hold_if_possible
from weft.io.sinks import FolderSink, Receiver
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage
from weft.spark.batch.run import AnswerPart, share_answers
from weft.spark.incremental.run import SliceReader
from weft.spark.refresh.changes import OUTBOX, ChangeFeed, is_as_told, require_told, result_paths
from weft.spark.refresh.folders import describe, is_changed, link_unchanged, remove_others
from weft.spark.refresh.jobs import BucketJob, plan_bucket_jobs, run_from_files
from weft.spark.refresh.kept_answers import KeptAnswers, folder_facts, read_answers
from weft.spark.refresh.seen import as_seen, read_seen, write_seen
from weft.spark.refresh.updates import Update, UpdatePlanner
from weft.spark.session.jobs import run_jobs
from weft.spark.session.workers import count_cores
from weft.spark.write.answers import Progress, query_names
from weft.spark.write.owned import read_mark
from weft.spark.write.spares import Spares
from weft.spark.write.staging import Staging, staged
from weft.spark.write.worker_files import codec, file_format, held_types, times_written
from weft.spark.write.worker_jobs import compile_answers, failed_projections, fits
from weft.spark.write.write import SinkRun, cached_slices, translate_errors, write_results, write_spark_files
from weft.stages.writes import add_writes

Parts = Mapping[str, AnswerPart]
LEFT = "only Spark can make its rows"


def refresh_results(spark: SparkSession, graph: StageGraph, reader: SliceReader, parts: Parts, sink: AnswerSink,
                    progress: Progress, changes: str | Receiver | None = None) -> tuple[dict, ...]:
    """Bring every query's rows in the sink up to date; the report says what was written of each, and why all if so."""
    types = held_types(spark, sink) if isinstance(sink, FolderSink) else None
    if types is None or not isinstance(sink, FolderSink):
        why = f"rows in {sink.location() or sink.facts.name} cannot be replaced in part"
        if changes is not None:
            raise RunError(f"{why}, so nobody knows which have changed: give a folder of Parquet on this machine as "
                           "the sink, or leave changes out.")
        return tuple({**line, "anew": why} for line in write_results(spark, graph, parts, sink, progress))
    nodes = [node for node in graph.of(AnswerStage) if node.id in parts]
    made = {node.id: projection for node in nodes if fits(node.stage, types)
            and (projection := compile_answers(parts[node.id], node))}
    files, root = open_filesystem(sink.path)
    try:
        files.create_dir(root, recursive=True)
        with translate_errors(), hold_if_possible(root):
            feed = None if changes is None else open_feed(spark, changes, root)
            with staged(files, root) as staging:
                report = Refresh(spark, graph, reader, parts, sink, progress, staging, feed).run(made)
            if feed:  # rows are up to date, whatever a function does with their changes
                feed.deliver(query_names(list(parts.values())))
            return report
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error


def open_feed(spark: SparkSession, changes: str | Receiver, root: str) -> ChangeFeed:
    """The change feed into a folder, or to a function by way of a folder below the sink."""
    return ChangeFeed(spark, changes) if isinstance(changes, str) else ChangeFeed(spark, f"{root}/{OUTBOX}", changes)


class Refresh:
    """One refresh of a folder on its way."""

    def __init__(self, spark: SparkSession, graph: StageGraph, reader: SliceReader, parts: Parts, sink: FolderSink,
                 progress: Progress, staging: Staging, feed: ChangeFeed | None = None):
        self.spark, self.graph, self.reader, self.parts, self.sink = spark, graph, reader, parts, sink
        self.progress, self.staging, self.feed = progress, staging, feed
        self.cores = count_cores(str(spark.conf.get("spark.master")))
        self.seconds: dict[str, float] = {}
        self.rows: dict[str, int] = {}
        self.seen, self.spares = read_seen(staging.files, staging.root), Spares(staging.root)

    @property
    def files(self) -> fs.FileSystem:
        """The sink's file system."""
        return self.staging.files

    def run(self, projections: Mapping[str, Projection]) -> tuple[dict, ...]:
        """Make what has changed of the answer stages that workers project, all of the others by Spark, and publish it.
        """
        nodes = [node for node in self.graph.of(AnswerStage) if node.id in projections]
        written = (codec(self.spark), times_written(self.spark))
        if self.feed:
            require_told(part.stage for part in self.parts.values())
            self.feed.settle(self.files, self.staging.place, query_names(list(self.parts.values())))
        planner = UpdatePlanner(self.reader.catalog, self._kept, self.staging.root, written, self._followed)
        updates = list(planner.plan(self.graph, nodes, self.reader))
        jobs = plan_bucket_jobs(self.graph, self.parts, projections, updates, self.cores)
        formats = self._formats(jobs)
        with ThreadPoolExecutor(1, thread_name_prefix="weft-links") as beside:  # while workers are at it
            linked = beside.submit(self._link_all, jobs, formats, {update.name: update for update in updates})
            reported = self._run_jobs(jobs, formats)
            linked.result()
        failed = {id for job, rows in zip(jobs, reported, strict=True) for id in failed_projections(job.job, rows)}
        left = [id for id in self.parts if id in failed or id not in projections]
        self._write_by_spark(left, len(jobs))
        alive = [update for update in updates if update.id not in failed]
        unchanged = {update.name: update.unchanged for update in updates}
        self._publish(alive, self._placed(jobs, formats, reported, failed, unchanged), left)
        by_name = {update.name: update for update in alive}
        return tuple(self._line(name, by_name.get(name)) for name in query_names(list(self.parts.values())))

    def _kept(self, query: str) -> KeptAnswers | None:
        """What a query's folder holds."""
        return as_seen(read_answers(self.files, self.staging.place(query)), self.seen.get(query))

    def _followed(self, query: str) -> bool:
        """Whether all changes of a query have been told, if they are asked for."""
        return self.feed is None or self.feed.is_followed(read_mark(self.files, self.staging.place(query)))

    def _formats(self, jobs: Sequence[BucketJob]) -> list[FileFormat]:
        """How and where the workers of each job write."""
        return [file_format(self.spark, f"{self.staging.folder}/{i}", [self.parts[id].stage for id in job.job.ids])
                for i, job in enumerate(jobs)]

    def _link_all(self, jobs: Sequence[BucketJob], formats: Sequence[FileFormat],
                  updates: Mapping[str, Update]) -> None:
        """Put the files that stay into the next folders of all queries of which some bucket is made."""
        for job, format in zip(jobs, formats, strict=True):
            for name in job.buckets:
                link_unchanged(updates[name], self.staging.place(name), format.folder.format(name), self.spares)

    def _run_jobs(self, jobs: Sequence[BucketJob], formats: Sequence[FileFormat]) -> list[list[Row]]:
        """Run all jobs, those that read little together; what each says of the rows it wrote."""
        if jobs:
            self.progress(0, 1, f"{sum(len(job.buckets) for job in jobs)} queries in workers")
        began, found = time.perf_counter(), dict[int, list[Row]]()
        small = [i for i, job in enumerate(jobs) if job.is_small]
        if small:
            told = run_from_files(self.spark, [jobs[i].from_files(formats[i]) for i in small],
                                  [jobs[i].size for i in small], self.cores)
            found |= dict(zip(small, told, strict=True))
        large = [i for i in range(len(jobs)) if i not in small]
        with cached_slices(tuple(jobs[i].job.part for i in large if jobs[i].spans is None)):
            told = run_jobs(self.spark, [partial(jobs[i].run, formats[i]) for i in large])
        found |= dict(zip(large, told, strict=True))
        took = time.perf_counter() - began
        self.seconds |= {name: took for job in jobs for name in job.buckets}
        return [found[i] for i in range(len(jobs))]

    def _write_by_spark(self, ids: Sequence[str], number: int) -> None:
        """Write all rows of some answer stages by Spark, in folders of numbers that follow."""
        left = {id: self.parts[id] for id in ids}
        shared = share_answers(self.graph, left)
        writes = add_writes(self.graph, self.sink.location()).writes
        run = SinkRun(self.spark, left, shared, [node.inputs for node in writes], (), (), self.progress)
        with cached_slices(tuple(shared.values())):
            answers = run.in_spark(())
            write_spark_files(self.spark, answers, self.sink, self.staging, number)
        self.seconds |= answers.seconds

    def _placed(self, jobs: Sequence[BucketJob], formats: Sequence[FileFormat], reported: Sequence[Sequence[Row]],
                failed: Iterable[str],
                unchanged: Mapping[str, Sequence[str]]) -> dict[str, tuple[FileFormat, list[str]]]:
        """The new files of each query, after those are removed that no partition reported or Spark makes again."""
        found = {}
        for job, format, rows in zip(jobs, formats, reported, strict=True):
            told: dict[str, list[Row]] = {}
            for row in rows:
                told.setdefault(row["query"], []).append(row)
            for id, queries in job.job.queries_by_id.items():
                for query in queries:
                    folder, mine = format.folder.format(query), told.get(query, [])
                    names = [basename(row["file"]) for row in mine if row["file"]]
                    self.rows[query] = sum(row["rows"] for row in mine)
                    if id in failed:
                        rmtree(folder, ignore_errors=True)
                    else:
                        remove_others(folder, [*names, *unchanged[query]])
                        found[query] = (format, names)
        return found

    def _publish(self, updates: Sequence[Update], placed: Mapping[str, tuple[FileFormat, list[str]]],
                 left: Sequence[str]) -> None:
        """Put in place what has changed, then say of the other queries that they are up to date."""
        made = {update.name: update for update in updates if update.name in placed}
        kept = {name: told for name in made if (told := self._gather(made[name], *placed[name])) is not None}
        spark_made = query_names([self.parts[id] for id in left])
        changes = self._find_changes({u.name: u for u in updates if u.name in kept}, placed, left)
        self.staging.publish([*kept, *spark_made], kept, changes)
        for name in kept:
            self._spare(made[name], placed[name][0].folder.format(name), kept[name])
        self.spares.drop(spark_made)
        if self.feed:
            self.feed.publish(self.staging.run)
        unchanged = [update for update in updates if update.name not in kept]
        write_seen(self.files, self.staging.root, self.seen, unchanged, [*kept, *spark_made])

    def _spare(self, update: Update, folder: str, kept: dict) -> None:
        """Let what lay in a query's place be the beginning of its next folder, if they have files in common."""
        if update.unchanged:
            self.spares.keep(update.name, folder, kept["files"])
        else:
            self.spares.drop([update.name])

    def _gather(self, update: Update, format: FileFormat, names: Sequence[str]) -> dict | None:
        """The next folder of a query in staging, as its mark describes it; None where its rows stay as they are."""
        folder = format.folder.format(update.name)
        if not is_changed(update, names):
            return None
        return describe(update, folder, self.staging.run, format, self.parts[update.id].stage).to_dict()

    def _find_changes(self, updates: Mapping[str, Update], placed: Mapping[str, tuple[FileFormat, list[str]]],
                      left: Sequence[str]) -> dict[str, dict]:
        """What the marks of queries that have changed say of their changes, which are written beside their place."""
        if self.feed is None:
            return {}
        found, written = {}, self.staging.written()
        stages = {u.name: self.parts[u.id].stage for u in updates.values()}
        stages |= {asked.name: self.parts[id].stage for id in left for asked in self.parts[id].stage.queries}
        for name, stage in stages.items():
            place, update = self.staging.place(name), updates.get(name)
            mark = read_mark(self.files, place)
            strange = update.strange if update else not is_as_told(place, mark, stage)
            old = result_paths(place, mark, update.unchanged if update else ())
            names = placed[name][1] if update else [n for n in os.listdir(written[name]) if n.endswith(".parquet")]
            new = [f"{written[name]}/{each}" for each in names]
            found[name] = self.feed.add(name, self.staging.run, mark, stage, old, new, strange)
            if update is None:  # no one else keeps what Spark's files are known by
                found[name]["files"] = folder_facts(written[name], names)
        return found

    def _line(self, name: str, update: Update | None) -> dict:
        """What the report says of a query."""
        told = {"query": name, "path": self.sink.output_path(name), "seconds": round(self.seconds.get(name, 0.0), 3)}
        if self.feed:
            told["changes"] = self.feed.found[name].to_dict() if name in self.feed.found else None
        if update is None:
            return {**told, "buckets": None, "anew": LEFT}
        buckets = None if update.buckets.whole else len(update.buckets.made)
        return {**told, "rows": self.rows.get(name, 0), "buckets": buckets, "anew": update.anew or None}
