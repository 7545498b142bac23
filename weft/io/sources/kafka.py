"""A Kafka topic as a source, by name."""

from __future__ import annotations

from weft.errors import SourceError
from weft.io.row_source import NamedSource, RowSource, SourceFacts, Spelling

FACTS = SourceFacts("kafka", needs_schema=True)


def open_kafka(spelled: Spelling) -> RowSource:
    """The topic, with `servers` and `starting` among the options."""
    from weft.io.kafka import Kafka  # it imports Spark

    given = dict(spelled.options)
    servers = given.pop("servers", None)
    if not servers:
        raise SourceError(f"source '{spelled.name}' needs the option 'servers': the host and port of a Kafka broker.")
    starting = given.pop("starting", "earliest")
    return Kafka(servers, spelled.place, str(spelled.schema), starting=starting, options=given)


kafka = NamedSource(FACTS, open_kafka)
