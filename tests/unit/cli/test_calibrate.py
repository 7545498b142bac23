"""`weft calibrate`: what it measures, keeps, prints and removes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from weft.calibrate import kernels as measuring
from weft.cli.main import app
from weft.cost import calibration_table as figures
from weft.cost.calibration_table import default_figures
from weft.final.algorithms import ALGORITHMS

Weft = Callable[..., Result]
COMPILED = [a.card.name for a in ALGORITHMS if a.card.engine == "numba"]


@pytest.fixture
def weft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Weft:
    """Runs the command with a home of its own, measurements of next to nothing and no numba."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, value in {"SPANS": (3, 4, 5), "COUNTS": (1, 4), "CELLS": 32, "REPEATS": 1}.items():
        monkeypatch.setattr(measuring, name, value)
    monkeypatch.setattr("weft.final.algorithms.jit.find_spec", lambda name: None)
    monkeypatch.setattr("weft.cli.calibration.spark_costs", lambda report: replace(default_figures().spark, row=77.0))
    figures.read_own.cache_clear()
    return lambda *args: CliRunner().invoke(app, ["calibrate", *args])


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Where the figures go."""
    return tmp_path / "cache" / "weft" / "figures.json"


def test_figures_are_measured_kept_and_shown(weft: Weft, kept: Path) -> None:
    result = weft()
    assert result.exit_code == 0, result.stderr
    assert figures.current_figures() == figures.from_json(kept.read_text()) != default_figures()
    assert result.stdout.startswith("This machine's own figures, measured on 20") and str(kept) in result.stdout
    for word in ("add int64", "comoments", "recalc", "× 1", "× 4", "Copying eight bytes takes"):
        assert word in result.stdout
    assert f"Without {', '.join(COMPILED)}: it needs numba: install weft-spark[jit]" in result.stdout


def test_figures_for_machines(weft: Weft, kept: Path) -> None:
    data = json.loads(weft("--json").stdout)
    assert (data["ok"], data["own"], data["path"], data["fault"]) == (True, True, str(kept), None)
    assert data["answer"]["prefix"]["add int64"][0][:2] == [3, 1]
    assert list(data["missing"]) == COMPILED and data["memcpy"] > 0
    assert data["spark"]["row"] == 77.0 and "ns a row of a scan" in weft("--show").stdout


def test_show_measures_nothing(weft: Weft, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "calibrate", None)
    result = weft("--show")
    assert result.exit_code == 0 and result.stdout.startswith("The figures that Weft ships, measured (x86_64")
    assert f"{default_figures().start['block_jit']:.2f} s to start block_jit" in result.stdout and not kept.exists()
    assert json.loads(weft("--show", "--json").stdout)["own"] is False


def test_show_says_whose_figures_they_are_and_from_when(weft: Weft, kept: Path) -> None:
    assert weft().exit_code == 0
    data = json.loads(kept.read_text())
    kept.write_text(json.dumps({**data, "machine": "an abacus", "measured": "1642-01-01"}))
    assert "own figures, measured on 1642-01-01 (an abacus)" in weft("--show").stdout


def test_show_says_what_has_no_figures(weft: Weft, kept: Path) -> None:
    assert weft().exit_code == 0
    data = json.loads(kept.read_text())
    del data["answer"]["chain"]
    kept.write_text(json.dumps(data))
    assert "Without chain: it has not been measured." in weft("--show").stdout


def test_reset_removes_them(weft: Weft, kept: Path) -> None:
    assert weft().exit_code == 0
    result = weft("--reset")
    assert (result.exit_code, kept.exists()) == (0, False)
    assert result.stdout == f"Removed {kept}; Weft uses those it ships.\n"
    assert weft("--reset").stdout.startswith("This machine has no figures of its own")
    assert json.loads(weft("--reset", "--json").stdout) == {"ok": True, "removed": None}


def test_show_and_reset_exclude_each_other(weft: Weft) -> None:
    assert weft("--show", "--reset").exit_code == 2


def test_a_broken_file_is_shown(weft: Weft, kept: Path) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text("{")
    result = weft("--show")
    assert result.exit_code == 0 and result.stderr == ""
    assert result.stdout.startswith(f"This machine's figures in '{kept}' cannot be used")
    assert "The figures that Weft ships" in result.stdout
    assert "cannot be used" in json.loads(weft("--show", "--json").stdout)["fault"]
    assert weft().exit_code == 0 and "own figures" in weft("--show").stdout


def test_a_place_that_cannot_be_written_is_told_before_anything_is_measured(
    weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "calibrate", None)
    (tmp_path / "cache").write_text("in the way")
    result = weft()
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("cannot write the figures to '") and len(result.stderr.splitlines()) == 1
    assert json.loads(weft("--json").stdout)["ok"] is False
    assert (tmp_path / "cache").read_text() == "in the way"


def test_an_interrupt_leaves_nothing_behind(weft: Weft, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(progress: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(measuring, "calibrate", interrupted)
    assert weft().exit_code == 130 and not kept.exists()


def test_other_commands_say_on_one_line_that_the_figures_are_broken(tmp_path: Path) -> None:
    (tmp_path / "weft").mkdir()
    (tmp_path / "weft" / "figures.json").write_text("{")
    code = ("from weft.cli.output import reporting; from weft.cost.calibration_table import current_figures\n"
            "with reporting(False, False): current_figures(), current_figures()")
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    (line,) = done.stderr.splitlines()
    assert line.startswith("this machine's figures in") and "Warning" not in line
