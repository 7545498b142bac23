"""Joins of streams: the rows of a batch run however rows are cut into triggers, idle sources, restarts, refusals."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from weft import Loom
from weft.errors import RunError, SourceError
from weft.spark.stream.metrics import MetricsListener, listen_to

SCHEMA = "ts timestamp, k string, g int, n bigint"
START = datetime(2024, 3, 1, tzinfo=UTC)
ON = "t0.k = t1.k AND t1.ts BETWEEN t0.ts - INTERVAL '30' SECOND AND t0.ts + INTERVAL '10' SECOND"
W = "GROUP BY t0.k, window(t0.ts, '2 minutes', '1 minute')"
QUERIES = {
    "pair": f"SELECT t0.k, window.start AS at, sum(t1.n) AS s, count(*) AS c FROM a t0 JOIN b t1 ON {ON} {W}",
    "some": "SELECT t0.k, window.start AS at, sum(t0.n) AS s, count(*) AS c FROM b t1, a t0 "
            f"WHERE {ON} AND t1.g < 2 {W}",
    "other": "SELECT t1.k, window.start AS at, median(t0.n) AS s, count(*) AS c FROM a t0 [RANGE 10 s], "
             "b t1 [RANGE 30 s] WHERE t0.k = t1.k GROUP BY t1.k, window(t1.ts, '1 minute')",
    "three": "SELECT sector AS k, window.start AS at, sum(t2.n * t0.n) AS s, count(*) AS c FROM a t0 JOIN b t1 "
             f"ON {ON} JOIN c t2 ON t2.k = t1.k AND t2.ts BETWEEN t1.ts AND t1.ts + INTERVAL 20 SECONDS "
             "JOIN firms f ON f.k = t2.k GROUP BY sector, window(t0.ts, '2 minutes', '1 minute')",
    "table": "SELECT sector AS k, window.start AS at, sum(n) AS s, count(*) AS c FROM a JOIN firms USING (k) "
             "GROUP BY sector, window(ts, '1 minute')",
    "twice": "SELECT x.k, window.start AS at, sum(y.n) AS s, count(*) AS c FROM a x JOIN a y ON x.k = y.k "
             "AND y.ts > x.ts AND y.ts <= x.ts + INTERVAL 20 SECONDS GROUP BY x.k, window(x.ts, '1 minute')",
}


def record(second: float, key: str | None, number: int) -> str:
    """A row as JSON."""
    return json.dumps({"ts": (START + timedelta(seconds=second)).isoformat(), "k": key, "g": number % 4, "n": number})


def rows_of(name: str, count: int = 90) -> list[str]:
    """Rows of one source on a grid of ten seconds, out of order by up to 40 s, most of one key, some of none."""
    rng = np.random.default_rng(ord(name))
    keys = [None if rng.random() < 0.05 else f"k{min(int(rng.geometric(0.5)) - 1, 3)}" for _ in range(count)]
    return [record(10 * (i + int(rng.integers(-2, 3))), key, i) for i, key in enumerate(keys, 4)]


def put(folder: Path, name: str, number: int, lines: list[str]) -> None:
    """A file of one source, at once."""
    (folder / name).mkdir(parents=True, exist_ok=True)
    hidden = folder / name / f"_{number}.json"
    hidden.write_text("\n".join(lines) + "\n")
    os.utime(hidden, (1_700_000_000 + number,) * 2)  # Spark takes files by their time
    hidden.rename(folder / name / f"{number:03d}.json")


def loom_over(spark, folder: Path, names: tuple[str, ...] = tuple(QUERIES), **other: str) -> Loom:
    """The queries over the files of a folder."""
    loom = Loom(spark)
    for name in "abc":
        (folder / name).mkdir(parents=True, exist_ok=True)
        loom.source(name, str(folder / name), time="ts", format="json", schema=SCHEMA, watermark="50 seconds",
                    options={"maxFilesPerTrigger": "1"})
    loom.source("firms", spark.createDataFrame([(f"k{i}", f"s{i % 2}") for i in range(3)], "k string, sector string"))
    for name in names:
        loom.query(name, other.get(name, QUERIES[name]))
    return loom


def read(spark, folder: Path, name: str) -> list[tuple]:
    """What a stream wrote of a query."""
    found = spark.read.parquet(str(folder / "out" / name)).select("k", "at", "s", "c")
    return sorted(tuple(row) for row in found.collect())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("pieces", "names"), [pytest.param(2, QUERIES, id="all", marks=pytest.mark.long),
                                               pytest.param(4, ("pair", "three"), id="some")])
def test_however_rows_are_cut_the_answers_are_those_of_a_batch(spark, tmp_path, pieces, names):
    """Pairs, three streams, a stream with itself, tables, join windows: each answer once, and right."""
    for name in "abc":
        lines, rng = rows_of(name), np.random.default_rng(pieces)
        cuts = [0, *sorted(rng.choice(range(1, len(lines)), pieces - 1, replace=False).tolist()), len(lines)]
        for number in range(pieces):
            put(tmp_path, name, number, lines[cuts[number]:cuts[number + 1]])
        put(tmp_path, name, pieces, [record(9000, "last", 1)])
    loom = loom_over(spark, tmp_path, tuple(names))
    loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available").awaitTermination()
    with loom.run() as results:
        for name in names:
            expected = sorted(tuple(row) for row in results[name].select("k", "at", "s", "c").collect())
            closed = [row for row in expected if row[0] != "last"]
            assert read(spark, tmp_path, name) == closed
            assert len(closed) > 10
    loom.close()


@pytest.mark.usefixtures("interpreted")
def test_an_idle_source_holds_answers_back_and_is_named(spark, tmp_path):
    """Nothing is answered or lost until it moves on; each source's watermark and the rows held are told."""
    lines = {name: rows_of(name, 40) for name in "ab"}
    put(tmp_path, "a", 0, [*lines["a"], record(9000, "last", 1)])
    put(tmp_path, "b", 0, lines["b"][:5])
    loom = loom_over(spark, tmp_path, ("pair",))
    stream = loom.start(tmp_path / "checkpoint", str(tmp_path / "out"))
    meter = MetricsListener()
    with listen_to(spark, meter, stream.scans):
        stream.processAllAvailable()
        (held,) = meter.readings()
        put(tmp_path, "b", 1, [*lines["b"][5:], record(9000, "last", 1)])
        stream.processAllAvailable()
        stream.stop()
        meter.settle()
        (moved,) = meter.readings()
    assert held.last.slowest == "b"
    keyed = [line for line in (*lines["a"], *lines["b"][:5]) if json.loads(line)["k"]]  # no other is ever joined
    assert held.last.join_rows == len(keyed) + 1 and not held.last.join_rows_at_least
    assert not held.totals.answers["pair"]
    assert moved.last.slowest is None
    assert moved.last.watermarks["b"] == START + timedelta(seconds=9000 - 50)
    with loom.run() as results:
        expected = sorted(tuple(row) for row in results["pair"].select("k", "at", "s", "c").collect())
    assert read(spark, tmp_path, "pair") == [row for row in expected if row[0] != "last"]
    loom.close()


@pytest.mark.usefixtures("interpreted")
def test_a_checkpoint_goes_on_with_its_own_join_only(spark, tmp_path):
    """Spark would take another bound on old state without a word."""
    for name in "ab":
        put(tmp_path, name, 0, rows_of(name, 30))
    loom = loom_over(spark, tmp_path, ("pair",))
    loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available").awaitTermination()
    loom.close()
    page = json.loads((tmp_path / "checkpoint" / "weft.json").read_text())
    (state,) = page["state"].values()
    assert state["join"]["columns"] == ["a.ts", "a.k", "b.ts", "b.k", "b.n"]
    other = loom_over(spark, tmp_path, ("pair",), pair=QUERIES["pair"].replace("'10' SECOND", "'20' SECOND"))
    with pytest.raises(RunError, match="changes 'pair'"):
        other.start(tmp_path / "checkpoint", str(tmp_path / "out"))
    other.close()
    for name in "ab":
        put(tmp_path, name, 1, [*rows_of(name, 60)[30:], record(9000, "last", 1)])
    again = loom_over(spark, tmp_path, ("pair",))
    again.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available").awaitTermination()
    with again.run() as results:
        expected = sorted(tuple(row) for row in results["pair"].select("k", "at", "s", "c").collect())
    assert read(spark, tmp_path, "pair") == [row for row in expected if row[0] != "last"]
    again.close()


def test_what_a_stream_cannot_join_is_refused(spark, tmp_path):
    """A window over another time, a source without a watermark, a stream that is joined as a table."""
    loom = loom_over(spark, tmp_path, ())
    loom.source("quiet", str(tmp_path / "a"), time="ts", format="json", schema=SCHEMA)
    loom.source("endless", spark.readStream.format("rate").load())
    later = "window(greatest(t0.ts, t1.ts), '1 minute')"
    loom.query("late", f"SELECT count(*) FROM a t0 JOIN b t1 ON {ON} GROUP BY {later}")
    loom.query("quiet", f"SELECT count(*) FROM a t0 JOIN quiet t1 ON {ON} GROUP BY window(t0.ts, '1 minute')")
    loom.query("endless", "SELECT count(*) FROM a t0 JOIN endless e ON t0.n = e.value "
                          "GROUP BY window(t0.ts, '1 minute')")
    for name, error, words in (("late", RunError, "follows the event time"), ("quiet", SourceError, "no watermark"),
                               ("endless", SourceError, "stream without an event time")):
        with pytest.raises(error, match=words):
            loom.start(tmp_path / name, str(tmp_path / "out"), queries=[name])
    loom.close()


def test_rows_that_cannot_be_used_are_dead_letters(spark, tmp_path):
    """Of each source that is joined."""
    for name in "ab":
        put(tmp_path, name, 0, [record(5, "k0", 1), '{"k": "k0", "n": 7}', record(9000, "last", 1)])
    loom = loom_over(spark, tmp_path, ("pair",))
    loom.start(tmp_path / "checkpoint", str(tmp_path / "out"), trigger="available").awaitTermination()
    loom.close()
    letters = [json.loads(line) for path in (tmp_path / "checkpoint" / "dead_letters").rglob("*.jsonl")
               for line in path.read_text().splitlines()]
    assert [letter["reason"] for letter in letters] == ["no event time"] * 2
    assert len(read(spark, tmp_path, "pair")) == 2
