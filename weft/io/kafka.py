"""Kafka: a topic of JSON records as a source, and answers as records of a topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, StringType, StructType

from weft.errors import RunError, SourceError, WeftError
from weft.io.answer_sink import Answers, AnswerSink
from weft.io.arrivals import CORRUPT, ROW, quoted
from weft.io.java import Py4JError, spark_reason
from weft.io.row_source import RowSource
from weft.io.schemas import parse_schema
from weft.io.sinks.kafka import FACTS as SINK_FACTS
from weft.io.sources.kafka import FACTS as SOURCE_FACTS

T = TypeVar("T")
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
RECORD, END = "__weft_record", "__weft_end"
SERVERS = "kafka.bootstrap.servers"
VALUES = ("json",)
SECRET = re.compile(r"password|secret|token|jaas|credential|(ssl\..*\.key$)", re.IGNORECASE)
QUOTED = re.compile(r"""(?:password|secret|token)\w*\s*=\s*["']?([^"';\s]+)""", re.IGNORECASE)
# Nulls stay in a record and times keep their microseconds, so that what is written reads back as it was.
JSON_WRITE = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True)
class Kafka(RowSource):
    """A topic whose records are JSON objects; options are the connector's and, as `kafka.*`, the client's."""

    servers: str
    topic: str
    schema: str | StructType
    value: str = "json"
    starting: str = "earliest"
    # Options hold passwords, and a value that is printed prints its fields.
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    facts = SOURCE_FACTS

    def __post_init__(self) -> None:
        if self.value not in VALUES:
            raise SourceError(f"unknown form of values '{self.value}' of topic '{self.topic}': write json.")
        taken = {SERVERS: "servers", "subscribe": "topic", "startingoffsets": "starting"}
        for name in self.options:
            if name.lower() in taken:
                raise SourceError(f"option '{name}' of topic '{self.topic}' is said with `{taken[name.lower()]}`.")

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The topic as a stream, from `starting` on."""
        fields, settings = self.fields(), self._settings(self.starting)
        records = self._loaded(spark, lambda: spark.readStream.format("kafka").options(**settings).load())
        return parse_records(records, fields)

    def read(self, spark: SparkSession) -> DataFrame:
        """The records that are in the topic now, with the columns of the stream."""
        # Where a stream begins at the end, a batch reads what is there: its end is where that stream begins.
        settings = self._settings("earliest" if self.starting == "latest" else self.starting)
        fields = self.fields()
        records = self._loaded(spark, lambda: spark.read.format("kafka").options(**settings).load())
        return parse_records(records, fields)

    def read_numbered(self, spark: SparkSession, stream: bool) -> DataFrame:
        """The records with a hash of partition and offset, which tells them apart whatever they hold."""
        settings = self._settings("earliest" if self.starting == "latest" and not stream else self.starting)
        reader = (spark.readStream if stream else spark.read).format("kafka").options(**settings)
        records = self._loaded(spark, reader.load)
        return parse_records(records, self.fields(), F.xxhash64("topic", "partition", "offset").alias(ROW))

    @property
    def keeps_past(self) -> bool:
        """Unless a stream begins with the records that come next."""
        return self.starting != "latest"

    def location(self) -> str:
        """The topic, without servers and passwords."""
        return f"kafka {self.topic}"

    def _settings(self, starting: str) -> dict[str, str]:
        given = {key: str(value) for key, value in self.options.items()}
        return {**given, SERVERS: self.servers, "subscribe": self.topic, "startingOffsets": starting}

    def _loaded(self, spark: SparkSession, load: Callable[[], DataFrame]) -> DataFrame:
        return try_kafka(load, spark.version, f"cannot read topic '{self.topic}'", self.options, SourceError)

    def fields(self) -> StructType:
        """The schema that records have."""
        fields = parse_schema(self.topic, self.schema) if isinstance(self.schema, str) else self.schema
        if CORRUPT in (name.lower() for name in fields.names):
            raise SourceError(f"topic '{self.topic}' has a column '{CORRUPT}', which Weft needs: rename it.")
        return fields


def parse_records(records: DataFrame, fields: StructType, *besides: Column) -> DataFrame:
    """The columns of JSON records; one that is no such object has only nulls, and its text in `__weft_corrupt`. What
    stands `besides` is added to them."""
    text = F.col("value").cast("string")
    kept = records.select(*besides).columns if besides else []
    record = F.from_json(frame_records(text), frame(fields), strict_json()).alias("found")
    found = records.select(*besides, "value", record)
    good = F.col(f"found.{CORRUPT}").isNull() & F.col(f"found.{RECORD}").isNotNull() & (F.col(f"found.{END}") == 1)
    # Spark fills what it can of a broken record; a price without its symbol must not reach a window.
    columns = [F.when(F.col("good"), F.col("found")[RECORD][name]).alias(name) for name in fields.names]
    marked = found.select(*kept, "value", "found", F.coalesce(good, F.lit(False)).alias("good"))
    return marked.select(*columns, F.when(~F.col("good"), raw_text(F.col("value"))).alias(CORRUPT), *kept)


def frame_records(text: Column) -> Column:
    """A record inside an object with a field after it, and null where it is not UTF-8.

    Spark's reader stops at the end of the first value: `{"a":1} junk` would pass. In the frame what follows is seen.
    """
    inside = F.concat(F.lit(f'{{"{RECORD}":'), text, F.lit(f',"{END}":1}}'))
    return F.when(F.is_valid_utf8(text), inside)


def frame(fields: StructType) -> StructType:
    """The schema of a record in its frame."""
    return StructType().add(RECORD, fields).add(END, ByteType()).add(CORRUPT, StringType())


def strict_json() -> dict[str, str]:
    """Options that take JSON and nothing like it, and keep a broken record instead of raising."""
    return {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "allowSingleQuotes": "false"}


def raw_text(value: Column) -> Column:
    """What a record held: its text, base64 where it is not UTF-8, empty where it held nothing."""
    text = value.cast("string")
    # A setting of the session decides whether Spark breaks base64 into lines.
    encoded = F.translate(F.base64(value), "\r\n", "")
    return F.coalesce(F.when(F.is_valid_utf8(text), text).otherwise(encoded), F.lit(""))


@dataclass(frozen=True)
class KafkaSink(AnswerSink):
    """A topic that the answers of a stream go to, as `write_kafka` writes them; `{query}` in it is the query's name.
    At least once: a trigger that is repeated after a crash writes its records again."""

    servers: str
    topic: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    facts = SINK_FACTS

    def write(self, answers: Answers, trigger: int | None) -> None:
        """Write the rows of all queries."""
        for _, rows in answers.together():
            write_kafka(rows, answers.query_column, self.servers, self.topic, self.options)

    def location(self) -> str:
        """The topic, without servers and passwords."""
        return f"the topic {self.topic}"


def write_kafka(
    rows: DataFrame, query_column: str, servers: str, topic: str, options: Mapping[str, str] | None = None
) -> None:
    """Write each row as a JSON record whose key, and header `query`, is the query's name; at least once each.

    `{query}` in the topic stands for the query's name: one topic a query.
    """
    given = {key: str(value) for key, value in (options or {}).items()}
    records = as_records(rows, query_column, topic)
    writer = records.write.format("kafka").options(**given, **{SERVERS: servers})
    try_kafka(writer.save, rows.sparkSession.version, f"cannot write to topic '{topic}'", given, RunError)


def as_records(rows: DataFrame, query_column: str, topic: str) -> DataFrame:
    """Rows as the connector's sink wants them: topic, key, value and headers."""
    name = F.col(query_column).cast("string")
    rest = [F.col(quoted(column)) for column in rows.columns if column != query_column]
    header = F.struct(F.lit("query").alias("key"), name.cast("binary").alias("value"))
    return rows.select(
        F.replace(F.lit(topic), F.lit("{query}"), name).alias("topic"),
        name.alias("key"),
        F.to_json(F.struct(*rest), JSON_WRITE).alias("value"),
        F.array(header).alias("headers"),
    )


def try_kafka(
    act: Callable[[], T], version: str, what: str, options: Mapping[str, str], kind: type[WeftError]
) -> T:
    """What `act` gives, or an error that says what to do and holds no password."""
    try:
        return act()
    except (PySparkException, Py4JError) as error:
        # The cause is left out on purpose: Java's own text may hold every setting of the client.
        why = connector_advice(error, version) or hide_secrets(spark_reason(error), options)
        raise kind(f"{what}: {why}") from None


def connector_advice(error: Exception, version: str) -> str | None:
    """What to do where Spark has no connector to Kafka, else None."""
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    if condition != "KAFKA_DATA_SOURCE_NOT_ENABLED":
        return None
    return f"Spark has no connector to Kafka. Start it with spark.jars.packages={CONNECTOR}:{version}."


def hide_secrets(text: str, options: Mapping[str, str]) -> str:
    """A text in which the values of secret options are stars."""
    values = [str(value) for key, value in options.items() if SECRET.search(key)]
    inner = [part for value in values for part in QUOTED.findall(value)]
    # The longest first: a password within a longer setting must not break the longer one up.
    for secret in sorted({*values, *inner} - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
