"""Opening a source: what a user gave becomes rows that queries are checked against, and what reads it as a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from weft.errors import SourceError
from weft.io.arrivals import DELAY
from weft.io.row_source import RowSource
from weft.io.schemas import parse_schema
from weft.io.sources.files import Files

# What reads a source as a stream.
Reader = Callable[[SparkSession], DataFrame]


def open_source(spark: SparkSession, name: str, data: Any, schema: str | None = None) -> tuple[DataFrame, Reader]:
    """What a user gave as a source, as rows that a query can be checked against, and what reads it as a stream."""
    if isinstance(data, Files):
        frame = data.read(spark, parse_schema(name, schema) if schema else None)
        return frame, lambda session: data.stream(session, frame.schema)
    if isinstance(data, RowSource):
        return read_rows(spark, name, data), lambda session: read_stream(session, name, data)
    require_frame(name, data)
    return data, lambda session: require_stream(name, data)


def read_rows(spark: SparkSession, name: str, source: RowSource) -> DataFrame:
    """The rows of a source that are there now; where there is no end to them, the stream."""
    if not source.facts.batch:
        return read_stream(spark, name, source)
    frame = source.read(spark)
    require_frame(name, frame)
    if frame.isStreaming:
        raise SourceError(f"source '{name}': `read` of {type(source).__name__} gives a stream, which has no end: give "
                          "a table, or say batch=False in its facts.")
    return frame


def read_stream(spark: SparkSession, name: str, source: RowSource) -> DataFrame:
    """The rows of a source as they come."""
    if not source.facts.streams:
        raise SourceError(f"source '{name}' is of {source.facts.name}, which is no stream: use loom.run.")
    frame = source.read_stream(spark)
    require_frame(name, frame)
    return require_stream(name, frame)


def require_frame(name: str, frame: Any) -> None:
    """Raise where something is no DataFrame, or one with a watermark."""
    if not isinstance(getattr(frame, "columns", None), list):
        raise SourceError(f"source '{name}' is a {type(frame).__name__}: give a DataFrame, a path, or a class derived "
                          "from RowSource that reads one.")
    if frame.isStreaming and any(DELAY in field.metadata for field in frame.schema.fields):
        raise SourceError(f"source '{name}' has a watermark of its own: leave out withWatermark and give loom.source "
                          "its `watermark`, so that rows whose clock is ahead are kept from moving it.")


def require_stream(name: str, frame: DataFrame) -> DataFrame:
    """A DataFrame that is a stream, or an error."""
    if not frame.isStreaming:
        raise SourceError(f"source '{name}' is a table, not a stream: make it with spark.readStream, or give its path.")
    return frame


def describe_origin(data: Any) -> str | None:
    """Where the rows of a source lie, in words that are the same at each start; None where that is not known."""
    return data.location() if isinstance(data, RowSource) else None
