"""The crash test's own parts: rows that are never too late, phases told from files, and errors that are seen."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from tests.crash.feed import WATERMARK, Feed
from tests.crash.phases import Scene
from tests.crash.process import alive, kill
from tests.crash.queries import STARTED
from tests.crash.verdict import compare

EXPECTED = {("a", 1): [(2, 0.5)], ("b", 1): [(3, None)]}


def test_no_row_is_too_late_and_files_appear_at_once(tmp_path):
    feed = Feed(tmp_path, seed=3)
    feed.write(60)
    watermark, rows = float("-inf"), 0
    for path in sorted(tmp_path.iterdir(), key=lambda p: p.stat().st_mtime):
        times = [t.timestamp() for t in pq.read_table(path).column("ts").to_pylist()]
        assert min(times, default=watermark) >= watermark
        watermark, rows = max([watermark, *(t - WATERMARK for t in times)]), rows + len(times)
    assert (feed.rows, feed.written) == (rows, 60)
    assert feed.end() > watermark + 2 * 60


@pytest.mark.parametrize("found, wrong", [
    (EXPECTED, None),
    ({("a", 1): [(2, 0.5 + 1e-12)], ("b", 1): [(3, None)]}, None),
    ({("a", 1): [(2, 0.5)]}, "missing"),
    ({**EXPECTED, ("a", 1): [(2, 0.5), (2, 0.5)]}, "doubled"),
    ({**EXPECTED, ("c", 1): [(2, 0.5)]}, "unexpected"),
    ({**EXPECTED, ("b", 1): [(3, 0.0)]}, "different"),
    ({**EXPECTED, ("a", 1): [(2, 0.5 + 1e-6)]}, "different"),
])
def test_every_fault_is_seen(found, wrong):
    compared = compare("q", found, EXPECTED).to_dict()
    assert compared["ok"] == (wrong is None)
    faults = [name for name in ("missing", "doubled", "unexpected", "different") if compared[name]]
    assert faults == ([] if wrong is None else [wrong])


def test_phases_are_told_from_files(tmp_path):
    scene = Scene(tmp_path, tmp_path / "log", time.time() - 1)
    seen = [scene.phase()]
    put(tmp_path / "scratch/blockmgr-1/00/shuffle_0_0_0.index")  # of a trigger before
    for path in ("log", f"{scene.checkpoint}/offsets/0", "scratch/blockmgr-1/0c/shuffle_1_0_0.index",
                 f"{scene.checkpoint}/state/0/{{}}/1.changelog"):
        time.sleep(0.02)
        for part in range(2):
            put(tmp_path / path.format(part))
        seen.append(scene.phase())
    staged = put(tmp_path / "out/_weft_staging_scan-0/0/part-0")
    seen.append(scene.phase())
    put(tmp_path / "out/q/trigger-000000000-00000.parquet")
    seen.append(scene.phase())
    shutil.rmtree(staged.parents[1])
    seen.append(scene.phase())
    put(scene.checkpoint / "commits/0")
    seen.append(scene.phase())
    assert seen == ["start", "idle", "source", "final", "commit", "staging", "moving", "commit", "idle"]
    assert Scene(tmp_path, tmp_path / "log", time.time() + 9).kept(0) is False


def put(path):
    """A file that says that the stream has started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(STARTED)
    return path


def test_a_kill_takes_all_that_a_process_started():
    code = "import subprocess as s, time; s.Popen(['sleep', '9'], process_group=0); print(1, flush=True); time.sleep(9)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() and len(list(alive(child.pid))) == 2
    kill(child)
    assert not list(alive(child.pid)) and child.returncode == -9
