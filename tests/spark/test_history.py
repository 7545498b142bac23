"""Queries that come with the history of their source: they answer as a batch over both, each window and row once."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from random import Random

import pytest

from tests.harness.live_run import EPOCH, SCHEMA, LiveRun, timedelta, write_lines
from weft import QueryError, SourceError
from weft.io.sources.rate import Rate
from weft.spark.stream import start
from weft.spark.stream.backfill import align_history, copy_history, find_cut, read_backfilled
from weft.spark.stream.checkpoint import BACKFILL, PAGE

VOLUME = ("SELECT symbol, window.start AS s, window.end AS e, sum(size) AS v FROM trades {} "
          "GROUP BY symbol, window(ts, {})")
SHORT, LONG = "'10 seconds', '5 seconds'", "'60 seconds', '5 seconds'"


class Archive:
    """A stream whose older rows lie in an archive, which overlaps what the stream reads."""

    def __init__(self, folder: Path):
        for name in ("in", "past", "whole/in"):
            (folder / name).mkdir(parents=True)
        self.folder, self.run, self.whole = folder, LiveRun(folder, Random(3)), LiveRun(folder / "whole", Random(3))
        self.run.initial = {"volume": VOLUME.format("", SHORT)}
        self.checkpoint, self.sink, self.past = folder / "checkpoint", str(folder / "out"), str(folder / "past")
        self.feed_past()
        write_lines(folder / "past", [self.row(-20, "old")])  # a key that no live row has
        for file in (folder / "past").iterdir():
            shutil.copy(file, folder / "whole/in")
        self.run.feed()
        self.run.feed()
        for file in (folder / "in").iterdir():
            shutil.copy(file, folder / "past")
        self.early = self.row(-1, "early")
        write_lines(folder / "past", [self.early])  # is in the archive before the stream reads it

    def feed_past(self) -> None:
        """Rows of the archive that are in the source no more."""
        self.run.feed(30)
        self.run.feed(30)
        for file in (self.folder / "in").iterdir():
            file.rename(self.folder / "past" / file.name)

    def row(self, seconds: int, symbol: str) -> dict:
        """A row so many seconds from the latest one."""
        at = (EPOCH + timedelta(seconds=self.run.clock + seconds)).isoformat()
        return {"ts": at, "symbol": symbol, "venue": "x", "price": 1.0, "size": 5}

    def feed_early(self) -> None:
        """The row that the archive had first."""
        write_lines(self.folder / "in", [self.early])

    def table(self, spark):
        """The archive and what the stream has read."""
        return spark.read.schema(SCHEMA).json([self.past, str(self.folder / "in")]).dropDuplicates()

    def start(self, loom):
        """The stream, from its checkpoint if it has one."""
        return loom.start(self.checkpoint, self.sink)

    def check(self, spark, lives: list) -> None:
        """Those that came with the archive answer as a batch over all rows, the first one as one over the live ones."""
        for file in (self.folder / "in").iterdir():
            shutil.copy(file, self.folder / "whole/in")
        found = self.run.answers(spark, lives)
        (volume,) = (life for life in lives if life.name == "volume")
        others = [life for life in lives if life is not volume]
        expected = {**self.run.expected(spark, [volume]), **self.whole.expected(spark, others)}
        assert found == expected
        assert all(any(row[0] == "old" for row in found[life.name]) for life in others if life.after is None)


@pytest.fixture
def archive(tmp_path):
    return Archive(tmp_path)


@pytest.mark.usefixtures("interpreted")
def test_each_row_is_read_once_from_history_or_source(spark, archive):
    loom = archive.run.make_loom(spark)
    loom.add_queries(archive.run.initial)
    plan, place = loom.plan(), str(archive.checkpoint)
    stage, sources = plan.stages.scans[0].root.stage, plan.context.sources
    known = sources.frames["trades"].schema
    rows = align_history("trades", archive.table(spark).withColumnRenamed("size", "SIZE"), known, False)
    assert rows.columns == known.names
    ahead = rows.union(spark.createDataFrame([(datetime(2999, 1, 1), "far", "x", 1.0, 1)], known))
    clock = archive.run.clock * 1_000_000
    assert find_cut("trades", ahead, stage, 1000, None, ["size"]) == clock + 1  # not after the clock that is ahead
    cut = find_cut("trades", ahead, stage, 1000, clock - 4_000_000, [])
    assert cut == clock - 4_000_000
    with pytest.raises(SourceError, match="'venue' of the history of source 'trades' has nulls"):
        find_cut("trades", rows, stage, None, None, ["venue"])
    lost = spark.createDataFrame([(None, "lost", "x", 1.0, 1)], known)
    folder = copy_history("trades", ahead.union(lost), stage, cut, place)
    archive.feed_early()
    live = sources["trades"].stream.read(spark)
    both = read_backfilled(live, stage, {BACKFILL: {"folder": folder, "cut": cut}}, place)
    for _ in range(2):  # the second start finds nothing new
        (both.drop("__weft_corrupt").writeStream.format("parquet").option("checkpointLocation", f"{place}/own")
         .trigger(availableNow=True).start(str(archive.folder / "read")).awaitTermination())
    found = spark.read.parquet(str(archive.folder / "read")).collect()
    expected = archive.table(spark).collect()
    assert sorted(map(repr, found)) == sorted(map(repr, [*expected, *lost.collect()]))


@pytest.mark.usefixtures("interpreted")
def test_queries_with_a_history_answer_as_a_batch_over_all_rows(spark, archive):
    loom = archive.run.make_loom(spark)
    loom.add_queries(archive.run.initial)
    highest = VOLUME.format("", LONG).replace("sum(size)", "max(size)")
    with archive.start(loom) as stream:
        stream.processAllAvailable()
        made = stream.add("highest", highest, history=archive.past)
        assert (made.kind, made.complete_from) == ("free", {"highest": None}) and "history first" in made.reason
        archive.feed_early()
        stream.processAllAvailable()
        several = {"large": VOLUME.format("WHERE size > 3", LONG), "count": VOLUME.format("", SHORT)}
        both = stream.change(add=several, history={"trades": archive.table(spark)})
        assert both.kind == "free" and len(stream.scans) == 3  # they share one
        archive.run.feed()
        stream.processAllAvailable()
    copies = {path.name for path in archive.checkpoint.glob("history-*")}
    assert len(copies) == 2
    with archive.start(loom) as stream:
        assert set(stream.queries) == {"volume", "highest", "large", "count"}
        stream.drop("highest")
        assert {path.name for path in archive.checkpoint.glob("history-*")} < copies
        archive.run.feed()
        lives = archive.run.finish(stream)
    archive.check(spark, lives)


@pytest.mark.usefixtures("interpreted")
def test_a_history_that_cannot_serve_changes_nothing(spark, archive, monkeypatch):
    loom = archive.run.make_loom(spark)
    loom.add_queries(archive.run.initial)
    loom.source("ticks", Rate(), time="timestamp", watermark="1 second")
    sql, table = VOLUME.format("", LONG), spark.read.schema(SCHEMA).json(archive.past)
    count = "SELECT count(*) AS n FROM ticks GROUP BY window(timestamp, '5 seconds')"
    join = ("SELECT t.symbol, window.start AS s, count(*) AS n FROM trades t JOIN trades u ON t.symbol = u.symbol "
            "AND u.ts BETWEEN t.ts - INTERVAL 5 SECONDS AND t.ts GROUP BY t.symbol, window(t.ts, '10 seconds')")
    with archive.start(loom) as stream:
        stream.processAllAvailable()
        before = (archive.checkpoint / PAGE).read_bytes()
        for error, text, query, history in [
            (SourceError, "has no column ts and no column price", sql, table.drop("ts", "price")),
            (SourceError, "'size' of the history of source 'trades' is int, and of the source bigint", sql,
             table.withColumn("size", table["size"].cast("int"))),
            (SourceError, "no row with an event time", sql, table.where("false")),
            (SourceError, "there is nothing at", sql, str(archive.folder / "nowhere")),
            (SourceError, "is a stream", sql, spark.readStream.schema(SCHEMA).json(archive.past)),
            (SourceError, "give a DataFrame", sql, 7),
            (QueryError, "it reads 'trades', and the history is of 'others'", sql, {"others": table}),
            (SourceError, "begins with the rows that come next", count, table),
            (QueryError, "it joins sources", join, table),
            (SourceError, "cannot read the history.*DIVIDE_BY_ZERO|Division by zero", sql,
             table.withColumn("size", (table["size"] / (table["size"] - table["size"])).cast("bigint"))),
        ]:
            with pytest.raises(error, match=text):
                stream.add("long", query, history=history)
        with monkeypatch.context() as broken:
            broken.setattr(start, "write_checkpoint", fail)
            with pytest.raises(OSError, match="full"):
                stream.add("long", sql, history=table)
        assert (archive.checkpoint / PAGE).read_bytes() == before and stream.queries == ("volume",)
        assert not list(archive.checkpoint.glob("history-*"))
        with monkeypatch.context() as broken:  # a crash after the page is written
            broken.setattr(start, "start_all", fail)
            with pytest.raises(OSError, match="full"):
                stream.add("long", sql, history=table)
        (archive.checkpoint / f"history-{'0' * 32}").mkdir()  # a crash before that
    with archive.start(loom) as stream:
        assert stream.queries == ("volume", "long")
        assert len(list(archive.checkpoint.glob("history-*"))) == 1
        archive.feed_early()
        stream.processAllAvailable()
        lives = archive.run.finish(stream)
    archive.check(spark, lives)


def fail(*_: object, **__: object) -> None:
    raise OSError("the disk is full")
