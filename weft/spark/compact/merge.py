"""One file of several: lines are copied as they are, Parquet and ORC go through Spark, and rows are counted."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import pyarrow.orc as orc
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import RunError
from weft.io.java import Py4JError, spark_reason, with_file
from weft.spark.compact.choice import format_of, needs_spark
from weft.spark.session.connect import is_connect
from weft.spark.session.session import temporary_settings
from weft.spark.write.write import file_writer

# Under any other value Spark may leave out files or columns without a word, or write what it read otherwise.
STRICT = {"spark.sql.caseSensitive": "true", "spark.sql.files.ignoreCorruptFiles": "false",
          "spark.sql.files.ignoreMissingFiles": "false", "spark.sql.parquet.binaryAsString": "false",
          "spark.sql.parquet.inferTimestampNTZ.enabled": "true", "spark.sql.parquet.int96AsTimestamp": "true"}
CODECS = ("spark.sql.parquet.compression.codec", "spark.sql.orc.compression.codec")
GLOB = re.compile(r"([*?\[\]{}\\])")
SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"


def merge_files(spark: SparkSession | None, paths: Sequence[str], ending: str, target: str) -> list[str]:
    """Write the rows of files into a new folder; the files there. Raises where not all rows have come through."""
    format = format_of(ending)
    if spark is not None and needs_spark(ending):
        return merge_by_spark(spark, str(format), paths, target)
    os.makedirs(target)
    made = f"{target}/part-00000.{ending}"
    with open(made, "wb") as out:
        head = shared_header(paths) if format == "csv" else b""
        out.write(head)
        for path in paths:
            copy_lines(path, len(head), out)
        flush(out)
    return [made]


def copy_lines(path: str, start: int, out: IO[bytes]) -> None:
    """Append the lines of a file from a place on; a last one without end gets it."""
    with open(path, "rb") as source:
        source.seek(start)
        shutil.copyfileobj(source, out, 1 << 20)
        source.seek(max(start, source.tell() - 1))
        if source.read(1) not in (b"", b"\n"):
            out.write(b"\n")


def shared_header(paths: Sequence[str]) -> bytes:
    """The line of names that all files begin with."""
    heads = set()
    for path in paths:
        with open(path, "rb") as source:
            heads.add(source.readline())
    if len(heads) > 1:
        raise RunError(f"'{os.path.dirname(paths[0])}' holds CSV files with other columns than the rest.")
    (head,) = heads
    if head.count(b'"') % 2:
        raise RunError(f"the columns in '{os.path.dirname(paths[0])}' have names of several lines, which in CSV "
                       "are not told from rows.")
    return head


def merge_by_spark(spark: SparkSession, format: str, paths: Sequence[str], target: str) -> list[str]:
    """Read files and write them as one; Spark alone keeps all that it knows of their types."""
    try:
        with strict_session(spark) as session:
            rows = session.read.format(format).load([GLOB.sub(r"\\\1", path) for path in paths])
            file_writer(rows.coalesce(1), format).save(target)
    except (PySparkException, Py4JError) as error:
        raise RunError(f"the files in '{os.path.dirname(paths[0])}' cannot be merged: "
                       f"{with_file(str(error), spark_reason(error))} Nothing was changed.") from error
    made = sorted(f"{target}/{name}" for name in os.listdir(target) if name.startswith("part-"))
    if sum(count_rows(path, format) for path in made) != sum(count_rows(path, format) for path in paths):
        raise RunError(f"Spark wrote fewer or more rows than it read of '{os.path.dirname(paths[0])}'; nothing was "
                       "changed.")
    if len({describe_columns(path, format) for path in (*paths, *made)}) > 1:
        raise RunError(f"'{os.path.dirname(paths[0])}' holds files with other columns or types than the rest.")
    for path in made:
        with open(path, "rb") as written:
            os.fsync(written.fileno())
    return made


@contextmanager
def strict_session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session beside the user's that reads all that is there and changes nothing; over Connect the user's own."""
    codecs = {name: str(spark.conf.get(name)) for name in CODECS}
    made = spark if is_connect(spark) else spark.newSession()
    with temporary_settings(made, {**STRICT, **codecs}):
        yield made


def count_rows(path: str, format: str) -> int:
    """How many rows a file says it has."""
    return pq.read_metadata(path).num_rows if format == "parquet" else orc.ORCFile(path).nrows


def describe_columns(path: str, format: str) -> str:
    """The columns and types of a file as a text; whether they may be null does not count."""
    if format == "orc":
        return str([(field.name, str(field.type)) for field in orc.ORCFile(path).schema])
    kept = (pq.read_metadata(path).metadata or {}).get(SPARK_SCHEMA)
    if kept is None:
        return str([(field.name, str(field.type)) for field in pq.read_schema(path)])
    return json.dumps(without_nulls(json.loads(kept)), sort_keys=True)


def without_nulls(page: object) -> object:
    """A schema of Spark without what it says of nulls."""
    if isinstance(page, dict):
        return {name: without_nulls(value) for name, value in page.items()
                if name not in ("nullable", "containsNull", "valueContainsNull", "metadata")}
    return [without_nulls(one) for one in page] if isinstance(page, list) else page


def flush(out: IO[bytes]) -> None:
    """See to it that a file outlives a failure of the machine."""
    out.flush()
    os.fsync(out.fileno())
