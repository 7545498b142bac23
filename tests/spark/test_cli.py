"""The command line for real: a new project is checked, planned, run and verified by Spark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from tests.fixtures.java import JAVA
from weft.cli.init import create_project
from weft.cli.main import app

Weft = Callable[..., Result]
QUERIES = ["big_trades", "exchanges", "range_10m", "range_2h", "volatility", "vwap"]


@pytest.fixture
def weft(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """Runs a command in a new project, on the tests' session."""
    create_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, args)


def test_a_new_project_is_good(weft: Weft) -> None:
    result = weft("check", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["queries"] == QUERIES


def test_every_error_is_listed_with_its_place(weft: Weft) -> None:
    Path("queries/bad.sql").write_text(
        "-- name: typo\nSELECT symbol,\n  avg(prise)\nFROM trades GROUP BY symbol, window(ts, '2 minutes')\n"
        "-- name: lost\nSELECT count(*) FROM trade GROUP BY window(ts, '2 minutes')\n"
    )
    result = weft("check", "--json")
    errors = {error["query"]: error for error in json.loads(result.stdout)["errors"]}
    assert result.exit_code == 1 and sorted(errors) == ["lost", "typo"]
    assert (errors["typo"]["file"], errors["typo"]["line"], errors["typo"]["column"]) == ("queries/bad.sql", 3, 7)
    assert (errors["lost"]["line"], errors["lost"]["column"]) == (6, 22)


def test_plan_says_what_is_shared(weft: Weft) -> None:
    result = weft("plan", "--html", "plan.html")
    assert result.exit_code == 0, result.stderr
    assert "range_10m" in result.stdout
    assert "<html" in Path("plan.html").read_text()
    assert json.loads(weft("plan", "--json").stdout)


def test_run_writes_every_query(weft: Weft) -> None:
    result = weft("run", "--json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)["queries"]
    assert sorted(item["query"] for item in report) == QUERIES
    for item in report:
        assert pq.read_table(item["path"]).num_rows > 0
    kept = json.loads(weft("catalog", "--json").stdout)["queries"]
    assert [item["name"] for item in kept] == QUERIES and {item["plan"] for item in kept} == {1}


def test_run_writes_one_query_elsewhere(weft: Weft) -> None:
    result = weft("run", "--query", "vwap", "--sink", "csv:there")
    assert result.exit_code == 0, result.stderr
    assert list(Path("there/vwap").glob("*.csv")) and not Path("out").exists()


def test_an_incremental_run_reads_what_is_new(weft: Weft) -> None:
    command = ("run", "--incremental", "--query", "vwap", "--json")
    (first,) = json.loads(weft(*command).stdout)["sources"]
    answers = pq.read_table("out/vwap").num_rows
    assert first["new_files"] == first["files"] and first["anew"] and Path(".weft/slices").is_dir()
    again = weft("run", "--incremental", "--query", "vwap")
    assert f"trades: 0 of {first['files']} file" in again.stdout and pq.read_table("out/vwap").num_rows == answers
    refused = weft("run", "--incremental", "--store", "")
    assert refused.exit_code == 2 and "--store" in refused.stderr


def test_verify_finds_all_equal(weft: Weft) -> None:
    result = weft("verify", "--json")
    assert result.exit_code == 0, result.stdout + result.stderr
    assert json.loads(result.stdout)["ok"] is True


def test_an_algorithm_is_forced_and_shown(weft: Weft) -> None:
    (scan, *_) = json.loads(weft("plan", "--query", "vwap", "--algorithm", "recalc", "--json").stdout)["scans"]
    assert set(scan["trees"][0]["algorithms"].values()) == {"recalc"}
    assert " by recalc" in weft("plan", "-q", "vwap", "-a", "recalc").stdout
    result = weft("verify", "--query", "vwap", "--algorithm", "add=disjoint", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["ok"] is True
    assert weft("run", "--query", "vwap", "--algorithm", "block", "--sink", "noop").exit_code == 0


def test_an_optimizer_is_named_and_sources_are_measured(weft: Weft) -> None:
    plan = json.loads(weft("plan", "--optimizer", "no_share", "--measure", "--json").stdout)
    assert plan["optimizer"] == "no_share" and len(plan["scans"]) == len(QUERIES)
    assert all(scan["estimated_for"]["measured"] for scan in plan["scans"])
    assert max(scan["estimated_for"]["rows"] for scan in plan["scans"]) == 20_000
    result = weft("verify", "--query", "vwap", "-q", "range_2h", "--optimizer", "weave_share", "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["ok"] is True


def test_an_algorithm_that_must_not_fold_is_refused(weft: Weft) -> None:
    result = weft("run", "--algorithm", "doubling")
    assert result.exit_code == 1 and not Path("out").exists()
    assert "'doubling' cannot fold" in result.stderr and "needs an idempotent function" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    with Path("weft.toml").open("a") as file:
        file.write("\n[plan]\nalgorithm = 'doubling'\n")
    assert "'doubling' cannot fold" in weft("check").stderr


def test_a_process_keeps_stdout_for_the_answer(tmp_path: Path) -> None:
    create_project(tmp_path)
    (tmp_path / "spark-defaults.conf").write_text(f"spark.driver.defaultJavaOptions {JAVA}\n")
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "from weft.cli.main import main; main()"]
    args = ["run", "--project", str(tmp_path), "--query", "vwap", "--sink", "noop", "--json"]
    done = subprocess.run([*command, *args], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["ok"] is True
