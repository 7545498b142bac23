"""SIGKILL at every step of an incremental run, and a disk that is full: nothing is lost, doubled or half-written."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer

import pyarrow.parquet as pq
import pytest

from tests.spark.test_changes import Told
from tests.spark.test_incremental import rows
from tests.spark.test_refresh import WORKERS, short
from weft.errors import WeftError

ALL = [*WORKERS, "spark"]
KILLED = ["plain", "never", "spark"]  # one that workers make, one that never changes, one that only Spark makes
MEBIBYTE = 1 << 20


@pytest.fixture
def told(spark, tmp_path):
    return Told(spark, tmp_path)


@pytest.fixture
def run_child(told: Told) -> Iterator[Callable[[Told, int], tuple[int, str]]]:
    """A run in a process of its own that dies at a step; its exit code and what it said last."""
    gateway = told.spark.sparkContext._gateway.gateway_parameters
    command = [sys.executable, "-m", "tests.harness.killed_run", str(gateway.port), str(gateway.auth_token),
               str(told.store), str(told.data), str(told.out), str(told.changes)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment) as forking:
        yield lambda _, step: ask(forking, step)


def ask(forking: subprocess.Popen, step: int) -> tuple[int, str]:
    """How a run ended that dies at a step."""
    assert forking.stdin is not None and forking.stdout is not None
    print(step, file=forking.stdin, flush=True)
    text = ""
    late = Timer(300, forking.kill)
    late.start()
    while (line := forking.stdout.readline()) and not line.startswith("ended "):
        text += line
    late.cancel()
    assert line, text[-3000:]
    said = re.findall(r"^(?:dies|steps) .*", text, re.MULTILINE)
    return int(line.split()[1]), said[-1] if said else text[-3000:]


def is_whole(told: Told, name: str) -> bool:
    """Whether every file of a query's folder can be read, and none lacks that its mark names."""
    mark = json.loads((told.out / name / "_weft_result").read_text())
    return all(pq.ParquetFile(told.out / name / file).metadata.num_rows >= 0 for file in mark["files"]
               if file.endswith(".parquet"))


@pytest.mark.long
def test_sigkill_at_every_step_loses_and_doubles_nothing(told, run_child, request):
    """Each run finds what the one before left; readers find whole folders at every moment. With more than 100 cases it
    is every single step, else every other one."""
    for hour in range(3):
        told.put(f"{hour}.parquet", rows(hour, size=60, start=60 * hour))
    code, said = run_child(told, 0)
    assert code == 0, said
    told.put("new.parquet", short(1, 30))
    code, said = run_child(told, 0)
    assert code == 0, said
    steps, seen = int(said.split()[1]), set()
    assert steps > 30, said
    for step in range(1, steps + 1, 1 if request.config.getoption("--cases") > 100 else 2):
        told.put(f"{step + 10}.parquet", short(step, (17 * step) % 180, size=12))
        code, said = run_child(told, step)
        seen.add(said)
        assert code == (0 if said.startswith("steps") else -signal.SIGKILL), said
        assert all(is_whole(told, name) for name in KILLED), (step, said)
        if step % 10 == 1:
            told.tell(KILLED)
            told.check(KILLED)
            told.check_feed(KILLED)
    told.tell(KILLED)
    told.check(KILLED)
    told.check_feed(KILLED)
    assert len({said for said in seen if said.startswith("dies")}) > 10, seen


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={8 * MEBIBYTE}", "tmpfs", str(place)],
                          capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"no file system can be mounted here ({made.stderr.strip()}); the test of limited files covers it")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, left: int) -> Path:
    """Fill a disk up to so many bytes."""
    ballast = disk / "ballast"
    found = os.statvfs(disk)
    with ballast.open("wb") as file:
        file.write(b"x" * max(found.f_bavail * found.f_bsize - left, 0))
    return ballast


def test_a_disk_that_is_full_at_any_moment_leaves_old_or_new_rows(spark, tmp_path, small_disk):
    """Store, sink and changes lie on the disk; how much of it is left decides where a run ends."""
    told = Told(spark, small_disk)
    told.data = tmp_path / "data"
    told.data.mkdir()
    told.put("0.parquet", rows(0))
    told.tell(None)
    failures: list[str] = []
    for number, left in enumerate([0, 1, 2, 3, 5, 8, 12, 20, 40]):
        told.put(f"{number + 1}.parquet", short(number, 13 * number))
        ballast = fill(small_disk, left * 4096)
        try:
            told.tell(None)
        except WeftError as error:
            failures.append(str(error))
        finally:
            ballast.unlink()
        assert all(is_whole(told, name) for name in ALL), left
        told.check_feed(ALL) if number % 3 else None
    assert len(failures) > 4 and all("space" in text or "full" in text or "I/O" in text for text in failures), failures
    told.tell(None)
    told.check()
    told.check_feed(ALL)


def test_files_that_may_not_grow_leave_old_or_new_rows(told):
    """What this process writes itself, marks, changes and the catalog, fails at a size: a real error of the system."""
    told.put("0.parquet", rows(0))
    told.tell(["plain"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for number, limit in enumerate([1, 100, 700, 2000, 10_000]):
        told.put(f"{number + 1}.parquet", short(number, 13 * number))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            told.tell(["plain"])
        except WeftError as error:
            assert re.search("File too large|disk", str(error)), error
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert is_whole(told, "plain"), limit
    told.tell(["plain"])
    told.check(["plain"])
    told.check_feed(["plain"])
