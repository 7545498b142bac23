"""`weft stream` over a stream that only pretends: what it is started with, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner, Result

from weft.cli.init import create_project
from weft.cli.main import app
from weft.cli.signals import HEARD, heard
from weft.errors import RunError
from weft.optimize import OPTIMIZERS
from weft.spark.stream.progress import KEYS

Weft = Callable[..., Result]
PLAN = {"algorithm": None, "optimizer": OPTIMIZERS[0].name}


class FakeStream:
    """A stream of one scan that makes a trigger at each wait, and ends after three, when it is told to, or badly."""

    def __init__(self, listeners: list[Any], names: list[str], outcome: Any):
        self.listeners, self.outcome = listeners, outcome
        self.query = SimpleNamespace(id="q0", isActive=True, recentProgress=[])
        self.scans = (SimpleNamespace(name="scan-0", queries=names, labels={"t": (tuple(names),)}, query=self.query),)
        self.triggers, self.stops, self.decisions = 0, 0, ()

    @property
    def isActive(self) -> bool:
        return self.query.isActive

    def awaitTermination(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        if self.isActive and self.triggers == 3:
            self.end()
        if not self.isActive and isinstance(self.outcome, Exception):
            raise self.outcome
        if self.isActive:
            self.trigger()
            if callable(self.outcome):
                self.outcome()
        return not self.isActive

    def trigger(self) -> None:
        progress = {"id": "q0", "timestamp": f"2024-05-01T12:00:0{self.triggers}.000Z", "batchId": self.triggers,
                    "durationMs": {"triggerExecution": 500},
                    "observedMetrics": {"weft": {"rows": 10}, "answers": {"counts": ["t 4"]}}}
        self.triggers += 1
        for listener in self.listeners:
            listener.onQueryProgress(SimpleNamespace(progress=SimpleNamespace(json=json.dumps(progress))))

    def stop(self, patience: float = 30.0) -> None:
        self.stops += 1
        self.end()

    def end(self) -> None:
        self.query.isActive = False
        for listener in self.listeners:
            listener.onQueryTerminated(SimpleNamespace(id="q0"))


class FakeLoom:
    """Takes everything, and starts a stream that ends as `outcome` says."""

    outcome: Any = None

    def __init__(self) -> None:
        self.names: list[str] = []
        self.listeners: list[Any] = []
        self.sources: dict[str, Any] = {}
        self.closed = False
        streams = SimpleNamespace(addListener=self.listeners.append, removeListener=self.listeners.remove)
        self.spark = SimpleNamespace(streams=streams)

    def source(self, name: str, path: str, **options: Any) -> None:
        self.sources[name] = options

    @property
    def queries(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name, every=None) for name in self.names]

    def add_queries(self, queries: dict[str, str], every: dict[str, str] | None = None,
                    shed: dict[str, str] | None = None) -> None:
        self.names += queries

    def start(self, **arguments: Any) -> FakeStream:
        self.arguments = arguments
        self.stream = FakeStream(self.listeners, self.names, self.outcome)
        return self.stream

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def loom(monkeypatch: pytest.MonkeyPatch) -> FakeLoom:
    """The loom that the command gets."""
    loom = FakeLoom()
    monkeypatch.setattr("weft.cli.weaving.new_loom", lambda project: loom)
    return loom


@pytest.fixture
def weft(tmp_path: Path, loom: FakeLoom, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """Runs `weft stream` in a new project."""
    create_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["stream", *args])


def add(text: str) -> None:
    with Path("weft.toml").open("a") as file:
        file.write(text)


def words(result: Result) -> str:
    return " ".join(result.stderr.replace("│", " ").split())


def test_lines_for_logs(weft: Weft, loom: FakeLoom) -> None:
    result = weft()
    assert result.exit_code == 0, result.stderr
    first, second, third, last = result.stdout.splitlines()
    assert first == "2024-05-01 12:00:00 scan-0 batch 0: 10 rows (20/s), 24 answers, state 0 B, 0.50 s"
    assert "batch 1" in second and "batch 2" in third
    assert last == "Ended after 3 triggers: 30 rows read, 72 answers."
    assert "Streaming 6 queries in 1 scan" in result.stderr
    assert loom.closed and not loom.listeners and loom.stream.stops == 0


def test_json_is_one_object_a_trigger_and_nothing_else(weft: Weft) -> None:
    result = weft("--json", "vwap")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0 and len(lines) == 3
    assert all(tuple(line) == KEYS for line in lines)
    assert (lines[0]["answers"], lines[0]["answers_per_second"]) == ({"vwap": 4}, 8.0)
    assert "Ended after 3 triggers" in result.stderr


def test_the_defaults(weft: Weft, loom: FakeLoom, tmp_path: Path) -> None:
    assert weft().exit_code == 0
    assert loom.arguments == {
        "checkpoint": str(tmp_path / ".weft/checkpoint"),
        "sink": {"format": "parquet", "path": str(tmp_path / "out-stream")},
        "queries": None,
        **PLAN,
    }


def test_a_source_that_streams(weft: Weft, loom: FakeLoom) -> None:
    Path("weft.toml").write_text('''[sources.trades]
path = "incoming"
format = "json"
time = "ts"
watermark = "10 minutes"
schema = "ts timestamp, price double"
''')
    assert weft().exit_code == 0
    assert loom.sources == {"trades": {"time": "ts", "format": "json", "options": {}, "watermark": "10 minutes",
                                       "schema": "ts timestamp, price double", "drop": 0.0}}


def test_the_command_line_comes_before_the_project(weft: Weft, loom: FakeLoom, tmp_path: Path) -> None:
    add("\n[stream]\ncheckpoint = 'ck'\nsink = 'csv:there'\ntrigger = '1 minute'\nmax_clock_skew = '2 days'\n"
        "dead_letters = 'dead'\n")
    assert weft().exit_code == 0
    assert loom.arguments == {
        "checkpoint": str(tmp_path / "ck"), "sink": {"format": "csv", "path": str(tmp_path / "there")},
        "queries": None, "trigger": "1 minute", "max_clock_skew": "2 days",
        "dead_letters": str(tmp_path / "dead"), **PLAN,
    }
    (tmp_path / "inner").mkdir()
    os.chdir("inner")
    options = ("--checkpoint", "mine", "--sink", "json", "--once", "--max-clock-skew", "", "--dead-letters", "no")
    options += ("--algorithm", "max=doubling", "--optimizer", "share_all")
    assert weft("vwap", "range_2h", *options).exit_code == 0
    assert loom.arguments == {
        "checkpoint": str(tmp_path / "inner/mine"), "sink": {"format": "json", "path": str(tmp_path / "out-stream")},
        "queries": ["vwap", "range_2h"], "trigger": "available", "max_clock_skew": None,
        "dead_letters": str(tmp_path / "inner/no"), "algorithm": {"max": "doubling"}, "optimizer": "share_all",
    }


@pytest.mark.parametrize(("text", "expected"), [
    ("console", "console"), ("noop", "noop"), ("s3a://bucket/x", {"format": "parquet", "path": "s3a://bucket/x"}),
    ("orc:s3a://bucket/x", {"format": "orc", "path": "s3a://bucket/x"}),
])
def test_sinks_of_every_spelling(weft: Weft, loom: FakeLoom, text: str, expected: Any) -> None:
    assert weft("--sink", text).exit_code == 0 and loom.arguments["sink"] == expected
    add(f"\n[stream]\nsink = '{text}'\n")
    assert weft().exit_code == 0 and loom.arguments["sink"] == expected


def test_printed_answers_are_on_stdout_and_figures_beside_them(weft: Weft, loom: FakeLoom) -> None:
    loom.outcome = lambda: print("an answer")
    result = weft("--sink", "console")
    assert result.stdout == "an answer\n" * 3 and "batch 2" in result.stderr and "Ended after" in result.stderr
    result = weft("--sink", "console", "--json")
    assert [json.loads(line)["batch"] for line in result.stdout.splitlines()] == [0, 1, 2]
    assert result.stderr.count("an answer") == 3


@pytest.mark.parametrize(("args", "said"), [
    (("--once", "--trigger", "1 second"), "give one of them, not both"),
    (("--trigger", " "), "write a length of time"),
    (("--metrics-port", "70000"), "--metrics-port"),
    (("--optimizer", "share_al"), "did you mean 'share_all'?"),
    (("vwpa",), "Did you mean 'vwap'?"),
])
def test_wrong_usage(weft: Weft, loom: FakeLoom, args: tuple[str, ...], said: str) -> None:
    result = weft(*args)
    assert result.exit_code == 2 and said in words(result)
    assert not hasattr(loom, "stream") and result.stdout == ""


@pytest.mark.parametrize(("args", "said"), [
    (("--sink", "data/trades/out"), "the sink"),
    (("--checkpoint", "data/trades"), "the checkpoint"),
    (("--dead-letters", "data/trades/dead"), "the folder of dead letters"),
])
def test_nothing_is_written_where_rows_are_read(weft: Weft, args: tuple[str, ...], said: str) -> None:
    result = weft(*args, "--json")
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr.startswith(said) and "overlap" in result.stderr and len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(("text", "said"), [
    ("metrics_port = -1", "stream.metrics_port must be a whole number from 0 to 65535"),
    ("metrics_port = true", "stream.metrics_port must be"),
    ("drift_tolerance = -0.1", "stream.drift_tolerance must be a number that is not below 0"),
    ("drift_tolerance = nan", "stream.drift_tolerance must be"),
    ("drift_tolerance = '1'", "'stream.drift_tolerance' must be a number"),
    ("metrics_port = '1'", "'stream.metrics_port' must be a whole number"),
    ("trigger = ''", "stream.trigger is empty"),
    ("chekpoint = 'x'", "Did you mean 'checkpoint'?"),
])
def test_a_table_that_is_wrong(weft: Weft, text: str, said: str) -> None:
    add(f"\n[stream]\n{text}\n")
    result = weft()
    assert result.exit_code == 1 and said in result.stderr


def test_a_stream_that_fails_is_one_sentence(weft: Weft, loom: FakeLoom) -> None:
    loom.outcome = RunError("scan 'scan-0' failed: the file is gone. Put it back and start again.")
    result = weft("--json")
    assert result.exit_code == 1 and len(result.stdout.splitlines()) == 3
    assert result.stderr.splitlines()[1:] == ["scan 'scan-0' failed: the file is gone. Put it back and start again."]
    assert loom.closed and not loom.listeners


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_after_the_trigger(weft: Weft, loom: FakeLoom, number: int) -> None:
    unheard = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(number, unheard)  # whoever started the tests may ignore it, as nohup does
    loom.outcome = lambda: os.kill(os.getpid(), number)
    try:
        result = weft("--json")
        assert signal.getsignal(number) is unheard
    finally:
        signal.signal(number, before)
    assert result.exit_code == 0 and loom.stream.stops == 1 and len(result.stdout.splitlines()) == 1
    assert "Stopping after the running trigger" in result.stderr and "Ended after 1 trigger:" in result.stderr


@pytest.mark.parametrize("number", HEARD)
def test_an_ignored_signal_stays_ignored(number: int) -> None:
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with heard() as signals:
            os.kill(os.getpid(), number)
            assert signal.getsignal(number) is signal.SIG_IGN and not signals.asked
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_metrics_are_served_while_it_runs(weft: Weft, loom: FakeLoom) -> None:
    port, pages = free_port(), []

    def look() -> None:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            pages.append(answer.read().decode())

    loom.outcome = look
    result = weft("--metrics-port", str(port))
    assert result.exit_code == 0 and f"Metrics are on http://127.0.0.1:{port}/metrics." in result.stderr
    assert ['weft_rows_total{scan="scan-0"} 10' in page for page in pages] == [True, False, False]
    assert 'weft_answers_total{query="vwap"} 12' in pages[2]


def test_a_port_that_is_taken_is_said_before_anything_starts(weft: Weft, loom: FakeLoom) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        result = weft("--metrics-port", str(server.getsockname()[1]))
    assert result.exit_code == 1 and "Name another with --metrics-port" in result.stderr and not loom.names


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_second_signal_ends_at_once(number: int, code: int) -> None:
    script = f"""
import os, signal
from weft.cli.signals import heard
signal.signal({int(number)}, signal.SIG_DFL)
with heard() as signals:
    assert not signals.asked
    os.kill(os.getpid(), {int(number)})
    assert signals.asked
    print("asked", flush=True)
    os.kill(os.getpid(), {int(number)})
    print("never")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (code, "asked\n"), done.stderr


def test_a_reader_that_goes_away_ends_the_stream() -> None:
    script = """
from queue import SimpleQueue
from datetime import UTC, datetime
import sys
from weft.cli.stream import tell_all
from weft.cli.view.json_lines import JsonLines
from weft.spark.stream.progress import TriggerMetrics
told = SimpleQueue()
told.put(TriggerMetrics("scan-0", datetime.now(UTC)))
print(tell_all(told, JsonLines(sys.stdout), sys.stdout), file=sys.stderr)
"""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", script], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "False\n")
