"""Sources and sinks from outside the package, by what `weft` exports alone: SQLite and lines of text."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from weft import AnswerSink, Loom, RowSource, RunError, SinkFacts, SourceError, SourceFacts

SQL = ("SELECT symbol, window.end AS at, sum(size) AS volume FROM t "
       "GROUP BY symbol, window(ts, '20 seconds', '5 seconds')")
COUNT = "SELECT window.end AS at, count(*) AS n FROM t GROUP BY window(ts, '10 seconds', '5 seconds')"
LINES = [f"2026-03-01 10:00:{second:02d}|{'AB'[second % 2]}|{second}" for second in range(0, 50, 3)]


@dataclass(frozen=True)
class SqliteTable(RowSource):
    """A table of a SQLite database, read whole."""

    path: str
    table: str
    facts = SourceFacts("sqlite", streams=False)

    def read(self, spark: SparkSession) -> DataFrame:
        with closing(sqlite3.connect(self.path)) as database:
            rows = database.execute(f"SELECT ts, symbol, size FROM {self.table}").fetchall()
        return spark.createDataFrame(rows, "ts string, symbol string, size bigint").selectExpr(
            "CAST(ts AS timestamp) AS ts", "symbol", "size")

    def input_path(self) -> str:
        return self.path


@dataclass(frozen=True)
class TextLines(RowSource):
    """Lines such as `time|symbol|size` in files of a folder."""

    folder: str
    facts = SourceFacts("text lines")

    def read(self, spark: SparkSession) -> DataFrame:
        return split_lines(spark.read.text(self.folder))

    def read_stream(self, spark: SparkSession) -> DataFrame:
        return split_lines(spark.readStream.text(self.folder))

    def location(self) -> str:
        return f"lines in {self.folder}"


def split_lines(lines: DataFrame) -> DataFrame:
    """The columns of lines."""
    return lines.selectExpr("CAST(split(value, '[|]')[0] AS timestamp) AS ts", "split(value, '[|]')[1] AS symbol",
                            "CAST(split(value, '[|]')[2] AS bigint) AS size")


@dataclass(frozen=True)
class SqliteSink(AnswerSink):
    """A SQLite database with a table a query. A run replaces the table; a trigger that comes again replaces its rows.
    """

    path: str
    facts = SinkFacts("sqlite", exactly_once=True, over_connect=False)

    def location(self) -> str:
        return f"sqlite at {self.path}"

    def output_path(self, query: str) -> str:
        return self.path

    def require_free(self, queries: Sequence[str], stream: str | None) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS owners (query TEXT PRIMARY KEY, owner TEXT)")
            owners = dict(database.execute("SELECT query, owner FROM owners"))
            for query in queries:
                if owners.setdefault(query, stream or "run") != (stream or "run"):
                    raise RunError(f"table '{query}' in '{self.path}' is somebody else's: choose another database.")
                database.execute("INSERT OR IGNORE INTO owners VALUES (?, ?)", (query, owners[query]))

    def write(self, answers, trigger: int | None) -> None:
        with closing(sqlite3.connect(self.path, timeout=60)) as database, database:
            for query, rows in answers.items():
                names = ", ".join(rows.columns)
                database.execute(f"CREATE TABLE IF NOT EXISTS {query} (trigger INT, {names})")
                database.execute(f"DELETE FROM {query} WHERE trigger IS ?", (trigger,))
                marks = ", ".join("?" * (len(rows.columns) + 1))
                found = [(trigger, *map(str, row)) for row in rows.collect()]
                database.executemany(f"INSERT INTO {query} VALUES ({marks})", found)


def table(path: Path, query: str) -> list[tuple]:
    """What a database holds of a query, without the triggers' numbers."""
    with closing(sqlite3.connect(path)) as database:
        return sorted(row[1:] for row in database.execute(f"SELECT * FROM {query}"))


def plain(frame: DataFrame) -> list[tuple]:
    """A frame's rows as the database keeps them."""
    return sorted(tuple(map(str, row)) for row in frame.collect())


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """A database of rows."""
    with closing(sqlite3.connect(tmp_path / "rows.db")) as database, database:
        database.execute("CREATE TABLE trades (ts TEXT, symbol TEXT, size INT)")
        database.executemany("INSERT INTO trades VALUES (?, ?, ?)", [line.split("|") for line in LINES])
    return str(tmp_path / "rows.db")


def make_loom(spark: SparkSession, source: RowSource) -> Loom:
    """A loom with two queries of different columns over a source."""
    loom = Loom(spark)
    loom.source("t", source, time="ts", watermark="1 second")
    loom.query("volume", SQL)
    loom.query("counted", COUNT)
    return loom


def test_a_run_from_and_to_sqlite_equals_sparks_own(spark, rows, tmp_path, interpreted):
    loom = make_loom(spark, SqliteTable(rows, "trades"))
    sink = SqliteSink(str(tmp_path / "out.db"))
    report = loom.run(sink=sink).report
    assert [(row["query"], row["path"]) for row in report] == [(q, sink.path) for q in ("volume", "counted")]
    assert table(tmp_path / "out.db", "volume") == plain(loom.native("volume"))
    # Rows that came since are read, and the earlier answers are replaced.
    with closing(sqlite3.connect(rows)) as database, database:
        database.execute("INSERT INTO trades VALUES ('2026-03-01 11:00:00', 'Z', 7)")
    loom.run(sink=sink, queries=["volume"])
    found = table(tmp_path / "out.db", "volume")
    assert found == plain(loom.native("volume")) and any(row[0] == "Z" for row in found)


def test_guards_ask_a_source_what_it_reads_and_a_sink_what_it_writes(spark, rows, tmp_path):
    loom = make_loom(spark, SqliteTable(rows, "trades"))
    with pytest.raises(RunError, match=r"query 'volume' would be written to '.*rows.db', which overlaps source 't'"):
        loom.run(sink=SqliteSink(rows))
    (tmp_path / "link.db").symlink_to(rows)
    with pytest.raises(RunError, match="overlaps source 't'"):
        loom.run(sink=SqliteSink(str(tmp_path / "link.db")))
    sink = SqliteSink(str(tmp_path / "out.db"))
    sink.require_free(["volume"], "a stream")
    with pytest.raises(RunError, match=r"table 'volume' in .* is somebody else's"):
        loom.run(sink=sink)


def test_facts_decide_what_runs(spark, rows, tmp_path):
    loom = make_loom(spark, SqliteTable(rows, "trades"))
    with pytest.raises(SourceError, match=r"source 't' is of sqlite, which is no stream: use loom.run"):
        loom.start(tmp_path / "checkpoint", sink=str(tmp_path / "out"))
    with pytest.raises(RunError, match="the console sink takes the answers of streams only"):
        loom.run(sink="console")
    with pytest.raises(RunError, match="a sink cannot be a int"):
        loom.run(sink=7)
    with pytest.raises(SourceError, match="source 'u' is a list: give a DataFrame"):
        loom.source("u", [1, 2])


def test_a_stream_of_lines_into_sqlite_gives_the_closed_windows_once(spark, tmp_path, interpreted):
    (tmp_path / "lines").mkdir()
    half = len(LINES) // 2
    sink = SqliteSink(str(tmp_path / "out.db"))
    for part in (LINES[:half], [*LINES[half:], "2026-03-01 12:00:00|A|1"]):
        (tmp_path / "lines" / f"{len(part)}.txt").write_text("\n".join(part))
        loom = make_loom(spark, TextLines(str(tmp_path / "lines")))
        loom.start(tmp_path / "checkpoint", sink=sink, trigger="available").awaitTermination()
    closed = [row for row in plain(loom.native("volume")) if row[1] < "2026-03-01 11"]
    assert table(tmp_path / "out.db", "volume") == closed
    with pytest.raises(RunError, match=r"go to sqlite at .*, and would now go to sqlite at"):
        loom.start(tmp_path / "checkpoint", sink=SqliteSink(str(tmp_path / "other.db")))
    with pytest.raises(RunError, match="somebody else's"):
        loom.start(tmp_path / "another", sink=sink)
