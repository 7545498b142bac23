"""Listings: runs, verification, measures and Spark's own answers read the files that are there when they begin."""

from __future__ import annotations

import os
import time

import pytest

from weft import Loom
from weft.errors import SourceError

SUM = "SELECT k, window.end AS at, sum(x) AS s FROM t GROUP BY k, window(ts, '5 minutes')"
SCHEMA = "ts timestamp, k string, x int"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def loom(spark, folder):
    made = Loom(spark, store=folder.parent / "store")
    yield made
    made.close()


def put(folder, name, *lines, age=60.0, header="ts,k,x"):
    """A CSV file that was last changed some seconds ago."""
    (folder / name).write_text("\n".join([header, *(f"2024-03-01T12:00:00Z,{line}" for line in lines)]) + "\n")
    then = time.time() - age
    os.utime(folder / name, (then, then))


def sums(frame):
    return sorted((row["k"], row["s"]) for row in frame.collect())


@pytest.mark.usefixtures("interpreted")
def test_a_run_reads_what_is_there_when_it_runs(loom, folder):
    loom.source("t", folder, time="ts", format="csv", schema=SCHEMA)
    loom.query("q", SUM)
    first = loom.run()["q"]
    assert first.collect() == [] and loom.native("q").collect() == []
    put(folder, "a.csv", "a,1")
    one = loom.run()
    assert sums(one["q"]) == sums(loom.native("q")) == [("a", 1)]
    put(folder, "b.csv", "a,10", "b,5")  # while the slices of the first run are still kept
    two = loom.run()
    assert sums(two["q"]) == sums(loom.native("q")) == [("a", 11), ("b", 5)]
    assert sums(one["q"]) == [("a", 1)]
    put(folder, "b.csv", "a,20", "b,5", "c,1", age=30)  # the same name with other rows
    assert sums(loom.run()["q"]) == [("a", 21), ("b", 5), ("c", 1)] and loom.verify().ok
    assert loom.measure()["t, k"].rows == 4
    (folder / "a.csv").unlink()
    assert sums(loom.run(incremental=True)["q"]) == sums(loom.native("q")) == [("a", 20), ("b", 5), ("c", 1)]


@pytest.mark.usefixtures("interpreted")
def test_a_run_over_the_same_files_uses_the_slices_that_are_kept(loom, folder):
    put(folder, "a.csv", "a,1")
    loom.source("t", folder, time="ts", format="csv", schema=SCHEMA)
    loom.query("q", SUM)
    with loom.run() as kept:
        kept["q"].collect()
        plan = loom.run()["q"]._jdf.queryExecution().toString()
        assert "InMemoryTableScan" in plan
        put(folder, "b.csv", "a,1", age=0)
        assert sums(loom.run()["q"]) == [("a", 2)]


@pytest.mark.usefixtures("interpreted")
def test_files_that_change_the_columns_are_told(loom, folder, spark):
    put(folder, "a.csv", "a,1")
    loom.source("t", folder, time="ts")
    loom.query("q", SUM)
    assert sums(loom.run()["q"]) == [("a", 1)]
    put(folder, "b.csv", "a,1.5")
    for act in (loom.run, loom.verify, loom.measure, lambda: loom.native("q"), lambda: loom.run(incremental=True)):
        with pytest.raises(SourceError, match=r"'t' has other columns .*'x' was int and is double. Make a new L"):
            act()
    put(folder, "b.csv", "a,2", age=50)
    assert sums(loom.run()["q"]) == [("a", 3)]
    put(folder, "a.csv", "1,a", age=40, header="ts,x,k")
    with pytest.raises(SourceError, match="has other columns"):
        loom.run()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    with pytest.raises(SourceError, match="cannot read"):
        loom.run()
