"""What the benches share: the data, the clock, peak memory, the machine's description, results on disk."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil

import weft
from weft.cli.sample_trades import Trades, make

HERE = Path(__file__).parent
RESULTS = HERE / "results"
DOCS = HERE.parent / "docs" / "benchmarks"
PACKAGES = ("pyspark", "pyarrow", "numpy", "polars")


def uniform_trades(rows: int, keys: int = 1000, hours: int = 10) -> Path:
    """The bench's trades: no skew, all hours alike; made once and kept."""
    return make(RESULTS / "tmp" / f"trades-{rows}-{keys}-{hours}h", Trades(rows, keys, hours, market=False))


def seconds(work: Callable[[], Any]) -> float:
    """How long one call takes on the wall clock."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measured(work: Callable[[], Any]) -> dict[str, float]:
    """Seconds of one call on the wall clock, and of processor time in this process and all below it.

    Processor time tells engines apart even while something else uses the machine.
    """
    before = processor_seconds()
    return {"wall": seconds(work), "cpu": processor_seconds() - before}


def processor_seconds() -> float:
    """Processor time used so far by this process, those below it, and those of them that have ended."""
    this = psutil.Process()
    total = 0.0
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):
            used = process.cpu_times()
            total += used.user + used.system + used.children_user + used.children_system
    return total


@contextmanager
def peak_memory(every: float = 0.1):
    """Yields a dict whose "bytes" is the highest resident memory of this process's children: JVM and Python workers."""
    peak, stop = {"bytes": 0}, threading.Event()

    def watch() -> None:
        while not stop.wait(every):
            peak["bytes"] = max(peak["bytes"], resident_of_children())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        stop.set()
        watcher.join()


def resident_of_children() -> int:
    """Resident bytes of every process below this one; pages that workers share are counted once for each."""
    total = 0
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it may have ended between the listing and the look
            total += child.memory_info().rss
    return total


def machine() -> dict[str, Any]:
    """The machine, the versions and the date, for people who compare figures."""
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "processor": processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "java": java[0] if java else "unknown",
        "load": round(os.getloadavg()[0], 2),
        "weft": weft.__version__,
        **{name: version(name) for name in PACKAGES},
    }


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def save_json(name: str, value: Any) -> Path:
    """Writes raw results beside the benches; a reader never sees half a file."""
    return save(RESULTS / f"{name}.json", json.dumps(value, indent=2) + "\n")


def save(path: Path, text: str) -> Path:
    """Writes a text file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text)
    return temporary.replace(path)


def in_new_process(script: str, *arguments: str) -> Any:
    """Runs a bench script as a child that prints one JSON value last: a fresh JVM, and memory that is its own."""
    command = [sys.executable, script, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])
