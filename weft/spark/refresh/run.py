"""A refresh: rows in a folder of Parquet brought up to date, the touched buckets of each query and nothing else.

Nothing is in place before all of it is written. Each query's folder is then swapped with one that has the new files and
links to all others; its mark says of which slices its rows are, so each query is up to date, or not yet, by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
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
from weft.io.sinks import FolderSink
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage
from weft.spark.batch.run import AnswerPart, share_answers
from weft.spark.incremental.run import SliceReader
from weft.spark.refresh.folders import describe, gather_files, hold_columns, put_down_version, remove_others
from weft.spark.refresh.jobs import BucketJob, plan_bucket_jobs, run_from_files
from weft.spark.refresh.updates import Update, UpdatePlanner
from weft.spark.session.jobs import run_jobs
from weft.spark.write.answers import Progress, query_names
from weft.spark.write.staging import Staging, staged
from weft.spark.write.worker_files import codec, file_format, held_types, times_written
from weft.spark.write.worker_jobs import compile_answers, failed_projections, fits
from weft.spark.write.write import SinkRun, cached_slices, translate_errors, write_results, write_spark_files
from weft.stages.writes import add_writes

Parts = Mapping[str, AnswerPart]
LEFT = "only Spark can make its rows"


def refresh_results(spark: SparkSession, graph: StageGraph, reader: SliceReader, parts: Parts, sink: AnswerSink,
                    progress: Progress) -> tuple[dict, ...]:
    """Bring every query's rows in the sink up to date; the report says what was written of each, and why all if so."""
    types = held_types(spark, sink) if isinstance(sink, FolderSink) else None
    if types is None or not isinstance(sink, FolderSink):
        why = f"rows in {sink.location() or sink.facts.name} cannot be replaced in part"
        return tuple({**line, "anew": why} for line in write_results(spark, graph, parts, sink, progress))
    nodes = [node for node in graph.of(AnswerStage) if node.id in parts]
    made = {node.id: projection for node in nodes if fits(node.stage, types)
            and (projection := compile_answers(parts[node.id], node))}
    files, root = open_filesystem(sink.path)
    try:
        files.create_dir(root, recursive=True)
        with translate_errors(), hold_if_possible(root), staged(files, root) as staging:
            return Refresh(spark, graph, reader, parts, sink, progress, staging).run(made)
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error


class Refresh:
    """One refresh of a folder on its way."""

    def __init__(self, spark: SparkSession, graph: StageGraph, reader: SliceReader, parts: Parts, sink: FolderSink,
                 progress: Progress, staging: Staging):
        self.spark, self.graph, self.reader, self.parts, self.sink = spark, graph, reader, parts, sink
        self.progress, self.staging = progress, staging
        self.seconds: dict[str, float] = {}
        self.rows: dict[str, int] = {}

    @property
    def files(self) -> fs.FileSystem:
        """The sink's file system."""
        return self.staging.files

    def run(self, projections: Mapping[str, Projection]) -> tuple[dict, ...]:
        """Make what has changed of the answer stages that workers project, all of the others by Spark, and publish it.
        """
        nodes = [node for node in self.graph.of(AnswerStage) if node.id in projections]
        written = (codec(self.spark), times_written(self.spark))
        planner = UpdatePlanner(self.reader.catalog, self.files, self.staging.root, written)
        updates = list(planner.plan(self.graph, nodes, self.reader))
        jobs = plan_bucket_jobs(self.graph, self.parts, projections, updates)
        formats = self._formats(jobs)
        reported = self._run_jobs(jobs, formats)
        failed = {id for job, rows in zip(jobs, reported, strict=True) for id in failed_projections(job.job, rows)}
        left = [id for id in self.parts if id in failed or id not in projections]
        self._write_by_spark(left, len(jobs))
        alive = [update for update in updates if update.id not in failed]
        self._publish(alive, self._placed(jobs, formats, reported, failed), left)
        return tuple(self._line(name, {u.name: u for u in alive}.get(name)) for name in query_names(
            list(self.parts.values())))

    def _formats(self, jobs: Sequence[BucketJob]) -> list[FileFormat]:
        """How and where the workers of each job write."""
        return [file_format(self.spark, f"{self.staging.folder}/{i}", [self.parts[id].stage for id in job.job.ids])
                for i, job in enumerate(jobs)]

    def _run_jobs(self, jobs: Sequence[BucketJob], formats: Sequence[FileFormat]) -> list[list[Row]]:
        """Run all jobs, those that read little together; what each says of the rows it wrote."""
        if jobs:
            self.progress(0, 1, f"{sum(len(job.buckets) for job in jobs)} queries in workers")
        began, found = time.perf_counter(), dict[int, list[Row]]()
        small = [i for i, job in enumerate(jobs) if job.is_small]
        if small:
            told = run_from_files(self.spark, [jobs[i].from_files(formats[i]) for i in small])
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
                failed: Iterable[str]) -> dict[str, tuple[FileFormat, list[str]]]:
        """The new files of each query, after those are removed that no partition reported or Spark makes again."""
        found = {}
        for job, format, rows in zip(jobs, formats, reported, strict=True):
            for id, queries in job.job.queries_by_id.items():
                for query in queries:
                    folder = format.folder.format(query)
                    names = [basename(row["file"]) for row in rows if row["query"] == query and row["file"]]
                    self.rows[query] = sum(row["rows"] for row in rows if row["query"] == query)
                    if id in failed:
                        rmtree(folder, ignore_errors=True)
                    else:
                        remove_others(folder, names)
                        found[query] = (format, names)
        return found

    def _publish(self, updates: Sequence[Update], placed: Mapping[str, tuple[FileFormat, list[str]]],
                 left: Sequence[str]) -> None:
        """Put in place what has changed, then say of the other queries that they are up to date."""
        kept: dict[str, dict] = {}
        for update in updates:
            place = self.staging.place(update.name)
            if update.name not in placed:
                continue
            format, names = placed[update.name]
            folder = format.folder.format(update.name)
            if gather_files(update, place, folder, names):
                hold_columns(update, folder, format, self.parts[update.id].stage)
                kept[update.name] = describe(update, folder, self.staging.run).to_dict()
        spark_made = query_names([self.parts[id] for id in left])
        self.staging.publish([*kept, *spark_made], kept)
        for update in updates:
            if update.name not in kept:
                put_down_version(self.files, update, self.staging.place(update.name))

    def _line(self, name: str, update: Update | None) -> dict:
        """What the report says of a query."""
        told = {"query": name, "path": self.sink.output_path(name), "seconds": round(self.seconds.get(name, 0.0), 3)}
        if update is None:
            return {**told, "buckets": None, "anew": LEFT}
        made = update.buckets.made
        return {**told, "rows": self.rows.get(name, 0), "buckets": None if made is None else len(made),
                "anew": update.anew or None}
