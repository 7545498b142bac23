"""Processes of the crash test: started in a session of their own, and killed with all that they started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import weft

POLL = 0.01
# The places of state and session in /proc/PID/stat, behind the name in brackets.
STATE, SESSION = 0, 3


@contextmanager
def started(folder: Path, log: Path, *options: str) -> Iterator[subprocess.Popen]:
    """A process that runs the stream; whatever happens, nothing of it is left at the end."""
    scratch = folder / "scratch"
    scratch.mkdir()
    roots = [str(Path(weft.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots)), "TMPDIR": str(scratch),
                   "SPARK_LOCAL_DIRS": str(scratch)}
    command = [sys.executable, "-m", "tests.crash.child", str(folder), *options]
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                 env=environment, start_new_session=True)
    try:
        yield child
    finally:
        kill(child)
        shutil.rmtree(scratch, ignore_errors=True)


def kill(child: subprocess.Popen) -> None:
    """Kill a process and all of its session: Python, Java at the same moment, and Spark's workers, which have groups of
    their own. Until it is waited for, nobody else can have its number."""
    if child.returncode is not None:
        return
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    while others := list(alive(child.pid)):
        for pid in others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(POLL)
    child.wait()


def ended(child: subprocess.Popen) -> bool:
    """Whether a process has ended; it is not waited for, so that its number still names its session."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def alive(session: int) -> Iterator[int]:
    """The processes of a session that have not ended."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            told = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(told[SESSION]) == session and told[STATE] not in "ZX":
                yield int(entry.name)
