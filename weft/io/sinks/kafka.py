"""A Kafka topic as a sink, by name."""

from __future__ import annotations

from collections.abc import Mapping

from weft.errors import RunError
from weft.io.answer_sink import AnswerSink, Columns, NamedSink, SinkFacts

# Spark's writer to Kafka runs a plan of its own, of which an observation hears nothing: who waits waits for ever.
FACTS = SinkFacts("kafka", batch=False, columns=Columns(unique=True))


def open_kafka(said: Mapping[str, str]) -> AnswerSink:
    """The topic, with `servers`; whatever is said besides are options of the connector and the client."""
    from weft.io.kafka import KafkaSink  # it imports Spark

    given = {key: value for key, value in said.items() if key not in ("format", "servers", "topic")}
    for name in ("servers", "topic"):
        if not said.get(name):
            raise RunError(f"the kafka sink needs '{name}': write "
                           "{'format': 'kafka', 'servers': 'broker:9092', 'topic': 'answers'}.")
    return KafkaSink(said["servers"], said["topic"], given)


kafka = NamedSink(FACTS, open_kafka)
