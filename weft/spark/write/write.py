"""Writing results: one Spark job per output schema, and nothing in place before all of it is written."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from pyarrow import fs
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from weft.errors import RunError
from weft.io.files import exists, filesystem
from weft.io.java import Py4JJavaError
from weft.io.sinks import WRITE_OPTIONS, Sink
from weft.io.sources import reason
from weft.spark.batch.run import QUERY, Part
from weft.spark.write.staging import staged

Progress = Callable[[int, int, str], None]
WRITERS = "spark.sql.maxConcurrentOutputFileWriters"


def silent(done: int, total: int, text: str) -> None:
    """Report nothing."""


def write(spark: SparkSession, parts: tuple[Part, ...], sink: Sink, progress: Progress) -> tuple[dict, ...]:
    """Write every query's rows to the sink; the report says where each went and how long its job took."""
    groups = by_schema(parts)
    with told(), kept(parts):
        if sink.path is None:
            return tuple(run_jobs(groups, lambda group, _: discard(group), progress))
        return write_files(spark, groups, sink, progress)


@contextmanager
def told() -> Iterator[None]:
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
        cause = reason(error) if "error while reading file" in first else first
        hint = "Nothing was written. Check that the sources are readable and complete, then run again."
        raise RunError(f"Spark could not finish the run: {cause}. {hint}") from error


def by_schema(parts: tuple[Part, ...]) -> list[list[Part]]:
    """The parts that can be written together: those whose outputs have equal names and types."""
    groups: dict[tuple, list[Part]] = {}
    for part in parts:
        groups.setdefault(tuple((o.name, o.type) for o in part.stage.outputs), []).append(part)
    return list(groups.values())


@contextmanager
def kept(parts: tuple[Part, ...]) -> Iterator[None]:
    """Keep the slices that several parts, or derived slices, read while they are read."""
    shared = read_often(parts)
    for slices in shared:
        slices.persist()
    try:
        yield
    finally:
        for slices in shared:
            slices.unpersist()


def read_often(parts: tuple[Part, ...]) -> list[DataFrame]:
    """The slices that have several readers: answer stages, and slices derived from them."""
    slices: dict[int, DataFrame] = {}
    readers: dict[int, set[int]] = {}
    for i, part in enumerate(parts):
        chain = (*part.above, part.slices)
        slices |= {id(frame): frame for frame in chain}
        for frame, reader in zip(chain, [*map(id, chain[1:]), -1 - i], strict=True):
            readers.setdefault(id(frame), set()).add(reader)
    return [frame for key, frame in slices.items() if len(readers[key]) > 1]


def run_jobs(groups: list[list[Part]], job: Callable[[list[Part], int], None], progress: Progress) -> Iterator[dict]:
    """Run one job a group and report on each of its queries."""
    for i, group in enumerate(groups):
        names = [asked.name for part in group for asked in part.stage.queries]
        progress(i, len(groups), names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more")
        began = time.perf_counter()
        job(group, i)
        seconds = time.perf_counter() - began
        yield from ({"query": name, "path": None, "seconds": round(seconds, 3)} for name in names)
    progress(len(groups), len(groups), "done")


def discard(group: list[Part]) -> None:
    """Compute every output value in the JVM and throw it away."""
    for part in group:
        rows = part.rows() if part.one_each else part.named()
        rows.drop("w", "q").write.format("noop").mode("overwrite").save()


def write_files(spark: SparkSession, groups: list[list[Part]], sink: Sink, progress: Progress) -> tuple[dict, ...]:
    """Write all queries beside their places, then move each into its place, one folder a query."""
    files, root = filesystem(str(sink.path))
    names = [asked.name for group in groups for part in group for asked in part.stage.queries]
    try:
        with staged(files, root) as staging:

            def job(group: list[Part], number: int) -> None:
                target = f"{str(sink.path).rstrip('/')}/{staging.name}/{number}"
                rows = union(group)
                saved(rows, sink.format).partitionBy(QUERY).save(target)
                write_empty(files, f"{staging.folder}/{number}", rows, group, f"{target}/{QUERY}=", sink.format)

            with many_writers(spark, len(names) + 1):
                report = list(run_jobs(groups, job, progress))
            staging.publish(names)
    except OSError as error:
        raise RunError(f"cannot write to '{sink.path}': {error}. Check that the folder is writable.") from error
    return tuple({**row, "path": f"{str(sink.path).rstrip('/')}/{row['query']}"} for row in report)


def union(group: Sequence[Part]) -> DataFrame:
    """The rows of all queries of parts whose outputs are alike, by position: names may come twice."""
    return reduce(DataFrame.union, (part.named() for part in group))


def saved(frame: DataFrame, format: str) -> DataFrameWriter:
    """A writer of the frame in a format with Weft's options for it."""
    return frame.write.format(format).options(**WRITE_OPTIONS.get(format, {}))


def write_empty(files: fs.FileSystem, written: str, union: DataFrame, group: list[Part], target: str,
                format: str) -> None:
    """Give queries without a single row a folder that holds their schema."""
    for name in (asked.name for part in group for asked in part.stage.queries):
        if not exists(files, f"{written}/{QUERY}={name}"):
            saved(union.drop(QUERY).limit(0).coalesce(1), format).save(f"{target}{name}")


@contextmanager
def many_writers(spark: SparkSession, count: int) -> Iterator[None]:
    """Let a task write to all queries' files at once, instead of sorting its rows by query first."""
    before = spark.conf.get(WRITERS, "0")
    spark.conf.set(WRITERS, str(count))
    try:
        yield
    finally:
        spark.conf.set(WRITERS, before or "0")

