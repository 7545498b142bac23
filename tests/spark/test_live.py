"""Queries that come and go while a stream runs: every one answers its whole windows as a batch does, each once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

import weft
from tests.harness.live_run import LiveRun, find_lives
from weft import QueryError
from weft.errors import RunError
from weft.spark.stream.answer_counts import read_counts
from weft.spark.stream.checkpoint import PAGE, open_checkpoint

VOLUME = "SELECT symbol, window.start AS s, window.end AS e, sum(size) AS v FROM trades GROUP BY symbol, window(ts, {})"


def run_changes(spark, folder: Path, seed: int, steps: int) -> None:
    """A stream whose queries change at random after some of its triggers answers as a batch."""
    (folder / "in").mkdir(parents=True)
    run = LiveRun(folder, Random(seed))
    loom = run.make_loom(spark)
    loom.add_queries(run.begin(3))
    with loom.start(folder / "checkpoint", str(folder / "out"), drift_tolerance=0) as stream:
        for _ in range(steps):
            run.feed()
            stream.processAllAvailable()
            run.change(stream)
        run.feed()
        stream.live.weaver.wait()
        lives = run.finish(stream)
        assert "swap" in {change["kind"] for change in stream.live.page.changes}
    assert run.answers(spark, lives) == run.expected(spark, lives)


@pytest.mark.usefixtures("interpreted")
def test_queries_that_come_and_go_answer_as_a_batch(spark, tmp_path):
    run_changes(spark, tmp_path / "run", 7, 5)


@pytest.mark.long
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", range(1))
def test_many_changes_answer_as_a_batch(spark, tmp_path, seed):
    run_changes(spark, tmp_path / "run", seed, 12)


@pytest.mark.usefixtures("interpreted")
def test_changes_are_kept_and_what_cannot_be_changed_says_why(spark, tmp_path):
    (tmp_path / "in").mkdir()
    run = LiveRun(tmp_path, Random(1))
    loom, place, sink = run.make_loom(spark), tmp_path / "checkpoint", str(tmp_path / "out")
    loom.query("volume", VOLUME.format("'20 seconds', '5 seconds'"))
    for _ in range(4):
        run.feed()
    with loom.start(place, sink) as stream:
        stream.processAllAvailable()
        before = (place / PAGE).read_bytes()
        shorter = VOLUME.format("'10 seconds', '5 seconds'")
        for error, text, act in [
            (QueryError, "a query of this name runs already", lambda: stream.add("volume", shorter)),
            (QueryError, "no query of this name runs. Did you mean 'volume'", lambda: stream.drop("volumes")),
            (QueryError, "no column named 'nothing'|nothing", lambda: stream.add("b", "SELECT nothing FROM trades")),
            (QueryError, "cannot name a query", lambda: stream.add("a/b", shorter)),
            (QueryError, "gives other columns", lambda: stream.replace("volume", shorter.replace("AS v", "AS w"))),
            (RunError, "without queries", lambda: stream.drop("volume")),
        ]:
            with pytest.raises(error, match=text.replace("?", r"\?")):
                act()
        told = stream.preview(add={"short": shorter})
        assert (place / PAGE).read_bytes() == before and stream.queries == ("volume",)
        made = stream.add("short", shorter)
        assert (made.kind, made.queries, made.added) == (told.kind, ("volume", "short"), told.added)
        assert made.kind == "swap" and "goes on" in made.reason
        assert made.complete_from["short"] == told.complete_from["short"]
        alone = stream.add("own", VOLUME.format("'7 seconds'"))
        assert (alone.kind, alone.complete_from) == ("free", {"own": None}) and "cut slices" in alone.reason
        gone = stream.drop("volume")
        assert stream.queries == ("short", "own") and gone.freed and gone.kind == "swap"
        column = stream.add("least", shorter.replace("sum(size)", "min(size)"))
        assert column.kind == "restart" and "needs other columns" in column.reason
        stream.drop("least")
        run.feed()
        stream.processAllAvailable()
        assert any(size for scan in stream.scans for p in scan.query.recentProgress
                   for _, size in read_counts(p.observedMetrics["answers"].counts, scan.labels))
    page = open_checkpoint(str(place))
    assert page.plan_version == 6 and sorted(page.queries) == ["own", "short"]
    (first, *_, last) = page.changes
    (key,) = first["triggers"]
    assert page.version_of(key, first["triggers"][key] - 1) == 1 and page.version_of(key, last["triggers"][key]) == 6
    with loom.start(place, sink) as stream:  # the loom has 'volume' alone
        assert stream.queries == ("short", "own")
        lives = run.finish(stream) if run.initial else run_lives(run, stream)
        stream.drop("own")
        assert [path.name for path in place.glob("scan-*")] == [f"scan-{key}"]
    assert run.answers(spark, lives) == run.expected(spark, lives)
    loom.query("more", shorter)
    with pytest.raises(RunError, match=r"adds 'more'.*stream\.add"):
        loom.start(place, sink)


def count_until(scan, name: str, least: int, seconds: float = 20) -> int:
    """What the progress of all triggers counts; that of the last one comes a little after its answers."""
    until = time.monotonic() + seconds
    while True:
        observed = [p.observedMetrics for p in scan.query.recentProgress if "answers" in p.observedMetrics]
        found = sum(size for each in observed for queries, size in read_counts(each["answers"].counts, scan.labels)
                    if name in queries)
        if found >= least or time.monotonic() > until:
            return found
        time.sleep(0.1)


def run_lives(run: LiveRun, stream) -> list:
    """The lives of a stream that was begun with one query."""
    run.initial = {"volume": VOLUME.format("'20 seconds', '5 seconds'")}
    return run.finish(stream)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1))
def test_a_stream_that_is_killed_in_a_change_has_made_it_or_not(spark, tmp_path, seed):
    """Killed at random steps of triggers and changes, and started again each time."""
    (tmp_path / "in").mkdir()
    run = LiveRun(tmp_path, Random(seed))
    (tmp_path / "queries.json").write_text(json.dumps(run.begin(3)))
    roots = [str(Path(weft.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    for turn in range(3):
        command = [sys.executable, "-m", "tests.harness.live_child", str(tmp_path), str(seed * 100 + turn)]
        child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))},
                                 start_new_session=True)
        try:
            assert child.wait(timeout=240) == -signal.SIGKILL
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
    run.clock = int((tmp_path / "clock").read_text())
    loom = run.make_loom(spark)
    loom.add_queries(run.initial)
    with loom.start(tmp_path / "checkpoint", str(tmp_path / "out")) as stream:
        lives = run.finish(stream)
    assert find_lives(run.initial, stream.live.page.changes)
    assert run.answers(spark, lives) == run.expected(spark, lives)


@pytest.mark.usefixtures("interpreted")
def test_a_swap_reaches_a_sink_that_spark_projects_for_and_is_counted(spark, tmp_path):
    (tmp_path / "in").mkdir()
    run, got = LiveRun(tmp_path, Random(3)), []
    loom = run.make_loom(spark)
    loom.query("volume", VOLUME.format("'20 seconds', '5 seconds'"))
    for _ in range(2):
        run.feed()
    with loom.start(tmp_path / "checkpoint", lambda name, rows, number: got.extend(
            (name, number, tuple(row)) for row in rows.collect())) as stream:
        stream.processAllAvailable()
        query = stream.scans[0].query.runId
        made = stream.add("long", VOLUME.format("'40 seconds', '10 seconds'"))
        run.feed()
        stream.processAllAvailable()
        assert stream.replace("long", VOLUME.format("'30 seconds', '10 seconds'")).kind == made.kind == "swap"
        run.feed()
        lives = run_lives(run, stream)
        assert stream.scans[0].query.runId == query
        answered = sum(name == "long" for name, _, _ in got)
        counted = count_until(stream.scans[0], "long", answered)
    begun = stream.live.page.changes[0]["triggers"].values()
    assert min(number for name, number, _ in got if name == "long") >= min(begun)
    assert counted == answered
    found = {name: sorted((row for each, _, row in got if each == name), key=repr) for name in ("volume", "long")}
    assert found == run.expected(spark, lives)
