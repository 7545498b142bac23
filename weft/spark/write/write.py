"""Writing results: one Spark job per output schema, and nothing in place before all of it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyarrow import fs
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from weft.errors import RunError
from weft.io.answer_sink import AnswerSink
from weft.io.files import open_filesystem, path_exists
from weft.io.java import Py4JJavaError, spark_reason
from weft.io.sinks import FolderSink, NoopSink
from weft.model.graph import StageGraph
from weft.spark.batch.run import QUERY, AnswerPart, share_answers
from weft.spark.write.answers import PartAnswers, Progress
from weft.spark.write.staging import staged
from weft.stages.writes import add_writes

WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def write_results(spark: SparkSession, graph: StageGraph, parts: Mapping[str, AnswerPart], sink: AnswerSink,
                  progress: Progress) -> tuple[dict, ...]:
    """Write every query's rows to the sink, in groups of a write stage each; the report says where each query's rows
    went and how long its job took."""
    shared, writes = share_answers(graph, parts), add_writes(graph, sink.location() or sink.facts.name).writes
    answers, began = PartAnswers([[shared[id] for id in node.inputs] for node in writes], progress), time.perf_counter()
    with translate_errors(leaves_nothing(sink)), cached_slices(tuple(shared.values())):
        if isinstance(sink, FolderSink):
            write_files(spark, answers, sink)
        else:
            sink.write(answers, None)
    progress(len(answers.groups), len(answers.groups), "done")
    # A query that a sink read by itself took nobody knows how much of the run.
    whole = time.perf_counter() - began
    return tuple({"query": name, "path": sink.output_path(name), "seconds": round(answers.seconds.get(name, whole), 3)}
                 for name in answers)


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


def write_files(spark: SparkSession, answers: PartAnswers, sink: FolderSink) -> None:
    """Write all queries beside their places, then move each into its place, one folder a query."""
    files, root = open_filesystem(sink.path)
    try:
        with staged(files, root) as staging:
            with concurrent_writers(spark, len(answers) + 1):
                for i, (names, rows) in enumerate(answers.together()):
                    target = f"{sink.path.rstrip('/')}/{staging.name}/{i}"
                    file_writer(rows, sink.format).partitionBy(QUERY).save(target)
                    write_empty(files, f"{staging.folder}/{i}", rows, names, f"{target}/{QUERY}=", sink.format)
            staging.publish(list(answers))
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error


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

