"""A small project that `weft serve` runs in a process of its own, with files that keep coming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from httpx import Client, HTTPError

from tests.fixtures.java import CHILD_JAVA

ROOT = Path(__file__).parents[2]
TOML = """
[project]
name = "trades"
[spark]
"spark.sql.shuffle.partitions" = "1"
"spark.sql.session.timeZone" = "UTC"
[sources.trades]
path = "incoming"
format = "json"
time = "ts"
watermark = "1 second"
schema = "ts timestamp, symbol string, price double"
[stream]
trigger = "1 second"
[serve]
port = 0
"""
QUERIES = """
-- name: mean
SELECT symbol, window.end AS at, avg(price) AS mean FROM trades GROUP BY symbol, window(ts, '4 seconds', '2 seconds')
-- name: total
SELECT symbol, window.end AS at, sum(price) AS total FROM trades GROUP BY symbol, window(ts, '2 seconds')
"""


# The same by a schedule: every query is brought up to date so often, by what has come since the run before.
SCHEDULED = TOML.partition("[stream]")[0] + """
[queries]
every = "10 seconds"
[serve]
port = 0
run = "schedule"
"""


def make_project(folder: Path, toml: str = TOML) -> Path:
    """The project's files."""
    for name in ("incoming", "queries"):
        (folder / name).mkdir()
    (folder / "weft.toml").write_text(toml)
    (folder / "queries" / "all.sql").write_text(QUERIES)
    return folder


class Feed:
    """Drops a file of rows every half second, with one line that is no row, until it is stopped."""

    def __init__(self, folder: Path):
        self._folder, self._over = folder, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        for number in range(10_000):
            now = datetime.now(UTC)
            rows = [json.dumps({"ts": (now - timedelta(milliseconds=100 * i)).isoformat(), "symbol": symbol,
                                "price": number % 10 + i}) for i in range(5) for symbol in "AB"]
            part = self._folder / f".{number}.part"
            part.write_text("\n".join([*rows, "no row"] if number == 1 else rows) + "\n")
            part.rename(self._folder / f"{time.time_ns()}.json")
            if self._over.wait(0.5):
                return


class Served:
    """`weft serve` in a process of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.log = (folder / f"log-{time.time_ns()}").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from weft.cli.main import main; main()", "serve", "--debug"], cwd=folder,
            stderr=self.log, stdout=self.log,
            env={**os.environ, "PYTHONPATH": str(ROOT), "JAVA_TOOL_OPTIONS": CHILD_JAVA})
        try:
            self.address = self._wait(lambda: self._found()["address"], 120)
            self.client = Client(base_url=self.address, trust_env=False, timeout=120)
            self._wait(lambda: self.client.get("/api/state").json()["ready"] or None, 300)
        except BaseException:
            self.end(signal.SIGKILL)  # else it would go on without whoever started it
            raise

    def _found(self) -> dict[str, Any]:
        found = json.loads((self.folder / ".weft/serve/serve.json").read_text())
        return found if found["process"] == self.process.pid else {}

    def _wait(self, look: Any, seconds: float) -> Any:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.process.poll() is None, self.said()
            try:
                if (found := look()) is not None:
                    return found
            except (OSError, KeyError, ValueError, HTTPError):
                pass
            time.sleep(0.2)
        raise AssertionError(f"it did not come in {seconds} s: {self.said()}")

    def until(self, path: str, true: Any, seconds: float = 180) -> Any:
        """What a path says, once that is so."""
        def look() -> Any:
            found = self.client.get(path).json()
            return found if true(found) else None

        return self._wait(look, seconds)

    def said(self) -> str:
        if not self.log.closed:
            self.log.flush()
        return Path(self.log.name).read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ends the process, and says how it ended."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(120)
        self.log.close()
        return code


def weft(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the command line in a project."""
    return subprocess.run([sys.executable, "-c", "from weft.cli.main import main; main()", *words], cwd=folder,
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
