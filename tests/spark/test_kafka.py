"""Kafka: records of a real broker as rows, what does not parse kept as it came, and answers as records."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from tests.fixtures.kafka.broker import Broker
from weft import Loom
from weft.errors import SourceError
from weft.io.kafka import CORRUPT, Kafka, KafkaSink, write_kafka

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("interpreted")]
SCHEMA = "ts timestamp, symbol string, price double, lot decimal(5,2), tag struct<n:int>, ks array<int>"
GOOD = b'{"ts":"2026-03-02T08:00:00.000001Z","symbol":"A","price":1.5,"lot":1.25,"tag":{"n":1},"ks":[1,2]}'
# What is no object of the schema, and what is kept of it: its text, base64 where it is not UTF-8.
BROKEN = {
    b"": "",
    b"junk": "junk",
    b"{": "{",
    b"null": "null",
    b"[]": "[]",
    b'[{"symbol":"A"}]': '[{"symbol":"A"}]',
    b"3": "3",
    b"{'symbol':'A'}": "{'symbol':'A'}",
    b'{"symbol":"A"} junk': '{"symbol":"A"} junk',
    b'{"symbol":"A"}}': '{"symbol":"A"}}',
    b'{"symbol":"A"}{"symbol":"B"}': '{"symbol":"A"}{"symbol":"B"}',
    b'{"symbol":"A","price":"abc"}': '{"symbol":"A","price":"abc"}',
    b'{"ts":"yesterday","price":1}': '{"ts":"yesterday","price":1}',
    b'{"lot":123456.7}': '{"lot":123456.7}',
    b'{"tag":{"n":"x"},"price":1}': '{"tag":{"n":"x"},"price":1}',
    b'{"tag":3}': '{"tag":3}',
    b'{"ks":["x"]}': '{"ks":["x"]}',
    b'{"symbol":"\xff"}': "eyJzeW1ib2wiOiL/In0=",
    b"\xff" * 90: "////" * 30,
}


def send(spark: SparkSession, broker: Broker, topic: str, values: list[bytes | None]) -> None:
    """Put records into a topic, in this order, all into one partition."""
    rows = spark.createDataFrame([(bytearray(v) if v is not None else None, 0) for v in values],
                                 "value binary, partition int").coalesce(1)
    rows.write.format("kafka").option("kafka.bootstrap.servers", broker.servers).option("topic", topic).save()


def streamed(frame: DataFrame, folder: Path) -> list[Row]:
    """The rows of a stream until now."""
    name = f"seen_{uuid4().hex}"
    writer = frame.writeStream.format("memory").queryName(name).option("checkpointLocation", str(folder))
    writer.trigger(availableNow=True).start().awaitTermination()
    return frame.sparkSession.table(name).collect()


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, broker: Broker) -> Kafka:
    """A topic of a good record, every broken one, a tombstone, and records that lack or have fields."""
    send(spark, broker, "mixed", [GOOD, *BROKEN, None, b"{}", b'{"symbol":"B","more":1,"price":null}'])
    return Kafka(broker.servers, "mixed", SCHEMA)


def check_mixed(rows: list[Row]) -> None:
    """Good rows have columns and no text; broken ones a text and no columns."""
    good = Row(ts=datetime(2026, 3, 2, 8, 0, 0, 1), symbol="A", price=1.5, lot=Decimal("1.25"),
               tag=Row(n=1), ks=[1, 2], **{CORRUPT: None})
    assert rows[0] == good
    kept = [row[CORRUPT] for row in rows[1:-2]]
    assert kept == [*BROKEN.values(), ""]
    assert all(value is None for row in rows[1:-2] for name, value in row.asDict().items() if name != CORRUPT)
    assert [(row.symbol, row[CORRUPT]) for row in rows[-2:]] == [(None, None), ("B", None)]


def test_broken_records_and_tombstones_are_kept_and_never_raise(spark: SparkSession, mixed: Kafka) -> None:
    check_mixed(mixed.read(spark).collect())


def test_a_stream_gives_the_rows_of_the_batch(spark: SparkSession, mixed: Kafka, tmp_path: Path) -> None:
    stream = mixed.read_stream(spark)
    assert stream.isStreaming and stream.schema == mixed.read(spark).schema
    check_mixed(streamed(stream, tmp_path))


def test_an_offset_range_read_twice_gives_the_same_rows(spark: SparkSession, broker: Broker) -> None:
    send(spark, broker, "range", [b"0", b"1", b"2", b"3"])
    ends = {"endingOffsets": '{"range":{"0":3,"1":0}}'}
    part = Kafka(broker.servers, "range", SCHEMA, starting='{"range":{"0":1,"1":0}}', options=ends)
    first = part.read(spark).collect()
    send(spark, broker, "range", [b"4"])
    assert [row[CORRUPT] for row in first] == ["1", "2"]
    assert part.read(spark).collect() == first
    # A batch of a source that streams from the end on reads what is there.
    assert Kafka(broker.servers, "range", SCHEMA, starting="latest").read(spark).count() == 5


def test_what_is_written_reads_back(spark: SparkSession, broker: Broker) -> None:
    schema = "at timestamp, `a.b` double, none string, local timestamp_ntz"
    values = [("low", datetime(2026, 3, 2, 8, 0, 0, 7), 1e-300, None, datetime(2026, 3, 2, 9, 0, 0, 9)),
              ("low", None, float("nan"), None, None),
              ("high", None, float("-inf"), "x", None)]
    rows = spark.createDataFrame(values, f"q string, {schema}")
    write_kafka(rows, "q", broker.servers, "answers", {"kafka.acks": "all"})
    write_kafka(rows, "q", broker.servers, "answers-{query}")
    everything = Kafka(broker.servers, "answers", schema).read(spark).drop(CORRUPT)
    assert sorted(map(str, everything.collect())) == sorted(map(str, rows.drop("q").collect()))
    assert Kafka(broker.servers, "answers-high", schema).read(spark).count() == 1
    raw = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.servers)
    found = raw.option("subscribe", "answers-low").option("includeHeaders", "true").load().collect()
    assert len(found) == 2
    assert {bytes(row.key) for row in found} == {b"low"} == {bytes(row.headers[0].value) for row in found}
    assert any(b'"none":null' in bytes(row.value) for row in found)


@pytest.mark.parametrize("schema", ["ts timestamp,", "ts thing", "int"])
def test_a_schema_that_cannot_be_read_is_said(spark: SparkSession, schema: str) -> None:
    with pytest.raises(SourceError, match="schema of source 'trades'"):
        Kafka("127.0.0.1:1", "trades", schema).read(spark)


QUERIES = {
    "mean": "SELECT symbol, window.end AS at, avg(price) AS mean, count(*) AS n FROM trades "
            "GROUP BY symbol, window(ts, '20 seconds', '5 seconds')",
    "high": "SELECT symbol, window.end AS at, max(price) AS high FROM trades "
            "GROUP BY symbol, window(ts, '1 minute', '10 seconds')",
    "total": "SELECT symbol, window.end AS at, sum(price) AS total FROM trades "
             "GROUP BY symbol, window(ts, '30 seconds', '15 seconds')",
}
BEGIN = datetime(2026, 3, 2, 8, tzinfo=UTC)


def burst(first: int, last: int) -> list[bytes | None]:
    """Trades of some seconds, two a second, with what no query can use among them."""
    made = [json.dumps({"ts": (BEGIN + timedelta(seconds=second)).isoformat(), "symbol": symbol, "price": second % 7})
            for second in range(first, last) for symbol in "AB"]
    return [*(text.encode() for text in made), b"junk", None]


def make_loom(spark: SparkSession, broker: Broker, topic: str) -> Loom:
    """The three queries over a topic."""
    loom = Loom(spark)
    source = Kafka(broker.servers, topic, "ts timestamp, symbol string, price bigint")
    loom.source("trades", source, time="ts", watermark="5 seconds")
    for name, text in QUERIES.items():
        loom.query(name, text)
    return loom


def closed(rows: DataFrame, end: datetime) -> list[str]:
    """The answers of the windows that end by a time."""
    return sorted(map(str, rows.where(rows["at"] <= end).collect()))


def test_woven_queries_over_a_broker_that_goes_and_returns(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Bursts, an outage, a restart from the checkpoint: the answers of the batch, once each, and one scan for all."""
    send(spark, broker, "trades", burst(0, 40))
    loom, out, place = make_loom(spark, broker, "trades"), str(tmp_path / "out"), tmp_path / "checkpoint"
    with loom.start(place, sink=out) as stream:
        assert len(stream.scans) == 1
        stream.processAllAvailable()
        broker.kill()
        time.sleep(3)
        assert stream.isActive
        broker.start()
        send(spark, broker, "trades", burst(40, 90))
        stream.processAllAvailable()
    # One row far behind the others closes all their windows.
    send(spark, broker, "trades", [*burst(90, 120), *burst(600, 601)])
    with loom.start(place, sink=out) as stream:
        stream.processAllAvailable()
    end = BEGIN + timedelta(seconds=500)
    with loom.run() as batch:
        for name in QUERIES:
            expected = closed(batch[name], end)
            assert len(expected) > 5
            assert closed(spark.read.parquet(f"{out}/{name}"), end) == expected
    letters = [json.loads(line) for file in place.rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert sorted(letter["record"] for letter in letters) == [""] * 4 + ["junk"] * 4
    loom.close()


def test_answers_of_a_stream_go_to_topics(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    send(spark, broker, "few", [*burst(0, 30), *burst(600, 601)])
    loom = make_loom(spark, broker, "few")
    with loom.start(tmp_path, sink=KafkaSink(broker.servers, "out-{query}")) as stream:
        stream.processAllAvailable()
    end = BEGIN + timedelta(seconds=500)
    with loom.run() as batch:
        for name in ("mean", "total"):
            columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in batch[name].schema)
            found = Kafka(broker.servers, f"out-{name}", columns).read(spark).drop(CORRUPT)
            assert closed(found, end) == closed(batch[name], end) != []
    loom.close()


def test_equal_records_are_dropped_one_by_one_and_the_same_by_stream_and_batch(spark, broker, tmp_path):
    """Partition and offset tell records apart, whatever they hold."""
    record = b'{"ts":"2026-03-02T08:00:00Z","symbol":"A","price":1.5}'
    send(spark, broker, "equal", [*[record] * 400, b'{"ts":"2026-03-02T09:00:00Z"}', b"junk"])
    loom = Loom(spark)
    loom.source("trades", Kafka(broker.servers, "equal", SCHEMA), time="ts", watermark="0 seconds", drop=0.5)
    loom.query("q", "SELECT symbol, count(*) AS n FROM trades GROUP BY symbol, window(ts, '1 minute') "
                    "HAVING symbol IS NOT NULL")
    (batch,) = loom.run()["q"].collect()
    assert 300 < batch["n"] < 500 and batch["n"] != 400
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available") as stream:
        stream.awaitTermination()
    assert spark.read.parquet(str(tmp_path / "out" / "q")).collect() == [batch]
    letters = [json.loads(line) for file in (tmp_path / "checkpoint" / "dead_letters").rglob("*.jsonl")
               for line in file.read_text().splitlines()]
    assert [letter["record"] for letter in letters] == ["junk"]
