"""Lines of a socket as a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.errors import SourceError
from weft.io.row_source import NamedSource, RowSource, SourceFacts, Spelling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Socket(RowSource):
    """Lines of JSON from a host and port. What was read cannot be read again, so a crash loses the trigger's lines."""

    place: str
    schema: str
    options: Mapping[str, str] = field(default_factory=dict)
    facts = SourceFacts("socket", batch=False, exactly_once=False, needs_schema=True)

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The lines from now on."""
        from weft.io.kafka import parse_records
        from weft.io.schemas import parse_schema

        host, _, port = self.place.rpartition(":")
        if not host or not port.isdigit():
            raise SourceError(f"'{self.place}' is no host and port: write localhost:9999.")
        lines = spark.readStream.format("socket").options(**self.options, host=host, port=port).load()
        return parse_records(lines, parse_schema(self.place, self.schema))

    def location(self) -> str:
        """The host and port."""
        return f"socket {self.place}"


def open_socket(spelled: Spelling) -> Socket:
    """The socket at a host and port."""
    return Socket(spelled.place, str(spelled.schema), spelled.options)


socket = NamedSource(Socket.facts, open_socket)
