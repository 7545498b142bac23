"""`weft schedule` in a project, for real: shown, run, refused to a second one, ended by a signal, killed, gone on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from tests.fixtures.java import CHILD_JAVA
from tests.spark.test_stream_cli import free_port
from weft.catalog.database import FILE, open_catalog
from weft.catalog.scheduled import query_states, scheduled_runs
from weft.cli.init import create_project
from weft.cli.main import app
from weft.runner.lease import holding_lease

Weft = Callable[..., Result]
QUERIES = ["big_trades", "exchanges", "range_10m", "range_2h", "volatility", "vwap"]
BOUNDS = 'every = { vwap = "2 seconds", range_10m = "2 seconds", "*" = "4 seconds" }'


def set_bounds(folder: Path, line: str = BOUNDS) -> None:
    """Give the project's queries bounds."""
    path = folder / "weft.toml"
    path.write_text(path.read_text().replace('# every = "5 minutes"', f"{line} #"))


def add_file(folder: Path, name: str) -> None:
    """Put a further file of rows in place at once, as complete as it will be."""
    data = folder / "data" / "trades"
    hidden = data / f".{name}.parquet"
    pq.write_table(pq.read_table(next(data.glob("*.parquet"))).slice(0, 500), hidden)
    hidden.rename(data / f"{name}.parquet")


@pytest.fixture
def weft(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """Runs a command in a new project whose queries have bounds, on the tests' session."""
    create_project(tmp_path)
    set_bounds(tmp_path)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, args)


def lines(result: Result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def rows_in(folder: Path) -> list[str]:
    """The rows of a query's answers, in order; of reals as many digits as any order of adding gives."""
    return sorted(str([f"{value:.9g}" if isinstance(value, float) else value for value in row.values()])
                  for row in pq.read_table(folder).to_pylist())


def test_the_schedule_is_shown_run_and_measured(weft: Weft) -> None:
    shown = weft("schedule")
    assert shown.exit_code == 0, shown.stderr
    assert "Costs are estimated, as nothing has run by a schedule here yet." in shown.stdout
    assert "vwap" in shown.stdout and "`weft schedule run` follows it." in shown.stdout
    done = weft("schedule", "run", "--json", "--runs", "3", "--policy", "hybrid")
    assert done.exit_code == 0, done.stderr
    first, *others = lines(done)
    assert sorted(first["queries"]) == QUERIES and not first["failed"] and first["new_files"] == 1
    assert len(others) == 2 and all("vwap" in run["queries"] and run["new_files"] == 0 for run in others)
    assert "Running 6 queries by hybrid" in done.stderr and "Ended after 3 runs" in done.stderr
    data = json.loads(weft("schedule", "--json").stdout)
    assert data["measured_runs"] == 2 and data["cost_unit"] == "seconds" and data["chosen"] == data["cheapest"]
    assert sorted(name for names in data["queries"].values() for name in names) == QUERIES
    assert [len(policy["runs"]) > 0 for policy in data["policies"]] == [True] * 5
    people = weft("schedule", "run", "--once", "vwap", "--sink", "noop")
    assert people.exit_code == 0 and people.stdout.count("\n") == 1, "due, as it was never written there"
    assert "vwap: " in people.stdout and " s, 0 new files; next vwap" in people.stdout
    assert weft("run", "--sink", "again").exit_code == 0
    for name in QUERIES:
        assert rows_in(Path("out", name)) == rows_in(Path("again", name))


def test_what_cannot_be_is_said(weft: Weft, tmp_path: Path) -> None:
    with open_catalog(tmp_path / ".weft" / FILE) as catalog, holding_lease(catalog):
        held = weft("schedule", "run", "--once")
        assert held.exit_code == 1
        assert f"is another runner's: process {os.getpid()} on host" in held.stderr and "its lease 0 s" in held.stderr
    toml = tmp_path / "weft.toml"
    good = toml.read_text()
    toml.write_text(good.replace(BOUNDS, ""))
    bare = weft("schedule", "run")
    assert bare.exit_code == 1 and "no query has a bound" in bare.stderr
    toml.write_text(good.replace(BOUNDS, 'every = { vwap = "2 seconds" }'))
    some = weft("schedule")
    assert some.exit_code == 1 and "there is none for big_trades, exchanges" in some.stderr
    toml.write_text(good.replace(BOUNDS, 'every = "1 millisecond"'))
    short = weft("schedule")
    assert short.exit_code == 1 and "is less than a run takes" in short.stderr and "The least" in short.stderr
    toml.write_text(good + '\n[run]\nstore = ""\n')
    none = weft("schedule", "run")
    assert none.exit_code == 1 and "keeps its slices and runs in a store" in none.stderr
    assert weft("schedule", "run", "--policy", "hybird").exit_code == 2


def test_a_signal_ends_it_after_the_running_run(weft: Weft, tmp_path: Path) -> None:
    """Files come meanwhile, metrics are read, and after SIGTERM the store is free."""
    port, done = free_port(), threading.Event()

    def watch() -> None:
        while not done.wait(0.3):
            found = metrics(port)
            if found.get('weft_query_runs_total{query="vwap"}', 0) >= 2:
                add_file(tmp_path, "more") if not (tmp_path / "data/trades/more.parquet").exists() else None
            if found.get('weft_query_runs_total{query="vwap"}', 0) >= 4:
                seen.update(found)
                os.kill(os.getpid(), signal.SIGTERM)
                return

    seen: dict[str, float] = {}
    thread = threading.Thread(target=watch)
    thread.start()
    result = weft("schedule", "run", "--json", "--for", "2m", "--metrics-port", str(port))
    done.set()
    thread.join()
    assert result.exit_code == 0, result.stderr
    runs = lines(result)
    assert sum(run["new_files"] for run in runs[1:]) >= 1 and not any(run["failed"] for run in runs)
    assert seen['weft_answer_age_seconds{query="vwap"}'] < 60
    assert 0 < seen[next(name for name in seen if name.startswith("weft_schedule_utilisation"))] <= 1
    with open_catalog(tmp_path / ".weft" / FILE) as catalog:
        assert catalog.rows("SELECT count(*) FROM leases") == [(0,)]
        assert len(scheduled_runs(catalog, 100)) == len(runs)


def metrics(port: int) -> dict[str, float]:
    try:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
            rows = [line.rsplit(" ", 1) for line in reply.read().decode().splitlines() if not line.startswith("#")]
    except OSError:
        return {}
    return {name: float(value) for name, value in rows}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts runners as processes of their own in a new project."""
    create_project(tmp_path)
    set_bounds(tmp_path)
    home = {**os.environ, "JAVA_TOOL_OPTIONS": CHILD_JAVA, "PYTHONPATH": str(Path(__file__).parents[2])}
    made: list[subprocess.Popen] = []

    def begin(*args: str) -> subprocess.Popen:
        code = "from weft.cli.main import main; main()"
        made.append(subprocess.Popen([sys.executable, "-c", code, "schedule", "run", "--json", *args], cwd=tmp_path,
                                     env=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                     start_new_session=True))
        return made[-1]

    yield begin
    for child in made:
        if child.poll() is None:
            child.kill()
        child.communicate()


@pytest.mark.long
def test_killed_in_the_middle_of_runs_it_goes_on(start: Callable[..., subprocess.Popen], tmp_path: Path) -> None:
    """Two runners are killed, each at another moment of a run, while files come; the third has every answer once."""
    for number, delay in enumerate((0.2, 1.0)):
        add_file(tmp_path, f"more{number}")
        child = start()
        json.loads(child.stdout.readline())
        second = start() if number == 0 else None
        add_file(tmp_path, f"late{number}")
        time.sleep(delay)
        if second is not None:
            _, words = second.communicate(timeout=120)
            assert second.returncode == 1 and f"is another runner's: process {child.pid}" in words
        child.send_signal(signal.SIGKILL)
        child.wait()
    last = start("--runs", "3")
    words, told = last.communicate(timeout=240)
    assert last.returncode == 0, told
    runs = [json.loads(line) for line in words.splitlines()]
    assert not any(run["failed"] for run in runs)
    with open_catalog(tmp_path / ".weft" / FILE) as catalog:
        assert len(query_states(catalog)) == len(QUERIES)
        assert len(scheduled_runs(catalog, 100)) >= 2 + len(runs)
    home = {**os.environ, "JAVA_TOOL_OPTIONS": CHILD_JAVA, "PYTHONPATH": str(Path(__file__).parents[2])}
    code = "from weft.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code, "run", "--sink", "again"], cwd=tmp_path, env=home, check=True,
                   capture_output=True)
    for name in QUERIES:
        assert rows_in(tmp_path / "out" / name) == rows_in(tmp_path / "again" / name), name
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith("_weft_staging")]
