"""`weft stream` for real: files come while it runs, a signal stops it, and it goes on from where it was."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from datetime import datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from weft.cli.main import app
from weft.spark.stream.progress import KEYS

PROJECT = """
[sources.trades]
path = "incoming"
format = "json"
time = "ts"
watermark = "1 minute"
schema = "ts timestamp, symbol string, price double"
"""
QUERIES = """
-- name: mean
SELECT symbol, window.end AS at, avg(price) AS mean FROM trades GROUP BY symbol, window(ts, '4 minutes', '2 minutes')
-- name: high
SELECT symbol, window.end AS at, max(price) AS high FROM trades GROUP BY symbol, window(ts, '2 minutes')
"""


def stream(*args: str) -> Result:
    return CliRunner().invoke(app, ["stream", *args])


def drop(number: int, minutes: int, lines: tuple[str, ...] = ()) -> None:
    """A file of two rows a minute, put in place at once, and the lines as they are."""
    began = datetime(2024, 5, 1, 12) + timedelta(minutes=10 * number)
    rows = [{"ts": (began + timedelta(minutes=m)).isoformat() + "Z", "symbol": symbol, "price": m * 1.5}
            for m in range(minutes) for symbol in "AB"]
    path = Path("incoming", f".{number}.json")
    path.write_text("".join(f"{line}\n" for line in (*map(json.dumps, rows), *lines)))
    path.rename(Path("incoming", f"{number}.json"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def drop_and_stop(port: int, done: threading.Event) -> None:
    """Drops a second file when the first is read, and asks for an end, as a service manager does, when that is too."""
    def wait_for_more_than(rows: int) -> int:
        while read_rows(port) <= rows and not done.wait(0.2):
            pass
        return read_rows(port)

    rows = wait_for_more_than(0)
    drop(1, 10)
    wait_for_more_than(rows)
    if not done.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


def read_rows(port: int) -> int:
    """The rows that the stream has read, as its metrics tell."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
    except OSError:
        return -1
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("weft_rows_total{"))


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose source has no file yet."""
    monkeypatch.chdir(tmp_path)
    for folder in ("incoming", "queries"):
        Path(folder).mkdir()
    Path("weft.toml").write_text(PROJECT)
    Path("queries/all.sql").write_text(QUERIES)
    return tmp_path


def test_a_stream_is_stopped_and_goes_on(project: Path, interpreted: None) -> None:
    drop(0, 10, lines=("no json",))
    port = free_port()
    done = threading.Event()
    helper = threading.Thread(target=drop_and_stop, args=(port, done))
    helper.start()
    first = stream("--json", "--metrics-port", str(port))
    done.set()
    helper.join()
    assert first.exit_code == 0, first.stderr
    drop(2, 10)
    second = stream("--json", "--once")
    assert second.exit_code == 0, second.stderr
    figures = [json.loads(line) for result in (first, second) for line in result.stdout.splitlines()]
    assert all(tuple(one) == KEYS for one in figures)
    assert "Stopping after the running trigger" in first.stderr and "Ended after" in second.stderr
    assert sum(one["dead"] for one in figures) == 1
    told = {name: sum(one["answers"].get(name, 0) for one in figures) for name in ("mean", "high")}
    written = {name: pq.read_table(f"out-stream/{name}").num_rows for name in told}
    # The last row is of 12:29, and the watermark a minute behind: windows that end at 12:28 are the last.
    assert told == written == {"mean": 2 * 14, "high": 2 * 14}
