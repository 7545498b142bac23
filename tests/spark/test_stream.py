"""Streams: whatever comes in whatever triggers, the answers of closed windows are the batch run's, each once."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.harness.differential import collect, compare
from tests.strategies.arrivals import arrive, marker
from tests.strategies.queries import folded, related_queries
from tests.strategies.tables import SCHEMA, Shape, rows_of
from weft import Loom
from weft.errors import PlanError, RunError, SourceError, StreamWarning
from weft.optimize.groupings import may_derive
from weft.spark.stream.partial import is_cut_in_workers

DELAY = timedelta(seconds=4)
TRADES = "ts timestamp, symbol string, venue string, price double, size bigint"
VOLUME = ("SELECT symbol, window.end AS at, sum(size) AS volume FROM trades "
          "GROUP BY symbol, window(ts, '20 seconds', '5 seconds')")
HIGH = ("SELECT symbol, window.end AS at, max(price) AS high FROM trades "
        "GROUP BY symbol, window(ts, '40 seconds', '10 seconds')")


@pytest.fixture(params=["filters", "shards"])
def sharing(request, monkeypatch):
    """Everything is shared that may be."""
    monkeypatch.setattr("weft.optimize.predicates.FINER", 1000)
    most = 10_000 if request.param == "filters" else 0
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)


def put(spark, folder: Path, files, schema: str = SCHEMA) -> None:
    """Files of rows, all of them there at once: a trigger that saw some of them would find rows of the others late."""
    made = folder.parent / f"made_{uuid4().hex}"
    for i, rows in enumerate(files):
        spark.createDataFrame(list(rows), schema).coalesce(1).write.parquet(str(made / str(i)))
    for part in list(made.glob("*/part-*.parquet")):
        part.rename(folder / f"{uuid4().hex}.parquet")


def make_loom(spark, folder: Path, texts: list[str]) -> Loom:
    """A loom over the files of a folder."""
    loom = Loom(spark)
    loom.source("t", str(folder), time="ts", format="parquet", schema=SCHEMA, watermark=f"{DELAY.seconds} seconds")
    for i, text in enumerate(texts):
        loom.query(f"q{i}", text)
    return loom


def answers(spark, loom: Loom, sink: Path) -> dict:
    """What a stream wrote, query by query."""
    kinds = {name: frame.schema for name, frame in loom.run().items()}
    return collect({name: spark.read.schema(kind).parquet(f"{sink}/{name}") if (sink / name).exists()
                    else spark.createDataFrame([], kind) for name, kind in kinds.items()})


@pytest.fixture(params=["spark", "workers"])
def cutting(request, monkeypatch):
    """What queries ask so that Spark's aggregation, or the workers, cut the stream into slices."""
    monkeypatch.setattr("weft.spark.stream.partial.MOST_LIFTED", 10_000)
    found = []
    monkeypatch.setattr("weft.spark.stream.flow.is_cut_in_workers",
                        lambda stage: found.append(is_cut_in_workers(stage)) or found[-1])
    yield folded() if request.param == "workers" else None
    assert request.param == "spark" or all(found)


@pytest.mark.usefixtures("interpreted")
def test_any_stream_gives_the_batch_runs_rows_for_closed_windows(spark, sharing, cutting, tmp_path):
    """Random queries woven as far as they go, over random rows out of order, in bursts, with gaps and rows too late."""

    @settings(max_examples=1, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(texts=st.lists(related_queries(cutting), min_size=4, max_size=6), seed=st.integers(0, 2**32 - 1),
           span=st.sampled_from([40, 90]), keys=st.sampled_from([3, 40]), odd=st.sampled_from([0.0, 0.15]))
    def check(texts, seed, span, keys, odd):
        home = tmp_path / uuid4().hex
        (home / "in").mkdir(parents=True)
        rows = rows_of(Shape(150, span, 1_700_000_000, keys, 0.1, odd, True, seed))
        coming = arrive(rows, DELAY, seed)
        loom = make_loom(spark, home / "in", texts)
        stream = loom.start(home / "checkpoint", str(home / "out"))
        try:
            for i, files in enumerate(coming.triggers):
                if i == 2:  # a restart in the middle goes on from the checkpoint
                    stream.stop()
                    stream = loom.start(home / "checkpoint", str(home / "out"))
                put(spark, home / "in", files)
                stream.processAllAvailable()
            put(spark, home / "in", [[marker(rows, timedelta(days=2))]])
            stream.processAllAvailable()
        finally:
            stream.stop()
        batch = Loom(spark)
        batch.source("t", spark.createDataFrame(list(coming.on_time), SCHEMA), time="ts")
        for i, text in enumerate(texts):
            batch.query(f"q{i}", text)
        ours, theirs = answers(spark, batch, home / "out"), collect(dict(batch.run()))
        assert [line for name in theirs for line in compare(name, ours[name], theirs[name])] == []
        untimed = sum(row[0] is None for row in rows)
        letters = [json.loads(line) for file in (home / "checkpoint" / "dead_letters").rglob("*.jsonl")
                   for line in file.read_text().splitlines()]
        assert len(letters) == untimed * len(stream.scans)
        assert {letter["reason"] for letter in letters} <= {"no event time"}

    check()


@pytest.fixture
def trades(spark, tmp_path):
    """A loom over a folder of JSON trades, and the folder."""
    folder = tmp_path / "in"
    folder.mkdir()
    loom = Loom(spark)
    loom.source("trades", str(folder), time="ts", format="json", schema=TRADES, watermark="0 seconds")
    yield loom, folder
    loom.close()


def trade(seconds: int, symbol: str = "a", size: int = 1, day: str = "2026-01-01") -> str:
    """A trade as a line of JSON."""
    at = f"{day}T00:{seconds // 60:02d}:{seconds % 60:02d}Z"
    return json.dumps({"ts": at, "symbol": symbol, "venue": "x", "price": 1.0 * size, "size": size})


def drop(folder: Path, *lines: str) -> None:
    """A file of lines, there at once."""
    made = folder.parent / uuid4().hex
    made.write_text("\n".join(lines) + "\n")
    made.rename(folder / f"{made.name}.json")


@pytest.mark.usefixtures("interpreted")
def test_records_that_cannot_be_used_are_kept_and_counted_and_stop_nothing(trades, tmp_path):
    loom, folder = trades
    loom.query("volume", VOLUME)
    with loom.start(tmp_path / "checkpoint", "memory", dead_letters=str(tmp_path / "dead")) as stream:
        drop(folder, trade(1, size=5), '{"ts": broken', '{"ts": "2026-01-01T00:00:02Z", "size": "many"}',
             json.dumps({"symbol": "b"}), trade(3, day="2999-01-01"))
        stream.processAllAvailable()
        drop(folder, trade(100))
        stream.processAllAvailable()
        (scan,) = stream.scans
        counted = sum(p.observedMetrics["weft"].dead for p in scan.query.recentProgress if p.observedMetrics)
    letters = [json.loads(line) for file in (tmp_path / "dead").rglob("*.jsonl")
               for line in file.read_text().splitlines()]
    assert sorted(letter["reason"] for letter in letters) == [
        "corrupt", "corrupt", "event time too far in the future", "no event time"]
    assert counted == 4
    assert '{"ts": broken' in {letter["record"] for letter in letters}
    assert {row["at"].second: row["volume"] for row in stream.memory.table("volume").to_pylist()} == {
        5: 5, 10: 5, 15: 5, 20: 5}


@pytest.mark.usefixtures("interpreted")
def test_keys_that_fall_silent_report_while_their_windows_slide(trades, tmp_path):
    loom, folder = trades
    loom.query("volume", VOLUME)
    seen = []
    with loom.start(tmp_path / "checkpoint", lambda query, rows, number: seen.extend(rows.collect())) as stream:
        drop(folder, trade(1, "a", 3), trade(2, "b", 4))
        stream.processAllAvailable()
        for second in (7, 12, 17, 100):
            drop(folder, trade(second, "b", 1))
            stream.processAllAvailable()
    silent = sorted((r["at"].second, r["volume"]) for r in seen if r["symbol"] == "a")
    assert silent == [(5, 3), (10, 3), (15, 3), (20, 3)]


@pytest.mark.usefixtures("interpreted")
def test_a_restart_with_other_queries_says_what_differs(trades, tmp_path):
    loom, _ = trades
    loom.query("volume", VOLUME)
    loom.query("high", HIGH)
    loom.start(tmp_path / "checkpoint", str(tmp_path / "out")).stop()
    with pytest.raises(RunError, match=r"leaves out 'high'.*Start again with the queries as they were"):
        loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), queries=["volume"])
    loom.query("more", VOLUME)
    with pytest.raises(RunError, match=r"adds 'more'"):
        loom.start(tmp_path / "checkpoint", str(tmp_path / "out"))
    with pytest.raises(RunError, match=r"holds the answers of another stream"):
        loom.start(tmp_path / "another", str(tmp_path / "out"))


def test_what_cannot_start_says_why(spark, trades, tmp_path):
    loom, folder = trades
    loom.query("volume", VOLUME)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot .* the checkpoint"):
        loom.start(tmp_path / "file" / "checkpoint", "noop")
    with pytest.raises(SourceError, match=r"which is no interval"):
        loom.start(tmp_path / "checkpoint", "noop", max_clock_skew="soon")
    with pytest.raises(PlanError, match=r"'daba' cannot fold .* in a stream"):
        loom.start(tmp_path / "checkpoint", "noop", algorithm="daba")
    assert not (tmp_path / "checkpoint").exists()
    other = Loom(spark)
    other.source("trades", str(folder), time="ts", format="json", schema=TRADES)
    other.query("volume", VOLUME)
    with pytest.raises(SourceError, match=r"has no watermark.*watermark='10 minutes'"):
        other.start(tmp_path / "checkpoint", "noop")
    rate = spark.readStream.format("rate").load()
    other.source("rate", rate, time="timestamp", watermark="1 second")
    other.query("rows", "SELECT window.end, count(*) FROM rate GROUP BY window(timestamp, '1 second')")
    with pytest.raises(SourceError, match=r"is a stream, which has no end to run to"):
        other.run("noop", ["rows"])
    with pytest.raises(SourceError, match=r"has a watermark of its own"):
        other.source("marked", rate.withWatermark("timestamp", "1 second"), time="timestamp")
    other.close()


@pytest.mark.usefixtures("interpreted")
def test_a_stream_goes_on_in_another_zone(spark, trades, tmp_path):
    """Kept slices hold moments, whatever zone a session shows them in."""
    loom, folder = trades
    loom.query("last", "SELECT symbol, window.end AS at, max(ts) AS last, count(DISTINCT ts) AS times FROM trades "
                       "GROUP BY symbol, window(ts, '20 seconds', '5 seconds')")
    loom.query("latest", "SELECT symbol, date_trunc('HOUR', ts) AS hour, window.end AS at, max(ts) AS last FROM trades "
                         "GROUP BY symbol, date_trunc('HOUR', ts), window(ts, '20 seconds', '5 seconds')")
    zone = spark.conf.get("spark.sql.session.timeZone")
    for name, line in ((zone, trade(1)), ("America/New_York", trade(12)), (zone, trade(100))):
        spark.conf.set("spark.sql.session.timeZone", name)
        said = nullcontext() if name == zone else pytest.warns(StreamWarning, match=r"is America/New_York")
        try:
            with said:
                stream = loom.start(tmp_path / "checkpoint", str(tmp_path / "out"))
            with stream:
                drop(folder, line)
                stream.processAllAvailable()
        finally:
            spark.conf.set("spark.sql.session.timeZone", zone)
    for query in ("last", "latest"):
        rows = spark.read.parquet(str(tmp_path / "out" / query)).collect()
        assert {row["at"].second: row["last"].second for row in rows} == {5: 1, 10: 1, 15: 12, 20: 12, 25: 12, 30: 12}
