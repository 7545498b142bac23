"""`weft serve` from its command to its end, over looms and a stream that keep everything in memory."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from httpx import Client, HTTPError
from typer.testing import CliRunner, Result

from tests.unit.server.fake_stream import FixedStream, LiveStream, start_of
from weft.cli import serve as command
from weft.cli.main import app
from weft.errors import CheckError, Place, RunError
from weft.spark.stream import checkpoint as checkpoints

PROJECT = """
[sources.trades]
path = "incoming"
format = "json"
time = "ts"
watermark = "1 minute"
[serve]
port = 0
"""


class MemoryPlan:
    """A plan of one scan and one tree."""

    def __init__(self, texts: Mapping[str, str]):
        self.texts = dict(texts)
        self.workload = [SimpleNamespace(query=SimpleNamespace(name=name), components=["sum(price)"]) for name in texts]

    def explain(self) -> MemoryPlan:
        return self

    def to_dict(self) -> dict[str, Any]:
        tree = {"id": "t", "windows": ["1 h"], "reads": dict.fromkeys(self.texts, "1 h"), "queries": list(self.texts),
                "slices": {}, "algorithms": {}}
        scan = {"id": "s", "source": "trades", "keys": ["symbol"], "where": None, "components": ["sum(price)"],
                "trees": [tree]}
        return {"queries": {name: {"cost": 1.0, "alone": 3.0, "saved": 2.0} for name in self.texts}, "scans": [scan],
                "cost": {"cost": float(len(self.texts))}}

    def svg(self) -> str:
        return "<svg/>"

    def to_html(self) -> str:
        return "<!doctype html>"


class MemoryLoom:
    """A loom whose only check is for the word 'wrong'."""

    def __init__(self, texts: Mapping[str, str], start: Any):
        self.texts, self._start = dict(texts), start
        streams = SimpleNamespace(addListener=lambda one: None, removeListener=lambda one: None)
        self.spark = SimpleNamespace(streams=streams)

    @property
    def queries(self) -> list[Any]:
        return [SimpleNamespace(name=name, every=None) for name in self.texts]

    def query(self, name: str, sql: str, replace: bool = False, **bounds: Any) -> None:
        if "wrong" in sql:
            raise CheckError(name, "this is wrong.", place=Place(1, 3))
        assert replace == (name in self.texts)
        self.texts[name] = sql

    def drop(self, name: str) -> None:
        del self.texts[name]

    def plan(self, names: Any = None, **options: Any) -> MemoryPlan:
        return MemoryPlan({name: self.texts[name] for name in names or self.texts})

    def start(self, **options: Any) -> Any:
        return self._start(self.texts)

    def close(self) -> None:
        pass


class Running:
    """What a stream has of Spark: it runs until it is stopped."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.over, self.failure = threading.Event(), ""
        self.scans = (SimpleNamespace(name="scan-1", queries=tuple(self.checkpoint), labels={},  # type: ignore
                                      query=SimpleNamespace(id="1", isActive=True, recentProgress=[])),)

    def explain(self) -> MemoryPlan:
        return MemoryPlan(self.checkpoint)  # type: ignore[attr-defined]

    def awaitTermination(self, timeout: float) -> bool:
        if self.failure:
            raise RunError(self.failure)
        return self.over.wait(timeout / 10)

    def stop(self, patience: float) -> None:
        self.over.set()


class RunningLive(Running, LiveStream):
    """One whose queries change."""


class RunningFixed(Running, FixedStream):
    """One whose queries do not."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WEFT_TOKEN", raising=False)
    (tmp_path / "weft.toml").write_text(PROJECT)
    for name in ("queries", "incoming"):
        (tmp_path / name).mkdir()
    (tmp_path / "queries" / "all.sql").write_text("-- name: mean\nSELECT mean\n\n-- name: total\nSELECT total\n")
    return tmp_path


def served(project: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: dict[str, str], kind: type,
           act: Callable[[Client], None]) -> Result:
    """The service from start to end; another thread asks and then ends it."""
    prepare(monkeypatch, checkpoint, kind)
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            act(ready_client(project))
        except BaseException as error:
            failed.append(error)
        os.kill(os.getpid(), signal.SIGTERM)

    # A service that did not come up has not asked for the signal: it shall not end the tests.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    thread = threading.Thread(target=ask)
    thread.start()
    result = CliRunner().invoke(app, ["serve", "--debug"])
    thread.join()
    signal.signal(signal.SIGTERM, before)
    if failed:
        raise failed[0]
    return result


def prepare(monkeypatch: pytest.MonkeyPatch, checkpoint: dict[str, str], kind: type) -> None:
    """Puts looms and a checkpoint of memory in place of Spark's."""
    start = start_of(checkpoint, kind)
    monkeypatch.setattr(command, "weave_texts", lambda project, texts: MemoryLoom(texts, start))
    page = SimpleNamespace(queries=dict(checkpoint), texts={}, decisions=[]) if checkpoint else None
    monkeypatch.setattr(checkpoints, "open_checkpoint", lambda path: page)


def ready_client(project: Path) -> Client:
    """A client of the service, once all has started."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            found = json.loads((project / ".weft/serve/serve.json").read_text())
            client = Client(base_url=found["address"], trust_env=False, timeout=30)
            if client.get("/api/state").json()["ready"]:
                return client
        except (OSError, ValueError, HTTPError):
            pass
        time.sleep(0.05)
    raise AssertionError("it did not start")


@pytest.fixture
def checkpoint() -> Iterator[dict[str, str]]:
    yield {}


def test_a_service_lives_changes_and_ends(project: Path, monkeypatch: pytest.MonkeyPatch,
                                          checkpoint: dict[str, str]) -> None:
    def act(client: Client) -> None:
        assert client.get("/health").status_code == 200
        assert [one["name"] for one in client.get("/api/queries").json()["queries"]] == ["mean", "total"]
        checked = client.post("/api/check", json={"name": "high", "sql": "SELECT high"}).json()
        assert checked["price"]["cost_after"] == 3 and checked["price"]["shares_window"], checked
        wrong = client.post("/api/queries", json={"name": "high", "sql": "SELECT wrong"})
        assert wrong.status_code == 422 and wrong.json()["errors"][0]["column"] == 3
        assert client.post("/api/queries", json={"name": "high", "sql": "SELECT high"}).status_code == 201
        assert client.put("/api/queries/high", json={"sql": "SELECT higher"}).status_code == 200
        assert client.delete("/api/queries/mean").status_code == 200
        assert client.get("/api/queries/high").json()["plan"]["window"] == "1 h"
        assert client.get("/api/plan").json()["queries"].keys() == {"total", "high"}

    result = served(project, monkeypatch, checkpoint, RunningLive, act)
    assert result.exit_code == 0 and "2 queries streamed" in result.stderr, result.stderr
    assert "Stopping after the running trigger" in result.stderr
    assert checkpoint == {"total": "SELECT total", "high": "SELECT higher"}
    assert not (project / ".weft/serve/serve.json").exists()

    def look(client: Client) -> None:
        assert {one["name"]: one["state"] for one in client.get("/api/queries").json()["queries"]} == {
            "total": "runs", "high": "runs"}

    (project / "queries" / "more.sql").write_text("SELECT more")  # what is written meanwhile runs from the start
    again = served(project, monkeypatch, checkpoint, RunningLive, lambda client: None)
    assert again.exit_code == 0 and checkpoint.pop("more") == "SELECT more"
    (project / "queries" / "more.sql").unlink()
    (project / ".weft/serve/stream.json").write_text(json.dumps({
        **json.loads((project / ".weft/serve/stream.json").read_text()), "running": checkpoint}))
    assert served(project, monkeypatch, checkpoint, RunningLive, look).exit_code == 0


def test_a_stream_that_cannot_change_is_told_so(project: Path, monkeypatch: pytest.MonkeyPatch,
                                                checkpoint: dict[str, str]) -> None:
    def act(client: Client) -> None:
        assert not client.get("/api/state").json()["changes_at_once"]
        made = client.post("/api/queries", json={"name": "high", "sql": "SELECT high"})
        assert made.status_code == 201 and made.json()["change"]["kind"] == "waits"
        assert client.delete("/api/queries/mean").status_code == 409

    assert served(project, monkeypatch, checkpoint, RunningFixed, act).exit_code == 0
    again = served(project, monkeypatch, checkpoint, RunningFixed, lambda client: None)
    assert again.exit_code == 0 and "Not running as the project says: high." in again.stderr
    assert checkpoint.keys() == {"mean", "total"}


def test_a_stream_that_fails_ends_the_service(project: Path, monkeypatch: pytest.MonkeyPatch,
                                              checkpoint: dict[str, str]) -> None:
    class Failing(RunningLive):
        def __init__(self, *args: Any):
            super().__init__(*args)
            self.failure = "the disk is full."

    prepare(monkeypatch, checkpoint, Failing)
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 1 and "the disk is full." in result.stderr


def test_nothing_to_serve_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "weft.toml").write_text(PROJECT.replace('watermark = "1 minute"\n', ""))
    monkeypatch.setattr(command, "weave_texts", lambda project, texts: MemoryLoom(texts, None))
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code == 1 and "there is nothing to serve" in result.stderr
