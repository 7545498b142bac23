"""Writing results: one Spark job per output schema, and nothing in place before all of it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

from pyarrow import fs
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from weft.errors import RunError
from weft.io.files import open_filesystem, path_exists
from weft.io.java import Py4JJavaError
from weft.io.sinks import WRITE_OPTIONS, Sink
from weft.io.sources import spark_reason
from weft.model.graph import StageGraph
from weft.spark.batch.run import QUERY, AnswerPart, share_answers
from weft.spark.write.staging import staged
from weft.stages.writes import add_writes

Progress = Callable[[int, int, str], None]
WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def report_nothing(done: int, total: int, text: str) -> None:
    """Report nothing."""


def write_results(spark: SparkSession, graph: StageGraph, parts: Mapping[str, AnswerPart], sink: Sink,
                  progress: Progress) -> tuple[dict, ...]:
    """Write every query's rows to the sink, a job for each write stage; the report says where each query's rows went
    and how long its job took."""
    shared = share_answers(graph, parts)
    groups = [[shared[id] for id in node.inputs] for node in add_writes(graph, str(sink.path or sink.format)).writes]
    with translate_errors(), cached_slices(tuple(shared.values())):
        if sink.path is None:
            return tuple(run_jobs(groups, lambda group, _: write_noop(group), progress))
        return write_files(spark, groups, sink, progress)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Within, what Spark has no words for, such as a file that breaks off, is told; its own errors pass as they are."""
    try:
        yield
    except PythonException as error:
        # A worker's own sentence, without the traceback around it.
        sentence = re.search(r"weft\.errors\.RunError: (.*)", str(error))
        if sentence is None:
            raise
        raise RunError(f"{sentence[1].strip()} Nothing was written.") from error
    except Py4JJavaError as error:
        first = str(error.java_exception).strip().splitlines()[0]
        cause = spark_reason(error) if "error while reading file" in first else first
        hint = "Nothing was written. Check that the sources are readable and complete, then run again."
        raise RunError(f"Spark could not finish the run: {cause}. {hint}") from error


def group_by_schema(parts: tuple[AnswerPart, ...]) -> list[list[AnswerPart]]:
    """The parts that can be written together: those whose outputs have equal names and types."""
    groups: dict[tuple, list[AnswerPart]] = {}
    for part in parts:
        groups.setdefault(tuple((o.name, o.type) for o in part.stage.outputs), []).append(part)
    return list(groups.values())


@contextmanager
def cached_slices(parts: tuple[AnswerPart, ...]) -> Iterator[None]:
    """Keep the slices, and the answers of trees, that have several readers while they are read."""
    shared = find_shared_slices(parts)
    for slices in shared:
        slices.persist()
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


def run_jobs(groups: list[list[AnswerPart]], job: Callable[[list[AnswerPart], int], None],
             progress: Progress) -> Iterator[dict]:
    """Run one job a group and report on each of its queries."""
    for i, group in enumerate(groups):
        names = [asked.name for part in group for asked in part.stage.queries]
        progress(i, len(groups), names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more")
        began = time.perf_counter()
        job(group, i)
        seconds = time.perf_counter() - began
        yield from ({"query": name, "path": None, "seconds": round(seconds, 3)} for name in names)
    progress(len(groups), len(groups), "done")


def write_noop(group: list[AnswerPart]) -> None:
    """Compute every output value in the JVM and throw it away."""
    for part in group:
        rows = part.rows() if part.one_each else part.named()
        rows.drop("w", "q").write.format("noop").mode("overwrite").save()


def write_files(spark: SparkSession, groups: list[list[AnswerPart]], sink: Sink, progress: Progress) -> tuple[dict,
                                                                                                              ...]:
    """Write all queries beside their places, then move each into its place, one folder a query."""
    files, root = open_filesystem(str(sink.path))
    names = [asked.name for group in groups for part in group for asked in part.stage.queries]
    try:
        with staged(files, root) as staging:

            def job(group: list[AnswerPart], number: int) -> None:
                target = f"{str(sink.path).rstrip('/')}/{staging.name}/{number}"
                rows = union(group)
                file_writer(rows, sink.format).partitionBy(QUERY).save(target)
                write_empty(files, f"{staging.folder}/{number}", rows, group, f"{target}/{QUERY}=", sink.format)

            with concurrent_writers(spark, len(names) + 1):
                report = list(run_jobs(groups, job, progress))
            staging.publish(names)
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error
    return tuple({**row, "path": f"{str(sink.path).rstrip('/')}/{row['query']}"} for row in report)


def union(group: Sequence[AnswerPart]) -> DataFrame:
    """The rows of all queries of parts whose outputs are alike, by position: names may come twice."""
    return reduce(DataFrame.union, (part.named() for part in group))


def file_writer(frame: DataFrame, format: str) -> DataFrameWriter:
    """A writer of the frame in a format with Weft's options for it."""
    return frame.write.format(format).options(**WRITE_OPTIONS.get(format, {}))


def write_empty(files: fs.FileSystem, written: str, union: DataFrame, group: list[AnswerPart], target: str,
                format: str) -> None:
    """Give queries without a single row a folder that holds their schema."""
    for name in (asked.name for part in group for asked in part.stage.queries):
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

