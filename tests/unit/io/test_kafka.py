"""Kafka without a broker: what is refused, and what an error says and does not say."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql.types import StructType

from weft.errors import SourceError
from weft.io.kafka import Kafka, hide_secrets, try_kafka

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ada" password="s3same";'
SECRETS = {"kafka.sasl.jaas.config": JAAS, "kafka.ssl.keystore.password": "opens", "kafka.acks": "all"}


class Unconnected(AnalysisException):
    """What Spark raises where it has no connector."""

    def __init__(self) -> None:
        Exception.__init__(self, "[KAFKA_DATA_SOURCE_NOT_ENABLED] Failed to find data source: kafka.")

    def getCondition(self) -> str:
        """The name of the error."""
        return "KAFKA_DATA_SOURCE_NOT_ENABLED"

    def __str__(self) -> str:
        return str(self.args[0])


class Reader:
    """A reader of a session without the connector."""

    def format(self, _: str) -> Reader:
        """The same reader."""
        return self

    def options(self, **_: str) -> Reader:
        """The same reader."""
        return self

    def load(self) -> None:
        """Fail as Spark does."""
        raise Unconnected


@pytest.mark.parametrize("read", [Kafka.read, Kafka.read_stream])
def test_without_the_connector_the_error_names_the_package(read) -> None:
    spark = SimpleNamespace(version="4.3.0", read=Reader(), readStream=Reader())
    package = "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
    with pytest.raises(SourceError, match=package):
        read(Kafka("localhost:9092", "trades", StructType().add("ts", "timestamp")), spark)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"value": "avro"}, "unknown form of values 'avro' of topic 'trades': write json"),
        ({"options": {"subscribe": "x"}}, "said with `topic`"),
        ({"options": {"startingOffsets": "latest"}}, "said with `starting`"),
        ({"options": {"kafka.bootstrap.servers": "x"}}, "said with `servers`"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        Kafka("localhost:9092", "trades", "ts timestamp", **given)


def test_a_column_of_weft_s_own_name_is_refused() -> None:
    with pytest.raises(SourceError, match="rename it"):
        Kafka("localhost:9092", "trades", StructType().add("__WEFT_corrupt", "string")).fields()


def test_a_source_that_is_printed_shows_no_options() -> None:
    assert "s3same" not in repr(Kafka("localhost:9092", "trades", "ts timestamp", options=SECRETS))


def test_errors_hold_no_passwords() -> None:
    said = hide_secrets(f"bad config {JAAS} or password=s3same, opens with acks=all as ada", SECRETS)
    assert "s3same" not in said and "opens" not in said
    assert "acks=all as ada" in said

    def act() -> None:
        raise PySparkException(f"no login with {JAAS}")

    with pytest.raises(SourceError) as caught:
        try_kafka(act, "4.3.0", "cannot read topic 'trades'", SECRETS, SourceError)
    assert "s3same" not in str(caught.value)
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None
