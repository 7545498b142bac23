"""Rows in a sink brought up to date: always those of a run over all files, whatever comes late, goes, fails or dies."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.fixtures.java import CHILD_JAVA
from tests.harness.differential import collect, compare
from tests.spark.test_incremental import MINUTE, NOON, Home, rows
from weft.errors import RunError
from weft.spark.incremental import run as slices
from weft.spark.refresh import jobs, kept_answers
from weft.spark.refresh import run as refresh
from weft.spark.refresh.changes import OUTBOX
from weft.spark.refresh.seen import SEEN
from weft.spark.session.session import temporary_settings
from weft.spark.write import staging
from weft.spark.write.spares import SPARE

QUERIES = {
    "plain": "SELECT k, window.start AS at, count(*) AS c, sum(n) AS s, avg(n) AS a FROM r "
             "GROUP BY k, window(ts, '10 minutes', '3 minutes')",
    "some": "SELECT k, max(n) AS m, count(*) AS c FROM r WHERE n > 90 "
            "GROUP BY k, window(ts, '20 minutes', '10 minutes') "
            "HAVING count(*) > 1",
    "coarse": "SELECT window.end AS at, sum(n) AS s, max(k) AS m FROM r GROUP BY window(ts, '10 minutes', '3 minutes')",
    "never": "SELECT k, window.end AS at, sum(n) AS s FROM r WHERE n > 1000 GROUP BY k, window(ts, '1 hour')",
    "middle": "SELECT k, window.end AS at, median(n) AS m FROM r GROUP BY k, window(ts, '30 minutes', '15 minutes')",
    "spark": "SELECT k, window.end AS at, round(avg(n), 1) AS a FROM r GROUP BY k, window(ts, '30 minutes')",
}
WORKERS = [name for name in QUERIES if name != "spark"]


class Sink(Home):
    """A folder of files, a store, and a sink."""

    def refresh(self, names: list[str] | None = None, **settings: str) -> dict[str, dict]:
        """Bring the rows of some queries up to date; the report by query."""
        loom = self.loom(QUERIES)
        try:
            with temporary_settings(self.spark, settings):
                report = loom.run(sink=str(self.out), queries=names, incremental=True).report
            return {line["query"]: line for line in report}
        finally:
            loom.close()

    @property
    def out(self) -> Path:
        return self.data.parent / "out"

    def check(self, names: list[str] | None = None) -> None:
        """The rows in the sink are Spark's own over all files, and nothing else lies there."""
        loom = self.loom(QUERIES)
        names = names or list(QUERIES)
        ours = collect({name: self.spark.read.parquet(str(self.out / name)) for name in names})
        theirs = collect({name: loom.native(name) for name in names})
        loom.close()
        assert [text for name in names for text in compare(name, ours[name], theirs[name])] == []
        assert {path.name for path in self.out.iterdir()} <= {*QUERIES, SEEN, OUTBOX, SPARE}

    def files(self, name: str) -> dict[str, int]:
        with os.scandir(self.out / name) as found:
            return {entry.name: entry.inode() for entry in found if entry.name.endswith(".parquet")}


@pytest.fixture
def sink(spark, tmp_path):
    return Sink(spark, tmp_path)


def short(seed: int, start: int, minutes: int = 5, size: int = 30) -> pa.Table:
    """Rows of some minutes."""
    table = rows(seed, size, keys="abcd")
    times = NOON + start * MINUTE + np.random.default_rng(seed).integers(0, minutes * MINUTE, size)
    return table.set_column(0, "ts", pa.array(times, table.schema[0].type))


def test_only_touched_buckets_are_written(sink):
    for hour in range(8):
        sink.put(f"{hour}.parquet", rows(hour, size=60, start=60 * hour))
    first = sink.refresh()
    sink.check()
    assert {line["anew"] for name, line in first.items() if name != "spark"} == {"there were no rows of it yet"}
    assert first["spark"]["anew"] == "only Spark can make its rows"
    before = {name: sink.files(name) for name in WORKERS}
    sink.put("new.parquet", short(50, 60 * 8 + 3))
    second = sink.refresh()
    sink.check()
    for name in WORKERS:
        assert second[name]["anew"] is None, name
        after = sink.files(name)
        if name in ("plain", "coarse", "middle"):
            assert after != before[name] and 2 * len(set(after.items()) & set(before[name].items())) > len(after), name
    assert sink.files("never") == before["never"] and second["never"]["buckets"] == 0
    assert second["plain"]["rows"] < first["plain"]["rows"] / 2
    third = sink.refresh()  # nothing is new
    assert all(third[name]["buckets"] == 0 and third[name]["rows"] == 0 for name in WORKERS)
    sink.put("late.parquet", short(51, 65))  # old windows
    assert {sink.refresh()[name]["anew"] for name in WORKERS} == {None}
    sink.check()


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_rows_are_those_of_all_files_whatever_comes_when(sink, monkeypatch, seed):
    """Files in any order, late ones, some that vanish or change; runs of some queries; small and large jobs; kills."""
    chance = random.Random(seed)
    monkeypatch.setattr(slices, "MOST", 3)
    sink.put("first.parquet", rows(0, size=100))
    for turn in range(9):
        for number in range(chance.randint(1, 2)):
            sink.put(f"{turn}-{number}.parquet", short(100 * turn + number, chance.randint(-200, 400)))
        if turn in (4, 7):
            victim = chance.choice(sorted(sink.data.iterdir()))
            victim.unlink() if turn == 4 else sink.put(victim.name, short(999, 30, size=7))
        monkeypatch.setattr(jobs, "FEW_VALUES", chance.choice([0, 10**9]))
        if chance.random() < 0.5:
            kill(sink, monkeypatch, chance)
        names = chance.choice([None, ["plain", "some"], ["coarse", "never", "spark"], ["middle"]])
        sink.refresh(names)
        if turn % 3 == 2:
            sink.refresh()
            sink.check()


class Killed(BaseException):
    """Stands for a kill: nothing catches it."""


STEPS = ((staging, "exchange_folders"), (staging, "move_folder"), (staging, "mark_result"), (refresh, "link_unchanged"),
         (refresh, "write_seen"), (refresh, "run_from_files"), (slices, "cut_files"), (slices, "commit_increment"))


def kill(sink, monkeypatch, chance) -> None:
    """A run that dies before or after a step, and tidies nothing up."""
    module, name = chance.choice(STEPS)
    left, after, real = [chance.randint(1, 4)], chance.random() < 0.5, getattr(module, name)

    def call(*args, **more):
        left[0] -= 1
        if left[0] == 0 and not after:
            raise Killed
        made = real(*args, **more)
        if left[0] == 0:
            raise Killed
        return made

    with monkeypatch.context() as patch:
        patch.setattr(module, name, call)
        patch.setattr(staging.Staging, "put_back", lambda *_: None)
        patch.setattr(staging.Staging, "remove", lambda *_: None)
        with contextlib.suppress(Killed):
            sink.refresh()


def test_what_cannot_be_used_is_made_anew_and_told(sink, monkeypatch):
    sink.put("0.parquet", rows(0))
    names = ["plain", "coarse", "middle"]
    sink.refresh(names)
    shutil.rmtree(sink.out / "plain")
    victim = min(sink.files("coarse"))
    (sink.out / "coarse" / victim).unlink()
    told = sink.refresh(names)
    assert told["plain"]["anew"] == "there were no rows of it yet"
    assert told["coarse"]["anew"] == f"'{victim}' in its folder is gone or has changed"
    assert told["middle"]["anew"] is None and told["middle"]["buckets"] == 0
    sink.check(names)
    loom = sink.loom(QUERIES)
    (sink.out / SPARE / "plain").mkdir(parents=True, exist_ok=True)
    loom.run(sink=str(sink.out), queries=["plain"])  # not incremental
    assert not (sink.out / SPARE / "plain").exists(), "it would hold files that are not in place any more"
    loom.close()
    told = sink.refresh(names, **{"spark.sql.parquet.compression.codec": "zstd"})
    assert told["plain"]["anew"] == "its rows were not written in buckets of time"
    assert told["middle"]["anew"] == "its rows are those of another query, plan or setting"
    sink.refresh(names)
    monkeypatch.setattr(kept_answers, "MOST_BUCKETS", 0)
    assert "it has grown to" in sink.refresh(names)["plain"]["anew"]
    monkeypatch.undo()
    sink.put("0.parquet", rows(5))  # the same file with other rows
    assert sink.refresh(names)["plain"]["anew"] == "its slices were made anew"
    sink.check(names)
    (sink.out / "plain" / "mine.parquet").write_text("mine")
    with pytest.raises(RunError, match=r"'mine.parquet' in it was not written by Weft"):
        sink.refresh(names)


def test_other_sinks_are_written_whole_and_say_so(sink):
    sink.put("0.parquet", rows(0, size=20))
    loom = sink.loom(QUERIES)
    for _ in range(2):
        (line,) = loom.run(sink={"format": "csv", "path": str(sink.out)}, queries=["plain"], incremental=True).report
        assert line["anew"] == f"rows in csv in {sink.out} cannot be replaced in part"
    (line,) = loom.run(sink="noop", queries=["plain"], incremental=True).report
    assert line["anew"] == "rows in noop cannot be replaced in part"
    loom.close()


def test_a_full_disk_leaves_the_old_rows(sink, monkeypatch):
    sink.put("0.parquet", rows(0))
    sink.refresh(["plain"])
    before = sink.files("plain")
    sink.put("1.parquet", short(1, 10))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for place in ("os.link", "shutil.copy2"):
        monkeypatch.setattr(place, full)
    monkeypatch.setattr(staging, "mark_result", full)
    with pytest.raises(RunError, match="No space left on device"):
        sink.refresh(["plain"])
    assert sink.files("plain") == before and [path.name for path in sink.out.iterdir()] == ["plain"]
    monkeypatch.undo()
    with monkeypatch.context() as patch:  # where a worker should write is a file
        patch.setattr(refresh, "file_format", lambda spark, folder, stages, real=refresh.file_format: real(
            spark, str(sink.data / "0.parquet"), stages))
        with pytest.raises(RunError, match="a worker cannot write"):
            sink.refresh(["plain"])
    assert sink.files("plain") == before
    sink.refresh(["plain"])
    sink.check(["plain"])


RUNNER = """
import sys
from weft import Loom
from weft.spark.session.session import local_session
from tests.spark.test_refresh import QUERIES, WORKERS
store, data, out, java = sys.argv[1:]
spark = local_session("killed", cores="1", **{"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "512m",
                                              "spark.sql.session.timeZone": "UTC",
                                              "spark.driver.extraJavaOptions": java})
while True:
    loom = Loom(spark, store=store)
    loom.source("r", data, time="ts", format="parquet")
    for name in WORKERS:
        loom.query(name, QUERIES[name])
    loom.run(sink=out, incremental=True)
    loom.close()
    print("ran", flush=True)
"""


@pytest.mark.long
def test_a_process_that_is_killed_loses_and_doubles_nothing(sink):
    """It dies in the middle of whatever it is at; readers find rows of every query at any moment."""
    chance = random.Random(5)
    sink.put("0.parquet", rows(0))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", RUNNER, str(sink.store), str(sink.data), str(sink.out), CHILD_JAVA]
    for turn in range(2):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=environment) as process:
            assert process.stdout is not None and process.stdout.readline() == "ran\n"
            for number in range(4):
                sink.put(f"{turn}-{number}.parquet", short(10 * turn + number, chance.randint(-60, 240)))
                time.sleep(chance.random() * 1.5)
                # Who listed a folder just before it was swapped lists it once more.
                assert all(any(sink.files(name) or sink.files(name)) for name in WORKERS)
            os.kill(process.pid, signal.SIGKILL)
        sink.refresh(WORKERS)
        sink.check(WORKERS)
