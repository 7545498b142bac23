"""Random changes of a running stream's queries, and what each query should have answered by a batch run."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

from weft import Loom
from weft.spark.stream.handle import Stream

SCHEMA = "ts timestamp, symbol string, venue string, price double, size bigint"
DELAY = 4
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEGIN = 1_700_000_000
# Ranges and slides in seconds: many that share cuts, and one that cuts finer.
WINDOWS = ((10, 5), (20, 5), (20, 10), (40, 10), (60, 5), (60, 20), (7, 7))
CALLS = ("sum(size)", "count(*)", "max(size)", "count(venue)", "sum(size) FILTER (WHERE price > 2)")
Row = tuple


@dataclass(frozen=True)
class Life:
    """A query from when it came until it went: its SQL, the first whole window, and the ends that it answers."""

    name: str
    sql: str
    first: datetime | None = None
    after: datetime | None = None
    until: datetime | None = None


@dataclass
class LiveRun:
    """A stream whose queries change at random."""

    folder: Path
    random: Random
    clock: int = BEGIN
    initial: dict[str, str] = field(default_factory=dict)

    def make_loom(self, spark) -> Loom:
        """A loom over the folder of files."""
        loom = Loom(spark)
        loom.source("trades", str(self.folder / "in"), time="ts", format="json", schema=SCHEMA,
                    watermark=f"{DELAY} seconds")
        return loom

    def feed(self, seconds: int = 15, rows: int = 25) -> None:
        """A file of rows of the next seconds, out of order within the delay."""
        made = []
        for _ in range(rows):
            at = self.clock + self.random.uniform(-DELAY + 1, seconds)
            made.append({"ts": (EPOCH + timedelta(seconds=at)).isoformat(), "symbol": self.random.choice("abcd"),
                         "venue": self.random.choice(["x", "y", None]), "price": self.random.randint(0, 20) / 4,
                         "size": self.random.randint(1, 9)})
        # The last one is the latest, so that the next file is never late.
        made.append({**made[0], "ts": (EPOCH + timedelta(seconds=self.clock + seconds)).isoformat()})
        self.clock += seconds
        write_lines(self.folder / "in", made)

    def draw_sql(self, keys: str | None = None) -> str:
        """A random query; its keys may be given."""
        by = self.random.choice(["symbol", "symbol", "symbol", "symbol, venue"]) if keys is None else keys
        length, slide = self.random.choice(WINDOWS)
        where = self.random.choice(["", "", "", "WHERE size > 3 "])
        return (f"SELECT {by}, window.start AS s, window.end AS e, {self.random.choice(CALLS)} AS v FROM trades {where}"
                f"GROUP BY {by}, window(ts, '{length} seconds', '{slide} seconds')")

    def draw_window(self, sql: str) -> str:
        """The same query with another window, which cuts no finer than most."""
        length, slide = self.random.choice(WINDOWS[:-1])
        return f"{sql.partition(', window(ts')[0]}, window(ts, '{length} seconds', '{slide} seconds')"

    def begin(self, count: int) -> dict[str, str]:
        """The queries that a stream starts with."""
        self.initial = {f"q{i}": self.draw_sql("symbol") for i in range(count)}
        return self.initial

    def change(self, stream: Stream) -> str:
        """A random change; says which."""
        several = len(stream.queries) > 1
        kind = self.random.choice(["add", "window", "window", "replace", "reweave"] + ["drop"] * 2 * several)
        name = self.random.choice(stream.queries)
        if kind == "add":
            stream.add(f"n{uuid4().hex[:8]}", self.draw_sql())
        elif kind == "window":  # over columns that there are
            stream.add(f"n{uuid4().hex[:8]}", self.draw_window({**self.initial, **stream.live.page.texts}[name]))
        elif kind == "drop":
            stream.drop(name)
        elif kind == "replace":
            before = {**self.initial, **stream.live.page.texts}[name]
            stream.replace(name, self.draw_sql(before.removeprefix("SELECT ").partition(", window")[0]))
        else:
            stream.reweave()
        return kind

    def finish(self, stream: Stream) -> list[Life]:
        """Close all windows but those of the last row; the lives of all queries."""
        write_lines(self.folder / "in", [{"ts": (EPOCH + timedelta(seconds=self.clock + 600)).isoformat(),
                                          "symbol": "last", "size": 1, "price": 1.0}])
        stream.processAllAvailable()
        end = EPOCH + timedelta(seconds=self.clock + 600 - DELAY)
        return [replace(life, until=life.until or end) for life in find_lives(self.initial, stream.live.page.changes)]

    def expected(self, spark, lives: list[Life]) -> dict[str, list[Row]]:
        """What each query should have answered, by a batch run."""
        loom = self.make_loom(spark)
        for i, life in enumerate(lives):
            loom.query(f"life{i}", life.sql)
        found: dict[str, list[Row]] = {}
        with loom.run() as results:
            for i, life in enumerate(lives):
                rows = [tuple(row) for row in results[f"life{i}"].collect()]
                found.setdefault(life.name, []).extend(row for row in rows if is_answered(life, row))
        return {name: sorted(rows, key=repr) for name, rows in found.items()}

    def answers(self, spark, lives: list[Life]) -> dict[str, list[Row]]:
        """What the stream wrote."""
        names = dict.fromkeys(life.name for life in lives)
        there = {name for name in names if list((self.folder / "out" / name).glob("*.parquet"))}
        return {name: sorted(map(tuple, spark.read.parquet(str(self.folder / "out" / name)).collect()), key=repr)
                if name in there else [] for name in names}


def find_lives(initial: dict[str, str], changes: list[dict]) -> list[Life]:
    """The lives of queries, by what the page of a checkpoint says of changes."""
    done, living = [], {name: Life(name, sql) for name, sql in initial.items()}
    for change in changes:
        # A query that took over from a scan further ahead, and goes before its own is there, has answered nothing.
        ended = {name: max(EPOCH + timedelta(microseconds=change["until"].get(key, 0)), living[name].after or EPOCH)
                 for name, key in change["dropped"].items()}
        done += [replace(living.pop(name), until=until) for name, until in ended.items()]
        for name, sql in change["added"].items():
            first = change["complete_from"][name]
            living[name] = Life(name, sql, datetime.fromisoformat(first) if first else None, ended.get(name))
    return [*done, *living.values()]


def is_answered(life: Life, row: Row) -> bool:
    """Whether a query of this life answers the window of a row."""
    start, end = (value.astimezone(UTC) for value in row[-3:-1])
    begun = (life.first is None or start >= life.first) and (life.after is None or end > life.after)
    return begun and life.until is not None and end <= life.until


def write_lines(folder: Path, rows: list[dict]) -> None:
    """A file of JSON lines, there at once."""
    made = folder.parent / uuid4().hex
    made.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    made.rename(folder / f"{uuid4().hex}.json")
