"""The change feed of incremental runs: replayed, it gives the rows in the sink, whatever comes, goes or dies."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.spark.test_incremental import rows
from tests.spark.test_refresh import QUERIES, Killed, Sink, short
from weft.errors import RunError
from weft.spark.refresh import changes as feed
from weft.spark.refresh import run as refresh
from weft.spark.write import staging

NAMES = ["plain", "some", "never", "spark"]


class Told(Sink):
    """A sink whose changes are told to a folder beside it."""

    @property
    def changes(self) -> Path:
        return self.data.parent / "changes"

    def tell(self, names=NAMES, to=None) -> dict[str, dict]:
        """Bring some queries up to date and tell their changes; the report by query."""
        loom = self.loom(QUERIES)
        try:
            report = loom.run(sink=str(self.out), queries=names, incremental=True, changes=to or self.changes).report
            return {line["query"]: line for line in report}
        finally:
            loom.close()

    def files(self, name: str) -> list[str]:
        return sorted(path.name for path in (self.changes / name).iterdir())

    def replayed(self, name: str) -> Counter:
        """The rows that all changes together leave; nothing goes that is not there."""
        state: Counter = Counter()
        for number, file in enumerate(self.files(name), 1):
            assert file.startswith(f"changes-{number:012}")
            if file.endswith("-all.parquet"):
                state.clear()
            for row in sorted(pq.read_table(self.changes / name / file).to_pylist(), key=lambda r: r["_change_type"]):
                kind = row.pop("_change_type")
                state[repr(row)] += 1 if kind == "insert" else -1
                assert state[repr(row)] >= 0, (name, file, row)
        return +state

    def current(self, name: str) -> Counter:
        """The rows in the sink."""
        found = pq.read_table(self.out / name, coerce_int96_timestamp_unit="us")
        found = found.cast(pq.read_schema(self.changes / name / self.files(name)[0]).remove(found.num_columns))
        return Counter(map(repr, found.to_pylist()))

    def check_feed(self, names=NAMES) -> None:
        for name in names:
            assert self.replayed(name) == self.current(name), name


@pytest.fixture
def told(spark, tmp_path):
    return Told(spark, tmp_path)


def test_changes_are_the_rows_that_came_and_went_and_no_others(told, spark):
    for hour in range(6):
        told.put(f"{hour}.parquet", rows(hour, size=60, start=60 * hour))
    first = told.tell()
    assert all(line["changes"]["all"] and line["changes"]["deletes"] == 0 for line in first.values())
    assert first["never"]["changes"]["inserts"] == 0 and told.files("never") == ["changes-000000000001-all.parquet"]
    told.check_feed()
    assert all(line["changes"] is None for line in told.tell().values())  # nothing is new
    told.put("new.parquet", short(50, 63))
    second = told.tell()
    plain = second["plain"]["changes"]
    assert not plain["all"] and 0 < plain["inserts"] < second["plain"]["rows"]  # less than was written
    assert 0 < plain["deletes"] <= plain["inserts"] and second["never"]["changes"] is None
    told.check_feed()
    told.check(NAMES)
    frame = spark.read.parquet(str(told.changes / "plain"))  # Spark reads the feed, with the query's types
    assert frame.columns == [*spark.read.parquet(str(told.out / "plain")).columns, "_change_type"]
    assert dict(frame.dtypes)["at"] == "timestamp"
    (told.data / "3.parquet").unlink()  # all is made anew, and only what differs is told
    third = told.tell()
    assert third["plain"]["anew"] and 0 < third["plain"]["changes"]["inserts"] < third["plain"]["rows"] / 2
    told.check_feed()


def test_a_run_that_does_not_tell_breaks_the_row_of_changes_and_all_is_told_again(told):
    told.put("0.parquet", rows(0))
    told.tell(["plain"])
    told.put("1.parquet", short(1, 10))
    told.refresh(["plain"])
    line = told.tell(["plain"])["plain"]
    assert line["anew"] == "its changes were not told here before" and line["changes"]["all"]
    assert told.files("plain") == ["changes-000000000001-all.parquet", "changes-000000000002-all.parquet"]
    told.check_feed(["plain"])


def test_all_is_told_again_where_the_rows_in_the_folder_are_others_than_were_told(told, monkeypatch):
    """A file that is gone or changed, by somebody else, and a query that has other columns under its name."""
    names = ["plain", "spark"]
    told.put("0.parquet", rows(0))
    told.tell(names)
    for name in names:
        next((told.out / name).glob("*.parquet")).unlink()
    assert all(line["changes"]["all"] for line in told.tell(names).values())
    told.check_feed(names)
    for name in names:
        file = next((told.out / name).glob("*.parquet"))
        table = pq.read_table(file)
        pq.write_table(table.slice(1), file)
    lines = told.tell(names)
    assert all(line["changes"]["all"] and not line["changes"]["deletes"] for line in lines.values())
    told.check_feed(names)
    other = {"plain": "SELECT window.end AS at, sum(n) AS s FROM r GROUP BY window(ts, '10 minutes')",
             "spark": "SELECT window.end AS at, round(avg(n), 1) AS a FROM r GROUP BY window(ts, '30 minutes')"}
    for name in names:
        monkeypatch.setitem(QUERIES, name, other[name])
    assert all(line["changes"]["all"] for line in told.tell(names).values())
    assert all(line["changes"] is None for line in told.tell(names).values())
    told.check(names)


STEPS = ((feed.ChangeFeed, "_write"), (staging, "mark_result"), (staging, "exchange_folders"),
         (feed.ChangeFeed, "publish"), (feed.os, "replace"), (refresh, "write_seen"))


@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.long)])
def test_killed_at_any_step_every_change_is_told_once(told, monkeypatch, after):
    told.put("0.parquet", rows(0))
    told.tell(["plain", "spark"])
    for number, (module, name) in enumerate(STEPS):
        told.put(f"{number + 1}.parquet", short(number, 20 * number))
        real = getattr(module, name)

        def call(*args, real=real, **more):
            if after:
                real(*args, **more)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(module, name, call)
            patch.setattr(staging.Staging, "put_back", lambda *_: None)
            patch.setattr(staging.Staging, "remove", lambda *_: None)
            with suppress(Killed):
                told.tell(["plain", "spark"])
        if number % 2:
            told.tell(["plain", "spark"])
            told.check_feed(["plain", "spark"])
    told.tell(["plain", "spark"])
    told.check_feed(["plain", "spark"])
    told.check(["plain", "spark"])


def test_a_function_gets_changes_at_least_once_by_their_number(told):
    told.put("0.parquet", rows(0))
    got: list[tuple[str, int, int]] = []

    def take(name, frame, number) -> None:
        got.append((name, number, frame.count()))

    told.tell(["plain"], take)
    told.put("1.parquet", short(1, 10))

    def fail(*_) -> None:
        raise ValueError("no connection")

    with pytest.raises(ValueError, match="no connection"):
        told.tell(["plain"], fail)
    told.check(["plain"])  # the rows are in place
    told.put("2.parquet", short(2, 10))
    told.tell(["plain"], take)
    assert [(name, number) for name, number, _ in got] == [("plain", 1), ("plain", 2), ("plain", 3)]
    assert all(count > 0 for *_, count in got)


def test_what_cannot_be_told_is_refused(told):
    told.put("0.parquet", rows(0))
    loom = told.loom({**QUERIES, "lists": "SELECT collect_list(n) AS l FROM r GROUP BY window(ts, '1 hour')",
                      "taken": "SELECT count(*) AS _change_type FROM r GROUP BY window(ts, '1 hour')"})
    out = str(told.out)
    with pytest.raises(RunError, match="give incremental=True and a sink"):
        loom.run(sink=out, changes="x")
    with pytest.raises(RunError, match="cannot be replaced in part, so nobody knows"):
        loom.run(sink="noop", queries=["plain"], incremental=True, changes=told.changes)
    with pytest.raises(RunError, match=r"changes would be written to .* overlaps the sink"):
        loom.run(sink=out, queries=["plain"], incremental=True, changes=told.out / "changes")
    with pytest.raises(RunError, match="changes of query 'lists' cannot be told"):
        loom.run(sink=out, queries=["lists"], incremental=True, changes=told.changes)
    with pytest.raises(RunError, match="has a column _change_type"):
        loom.run(sink=out, queries=["taken"], incremental=True, changes=told.changes)
    loom.close()
