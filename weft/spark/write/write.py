"""Writing results: one Spark job per output schema, and nothing in place before all of it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from pyarrow import fs
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, DataFrameWriter, Row, SparkSession

from weft.errors import RunError
from weft.final.outputs.files import FileFormat
from weft.io.answer_sink import AnswerSink
from weft.io.files import open_filesystem, path_exists
from weft.io.java import Py4JJavaError, spark_reason
from weft.io.sinks import FolderSink, NoopSink
from weft.model.graph import StageGraph
from weft.spark.batch.run import QUERY, AnswerPart, share_answers
from weft.spark.session.jobs import run_jobs
from weft.spark.session.settings import is_on
from weft.spark.stages.partitions import keep_rows
from weft.spark.write.answers import PartAnswers, Progress, query_names
from weft.spark.write.one_pass import OnePass, RowAccess, plan_passes
from weft.spark.write.spares import Spares
from weft.spark.write.staging import Staging, staged
from weft.spark.write.worker_files import file_format, held_types, settle_files
from weft.spark.write.worker_jobs import WorkerJob, failed_projections, plan_worker_jobs
from weft.stages.writes import add_writes

WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def write_results(spark: SparkSession, graph: StageGraph, parts: Mapping[str, AnswerPart], sink: AnswerSink,
                  progress: Progress, access: RowAccess | None = None) -> tuple[dict, ...]:
    """Write every query's rows to the sink: what workers can make by the workers, the rest in groups of a write stage
    each; the report says where each query's rows went and how long its job took. With `access` to the rows workers may
    cut slices, too."""
    jobs, began = plan_jobs(spark, graph, parts, sink), time.perf_counter()
    passes = plan_passes(graph, jobs, access, is_on(spark, "spark.sql.ansi.enabled")) if access else []
    made = {id for job in jobs for id in job.ids}
    shared = share_answers(graph, {id: part for id, part in parts.items() if id not in made})
    writes = add_writes(graph, sink.location() or sink.facts.name).writes
    run = SinkRun(spark, parts, shared, [node.inputs for node in writes], jobs, passes, progress)
    readers = (*shared.values(), *(job.part for job in run.apart.values()))
    with translate_errors(leaves_nothing(sink)), cached_slices(readers):
        answers = write_files(run, sink) if isinstance(sink, FolderSink) else write_elsewhere(run, sink)
    progress(run.steps, run.steps, "done")
    # A query that a sink read by itself took nobody knows how much of the run.
    whole, seconds = time.perf_counter() - began, run.seconds | answers.seconds
    return tuple({"query": name, "path": sink.output_path(name), "seconds": round(seconds.get(name, whole), 3)}
                 for name in query_names(list(parts.values())))


@dataclass
class SinkRun:
    """A run on its way to a sink: jobs for workers, those of a pass in one, then what is left to Spark, `shared`, by
    groups of stages."""

    spark: SparkSession
    parts: Mapping[str, AnswerPart]
    shared: Mapping[str, AnswerPart]
    groups: Sequence[Sequence[str]]
    jobs: Sequence[WorkerJob]
    passes: Sequence[OnePass]
    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def apart(self) -> dict[int, WorkerJob]:
        """The jobs that no pass makes, by their places."""
        together = {i for each in self.passes for i in each.jobs}
        return {i: job for i, job in enumerate(self.jobs) if i not in together}

    @property
    def steps(self) -> int:
        """How many jobs the run is known to have."""
        return self.in_python + sum(any(id in self.shared for id in group) for group in self.groups)

    @property
    def in_python(self) -> int:
        """How many jobs the workers have."""
        return len(self.passes) + len(self.apart)

    def in_workers(self, formats: Sequence[FileFormat | None]) -> list[list[Row]]:
        """Run the jobs of workers side by side; what their partitions report."""
        if self.jobs:
            self.progress(0, self.steps, f"{sum(len(job.queries) for job in self.jobs)} queries in workers")
        targets = dict(enumerate(formats))
        works = [partial(self._timed, each.jobs, partial(each.run, targets)) for each in self.passes]
        works += [partial(self._timed, {i: job}, partial(run_alone, i, job, targets[i]))
                  for i, job in self.apart.items()]
        made = run_jobs(self.spark, works, lambda count: self.progress(count, self.steps, "in workers"))
        reports = {i: rows for each in made for i, rows in each.items()}
        return [reports[i] for i in range(len(self.jobs))]

    def _timed(self, jobs: Mapping[int, WorkerJob], work: Callable[[], dict[int, list[Row]]]) -> dict[int, list[Row]]:
        began = time.perf_counter()
        made = work()
        self.seconds |= {name: time.perf_counter() - began for job in jobs.values() for name in job.queries}
        return made

    def in_spark(self, failed: Sequence[str]) -> PartAnswers:
        """What Spark projects, with that which workers could not."""
        parts = {**self.shared, **{id: self.parts[id] for id in failed}}
        groups = [[parts[id] for id in group if id in parts] for group in self.groups]
        done = self.in_python
        return PartAnswers([group for group in groups if group],
                           lambda here, total, text: self.progress(done + here, done + total, text))


def run_alone(number: int, job: WorkerJob, target: FileFormat | None) -> dict[int, list[Row]]:
    """What a job that is run for itself reports."""
    return {number: job.run(target)}


def plan_jobs(spark: SparkSession, graph: StageGraph, parts: Mapping[str, AnswerPart],
              sink: AnswerSink) -> list[WorkerJob]:
    """What workers make of a run, by what the sink takes from them."""
    if isinstance(sink, NoopSink):
        return plan_worker_jobs(graph, parts)
    types = held_types(spark, sink) if isinstance(sink, FolderSink) else None
    return [] if types is None else plan_worker_jobs(graph, parts, types)


def write_elsewhere(run: SinkRun, sink: AnswerSink) -> PartAnswers:
    """Write all queries to a sink that is no folder of files; only one that keeps no rows has jobs for workers."""
    reports = run.in_workers([None] * len(run.jobs))
    failed = [id for job, rows in zip(run.jobs, reports, strict=True) for id in failed_projections(job, rows)]
    answers = run.in_spark(failed)
    if len(answers):
        sink.write(answers, None)
    return answers


def leaves_nothing(sink: AnswerSink) -> str:
    """What a sink is known to hold of a run that failed."""
    return "Nothing was written." if isinstance(sink, FolderSink | NoopSink) else ""


@contextmanager
def translate_errors(left: str = "Nothing was written.") -> Iterator[None]:
    """Within, what Spark has no words for, such as a file that breaks off, is told; its own errors pass as they are."""
    try:
        yield
    except PythonException as error:
        # A worker's own sentence, without the traceback around it.
        sentence = re.search(r"weft\.errors\.RunError: (.*)", str(error))
        if sentence is None:
            raise
        raise RunError(f"{sentence[1].strip()} {left}".strip()) from error
    except Py4JJavaError as error:
        first = str(error.java_exception).strip().splitlines()[0]
        cause = spark_reason(error) if "error while reading file" in first else first
        hint = f"{left} Check that the sources are readable and complete, then run again.".strip()
        raise RunError(f"Spark could not finish the run: {cause}. {hint}") from error


@contextmanager
def cached_slices(parts: tuple[AnswerPart, ...]) -> Iterator[None]:
    """Keep the slices, and the answers of trees, that have several readers while they are read."""
    shared = find_shared_slices(parts)
    for slices in shared:
        keep_rows(slices)
    try:
        yield
    finally:
        for slices in shared:
            slices.unpersist()


def find_shared_slices(parts: tuple[AnswerPart, ...]) -> list[DataFrame]:
    """The frames that have several readers: answer stages, slices derived from slices, answers of a tree."""
    slices: dict[int, DataFrame] = {}
    readers: dict[int, set[int]] = {}
    for i, part in enumerate(parts):
        chain = (*part.above, part.slices, *(() if part.tree is None else (part.tree.wire,)))
        slices |= {id(frame): frame for frame in chain}
        for frame, reader in zip(chain, [*map(id, chain[1:]), -1 - i], strict=True):
            readers.setdefault(id(frame), set()).add(reader)
    return [frame for key, frame in slices.items() if len(readers[key]) > 1]


def write_files(run: SinkRun, sink: FolderSink) -> PartAnswers:
    """Write all queries beside their places, then move each into its place, one folder a query."""
    files, root = open_filesystem(sink.path)
    try:
        with staged(files, root) as staging:
            answers = run.in_spark(write_in_workers(run, files, staging))
            write_spark_files(run.spark, answers, sink, staging, len(run.jobs))
            staging.publish(query_names(list(run.parts.values())))
            if files.type_name == "local":  # links to what is not there any more
                Spares(root).drop(query_names(list(run.parts.values())))
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error
    return answers


def write_spark_files(spark: SparkSession, answers: PartAnswers, sink: FolderSink, staging: Staging,
                      first: int) -> None:
    """Let Spark write answers below the staging folder, each group in a folder of the next number."""
    with concurrent_writers(spark, len(answers) + 1):
        for i, (names, rows) in enumerate(answers.together(), first):
            target = f"{sink.path.rstrip('/')}/{staging.name}/{i}"
            file_writer(rows, sink.format).partitionBy(QUERY).save(target)
            write_empty(staging.files, f"{staging.folder}/{i}", rows, names, f"{target}/{QUERY}=", sink.format)


def write_in_workers(run: SinkRun, files: fs.FileSystem, staging: Staging) -> list[str]:
    """Let workers write their queries below the staging folder; the ids of the answer stages that are left to Spark."""
    stages = [[run.parts[id].stage for id in job.ids] for job in run.jobs]
    formats = [file_format(run.spark, f"{staging.folder}/{i}", found) for i, found in enumerate(stages)]
    failed: list[str] = []
    for job, format, rows in zip(run.jobs, formats, run.in_workers(formats), strict=True):
        ids = failed_projections(job, rows)
        settle_files(files, format, job, rows, ids)
        failed += ids
    return failed


def file_writer(frame: DataFrame, format: str) -> DataFrameWriter:
    """A writer of the frame in a format with Weft's options for it."""
    facts = FolderSink(format, "").facts
    return frame.write.format(format).options(**dict(facts.options))


def write_empty(files: fs.FileSystem, written: str, union: DataFrame, names: Sequence[str], target: str,
                format: str) -> None:
    """Give queries without a single row a folder that holds their schema."""
    for name in names:
        if not path_exists(files, f"{written}/{QUERY}={name}"):
            file_writer(union.drop(QUERY).limit(0).coalesce(1), format).save(f"{target}{name}")


@contextmanager
def concurrent_writers(spark: SparkSession, count: int) -> Iterator[None]:
    """Let a task write to all queries' files at once, instead of sorting its rows by query first."""
    before = spark.conf.get(WRITERS, "0")
    spark.conf.set(WRITERS, str(count))
    try:
        yield
    finally:
        spark.conf.set(WRITERS, before or "0")

