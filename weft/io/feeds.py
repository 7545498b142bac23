"""Feeds: sources that are no files, by the name of their format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from weft.errors import SourceError
from weft.io.formats import FEEDS
from weft.io.kafka import Kafka, parse_records
from weft.io.sources import schema_of


@dataclass(frozen=True)
class Rate:
    """Spark's own counter: rows of `timestamp` and `value`, so many a second, to try things out."""

    options: Mapping[str, str] = field(default_factory=dict)

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The counter from now on."""
        return spark.readStream.format("rate").options(**self.options).load()

    read = read_stream  # there is nothing to read but the stream


@dataclass(frozen=True)
class Socket:
    """Lines of JSON from a host and port. What was read cannot be read again, so a crash loses the trigger's lines."""

    place: str
    schema: str
    options: Mapping[str, str] = field(default_factory=dict)

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The lines from now on."""
        host, _, port = self.place.rpartition(":")
        if not host or not port.isdigit():
            raise SourceError(f"'{self.place}' is no host and port: write localhost:9999.")
        lines = spark.readStream.format("socket").options(**self.options, host=host, port=port).load()
        return parse_records(lines, schema_of(self.place, self.schema))

    read = read_stream


def find_feed(name: str, place: str, format: str, options: Mapping[str, str] | None,
              schema: str | None) -> Kafka | Rate | Socket | None:
    """The feed that a format names, at a place such as a topic; None where the format is one of files."""
    given = dict(options or {})
    if format.lower() not in (feed.name for feed in FEEDS):
        return None
    if format.lower() == "rate":
        return Rate(given)
    if not schema:
        raise SourceError(f"source '{name}' needs a schema: write schema = 'ts timestamp, price double'.")
    if format.lower() == "socket":
        return Socket(place, schema, given)
    servers = given.pop("servers", None)
    if not servers:
        raise SourceError(f"source '{name}' needs the option 'servers': the host and port of a Kafka broker.")
    return Kafka(servers, place, schema, starting=given.pop("starting", "earliest"), options=given)
