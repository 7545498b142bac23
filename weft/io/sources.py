"""Sources: a path and a format become a DataFrame, or an error that says what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from weft.errors import SourceError
from weft.io.arrivals import CORRUPT, DELAY
from weft.io.formats import READABLE, Format, absolute, find_format, is_remote, list_formats
from weft.io.java import Py4JError

# Text carries no types; these make it give the columns a person expects, times among them. The caller's options win.
DEFAULTS = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}}

# Spark takes frames over the same paths for equal, and would answer from what is kept of an older listing but for this.
APART = "weft.listing"

# What reads a source as a stream.
Reader = Callable[[SparkSession], DataFrame]


@dataclass(frozen=True)
class Files:
    """Where the rows of a source lie: a path from the root or a URI, the format, and every option it is read with;
    `declared` says that the user names their columns."""

    path: str
    format: str
    options: tuple[tuple[str, str], ...]
    declared: bool = False

    def read(self, spark: SparkSession, schema: StructType | None = None) -> DataFrame:
        """The files that are there now as a DataFrame; with a schema Spark need not look into them for it."""
        reader = spark.read.format(self.format).options(**dict(self.options)).option(APART, uuid4().hex)
        try:
            return (reader if schema is None else reader.schema(schema)).load(self.path)
        except (PySparkException, Py4JError) as error:
            raise SourceError(f"cannot read '{self.path}' as {self.format}: {spark_reason(error)}") from error


    def stream(self, spark: SparkSession, schema: StructType) -> DataFrame:
        """The files as they come; texts that do not fit the schema are kept whole in a column of their own."""
        reader = spark.readStream.format(self.format).options(**dict(self.options))
        if self.format in ("csv", "json"):
            schema = StructType([*schema.fields, StructField(CORRUPT, StringType())])
            reader = reader.option("columnNameOfCorruptRecord", CORRUPT).option("mode", "PERMISSIVE")
        try:
            return reader.schema(schema).load(self.path)
        except (PySparkException, Py4JError) as error:
            why = spark_reason(error)
            raise SourceError(f"cannot read '{self.path}' as a stream of {self.format}: {why}") from error


def locate_files(path: str | Path, format: str | None = None, options: Mapping[str, str] | None = None,
                 declared: bool = False) -> Files:
    """The files at `path`; the format is named, or told by the suffix."""
    path = str(path)
    require_path(path)
    chosen = named_format(format) if format else require_format(path)
    settings = {**DEFAULTS.get(chosen.name, {}), **{key: str(value) for key, value in (options or {}).items()}}
    return Files(absolute(path), chosen.name, tuple(sorted(settings.items())), declared)


def open_source(spark: SparkSession, name: str, data: Any, schema: str | None = None) -> tuple[DataFrame, Reader]:
    """What a user gave as a source, as rows that a query can be checked against, and what reads it as a stream."""
    if isinstance(data, Files):
        frame = data.read(spark, schema_of(name, schema) if schema else None)
        return frame, lambda session: data.stream(session, frame.schema)
    if hasattr(data, "read_stream"):
        return data.read(spark), data.read_stream
    if data.isStreaming and any(DELAY in field.metadata for field in data.schema.fields):
        raise SourceError(f"source '{name}' has a watermark of its own: leave out withWatermark and give loom.source "
                          "its `watermark`, so that rows whose clock is ahead are kept from moving it.")
    return data, lambda session: streaming(name, data)


def place_of(data: Any) -> str | None:
    """Where the rows of a source lie, in words that are the same at each start; None where that is not known."""
    if isinstance(data, Files):
        return f"{data.format} at {data.path}"
    named = getattr(data, "topic", None) or getattr(data, "place", None)
    return f"{type(data).__name__.lower()} {named}" if named else None


def schema_of(name: str, text: str) -> StructType:
    """The columns that a text such as `ts timestamp, price double` names."""
    try:
        found = StructType.fromDDL(text)
    except PySparkException as error:
        raise SourceError(f"the schema of source '{name}' cannot be read: {spark_reason(error)}") from error
    if not isinstance(found, StructType):
        raise SourceError(f"the schema of source '{name}' names no columns: write 'ts timestamp, price double'.")
    return found


def streaming(name: str, frame: DataFrame) -> DataFrame:
    """A DataFrame that is a stream, or an error."""
    if not frame.isStreaming:
        raise SourceError(f"source '{name}' is a table, not a stream: make it with spark.readStream, or give its path.")
    return frame


def read_source(
    spark: SparkSession, path: str | Path, format: str | None = None, options: Mapping[str, str] | None = None
) -> DataFrame:
    """The files at `path` as a DataFrame."""
    return locate_files(path, format, options).read(spark)


def require_path(path: str) -> None:
    """Raises where a local path names nothing."""
    if not path:
        raise SourceError("a source needs a path, and this one is empty.")
    if is_remote(path):
        return
    local = Path(path)
    # A pattern is Spark's to expand, so only the folder before its first wild card can be looked at.
    fixed = Path(*(part for part in local.parts[: first_wild(local)]))
    if not fixed.exists():
        raise SourceError(f"there is nothing at '{path}': give the path of an existing file or folder.")


def first_wild(path: Path) -> int:
    """The place of the first path part with a wild card, or the number of parts."""
    wild = (number for number, part in enumerate(path.parts) if any(sign in part for sign in "*?[{"))
    return next(wild, len(path.parts))


def named_format(name: str) -> Format:
    """The readable format of that name."""
    chosen = find_format(name, READABLE)
    if chosen is None:
        raise SourceError(f"unknown format '{name}': write {list_formats(READABLE)}.")
    return chosen


def require_format(path: str) -> Format:
    """The format told by the path's suffix, or by the files in a folder."""
    told = format_by_suffix(path) or format_by_files(Path(path))
    if told is None:
        raise SourceError(f"cannot tell the format of '{path}': name it, {list_formats(READABLE)}.")
    return told


def format_by_suffix(path: str) -> Format | None:
    """The format whose suffix ends the path."""
    return next((item for item in READABLE if path.lower().endswith(item.suffixes)), None)


def format_by_files(folder: Path) -> Format | None:
    """The one format of the data files in a folder, if they agree."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file()) if folder.is_dir() else ()
    seen = {format_by_suffix(file.name) for file in files if not file.name.startswith(("_", "."))}
    return seen.pop() if len(seen) == 1 else None


def spark_reason(error: Exception) -> str:
    """The line of an error's text that says most: the last cause where Java lists them, else the first line."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [line.split(": ", 2)[-1] for line in lines if line.startswith("Caused by: ")]
    return with_file(str(error), causes[-1] if causes else lines[0])


def with_file(text: str, cause: str) -> str:
    """The cause of an error with the file that Spark was reading, which the innermost cause often leaves out."""
    found = re.search(r"error while reading file (\S+?)\.?\s", text)
    return cause if found is None or found[1] in cause else f"cannot read {found[1]}: {cause}"
