"""`weft what-if windows`: plans without a project, data or Spark: golden costs, spellings, a sentence for the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from weft.cli import what_if
from weft.cli.main import app
from weft.cli.windows import read_windows
from weft.cost.techniques import TECHNIQUES
from weft.errors import PlanError
from weft.model.window import Window
from weft.optimize import EVERY_OPTIMIZER, OPTIMIZERS

Ask = Callable[..., Result]
EXAMPLE_3 = ("16/4,10/5,8/4", "--rate", "1.2")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["what-if", "windows", *args])


def data_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def said(result: Result) -> str:
    return " ".join(result.stderr.replace("│", " ").split())


def test_example_3_by_value(ask: Ask) -> None:
    options = ("--optimizer", "weave_share", "--model", "paper", "--algorithm", "panes", "--json")
    data = data_of(ask(*EXAMPLE_3, *options))
    assert {key: data[key] for key in ("optimizer", "model", "technique", "rate")} == {
        "optimizer": "weave_share", "model": "paper", "technique": "panes", "rate": 1.2}
    costs = {"cost": 4.3, "partial_cost": 2.4, "final_cost": 1.9, "no_share_cost": 5.5, "shared_cost": 4.4}
    assert {key: data[key] for key in costs} == costs
    exact = {"edge_rate_exact": True, "edge_rate_error": 0.0}
    assert data["trees"] == [
        {"windows": ["16/4", "8/4"], "edge_rate": 0.25, **exact, "overlap": 6.0, "cost": 2.7},
        {"windows": ["10/5"], "edge_rate": 0.2, **exact, "overlap": 2.0, "cost": 1.6},
    ]
    assert [query["saved"] for query in data["queries"]] == [0.6, 0.0, 0.6]


def test_people_read_a_table_and_a_sentence(ask: Ask) -> None:
    shown = ask(*EXAMPLE_3, "-o", "weave_share").stdout
    assert "16/4, 8/4" in shown and "10/5" in shown
    assert "3 queries in 2 trees for 4.3 operations per unit of time; No Share takes 5.5, Shared 4.4." in shown


@pytest.mark.parametrize("optimizer", [o.name for o in EVERY_OPTIMIZER])
@pytest.mark.parametrize("technique", [t.name for t in TECHNIQUES])
def test_every_optimizer_with_every_technique(ask: Ask, optimizer: str, technique: str) -> None:
    data = data_of(ask(*EXAMPLE_3, "-o", optimizer, "-a", technique, "--json"))
    trees = sum(tree["cost"] for tree in data["trees"]) + data["shared_partial_cost"]
    assert trees == pytest.approx(data["cost"]) == pytest.approx(data["partial_cost"] + data["final_cost"])
    assert sorted(w for tree in data["trees"] for w in tree["windows"]) == ["10/5", "16/4", "8/4"]
    extremes = {"no_share": data["no_share_cost"], "share_all": data["shared_cost"]}
    assert data["cost"] == pytest.approx(extremes.get(optimizer, data["cost"]))


@pytest.mark.parametrize(("slicer", "rate", "cost"), [("pairs", 8 / 18, 3 + 8 / 6), ("panes", 1, 6.0),
                                                      ("cutty", 4 / 18, 3 + 4 / 6)])
def test_windows_are_cut_and_priced_by_a_slicer(ask: Ask, slicer: str, rate: float, cost: float) -> None:
    asked = ("12/9,10/6", "--rate", "3", "-o", "share_all", "--slicer", slicer)
    data = data_of(ask(*asked, "--json"))
    assert data["slicer"] == slicer and data["trees"][0]["edge_rate"] == pytest.approx(rate)
    assert data["cost"] == pytest.approx(cost)
    shown = " ".join(ask(*asked).stdout.split())
    assert ("on Spark does not keep" in shown) == (slicer == "cutty") and ("Cut by" in shown) == (slicer != "pairs")


def test_a_slicer_that_there_is_not_is_wrong_usage(ask: Ask) -> None:
    result = ask(*EXAMPLE_3, "--slicer", "pains")
    assert result.exit_code == 2 and "there is no slicer 'pains': choose one of panes, pairs, cutty." in said(result)


@pytest.mark.parametrize(("windows", "rate"), [("1.6/0.4,1/.5,0.8/0.4", "12"), ("16s/4s,10s/5s,8s/4000ms", "1.2"),
                                               ("0.016s/4ms,10ms/5000us,8ms/4ms", "1200")])
def test_decimals_and_durations_scale_exactly(ask: Ask, windows: str, rate: str) -> None:
    data = data_of(ask(windows, "--rate", rate, "-o", "weave_share", "--json"))
    scale = float(rate) / 1.2
    assert [len(tree["windows"]) for tree in data["trees"]] == [2, 1]
    assert (data["cost"], data["no_share_cost"], data["shared_cost"]) == pytest.approx(
        (4.3 * scale, 5.5 * scale, 4.4 * scale))
    assert data["trees"][0]["edge_rate"] == pytest.approx(0.25 * scale) and data["trees"][0]["overlap"] == 6


def test_windows_come_from_options_and_files(ask: Ask) -> None:
    Path("w.txt").write_text("# the paper's\n16/4\n\n 10/5  # slow\n8/4,\n")
    want = data_of(ask(*EXAMPLE_3, "--json"))
    assert data_of(ask("@w.txt", "--rate", "1.2", "--json")) == want
    assert data_of(ask("16/4", "10 / 5, 8/4", "--rate", "1.2", "--json")) == want


SPELLINGS = {
    "16/4": (Window(16, 4), 1, False),
    "2.5/0.5": (Window(5, 1), 2, False),
    "10/5@2": (Window(10, 5, 2), 1, False),
    "10/5@-2": (Window(10, 5, -2), 1, False),
    "10m/1min": (Window(600_000_000, 60_000_000), 10**6, True),
    "1h / 90s @ 0": (Window(3_600_000_000, 90_000_000), 10**6, True),
    "2d/1.5h@30m": (Window(172_800_000_000, 5_400_000_000, 1_800_000_000), 10**6, True),
    "3us/1us": (Window(3, 1), 10**6, True),
    "3MS/1000US": (Window(3000, 1000), 10**6, True),
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_spellings(text: str) -> None:
    found = read_windows([text])
    assert (found.windows[0], found.ticks, found.timed) == SPELLINGS[text]


@given(st.lists(st.tuples(st.decimals("0.001", 1000, places=3), st.integers(1, 9)), min_size=1, max_size=5))
def test_lengths_are_never_rounded(pairs: list) -> None:
    found = read_windows([",".join(f"{slide * times}/{slide}" for slide, times in pairs)])
    for window, (slide, times) in zip(found.windows, pairs, strict=True):
        assert Fraction(window.slide, found.ticks) == Fraction(slide)
        assert window.range == times * window.slide


def test_spark_prices_seconds_of_a_source(ask: Ask) -> None:
    windows = ("60/7,60/11,3600/3600", "--model", "spark", "--json")
    data = data_of(ask(*windows))
    assert (data["rows"], data["keys"], data["hours"]) == (2e6, 1e3, 10) and data["model"] == "spark"
    assert data["assumed"] == ["rows", "keys", "hours"] and data["unit"] == "seconds for the whole span"
    assert 1 < data["shared_cost"] < data["no_share_cost"] < 20
    larger = data_of(ask(*windows, "--rows", "20e6"))
    assert larger["cost"] > 2 * data["cost"] and larger["assumed"] == ["keys", "hours"]
    timed = data_of(ask("60s/7s,60s/11s,1h/1h", "--model", "spark", "--json"))
    assert timed["cost"] == pytest.approx(data["cost"])
    assert "2,000,000 rows of 1,000 keys in 10 h (rows, keys, hours assumed)" in ask(*windows[:-1]).stdout


def test_spark_assumes_what_the_loom_assumes() -> None:
    from weft.model.statistics import ASSUMED

    assert (ASSUMED.rows, ASSUMED.keys, ASSUMED.span) == (what_if.ROWS, what_if.KEYS, what_if.HOURS * 3600e6)


def test_a_sampled_edge_rate_is_said_to_be(ask: Ask) -> None:
    slides = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063, 1069, 1087, 1091, 1093, 1097]
    args = (",".join(f"{2 * s + 1}/{s}" for s in slides), "--rate", "1000", "-o", "share_all")
    (tree,) = data_of(ask(*args, "--json"))["trees"]
    assert tree["edge_rate_exact"] is False and 0 < tree["edge_rate_error"] < 0.1 * tree["edge_rate"]
    shown = ask(*args).stdout
    assert "± " in shown and "(sampled)" in shown and "and 10 more" in shown


WRONG = {
    "no windows": (["", "--rate", "1"], "WINDOWS", "there are no windows to plan"),
    "only commas": ([" , ,", "--rate", "1"], "WINDOWS", "there are no windows to plan"),
    "garbage": (["banana", "--rate", "1"], "WINDOWS", "'banana' is no window"),
    "too many parts": (["1/2/3", "--rate", "1"], "WINDOWS", "'1/2/3' is no window"),
    "no length": (["ten/5", "--rate", "1"], "WINDOWS", "'ten' in window 'ten/5' is no length"),
    "no slide": (["10/", "--rate", "1"], "WINDOWS", "is no length"),
    "a float's spelling": (["1e3/5", "--rate", "1"], "WINDOWS", "is no length"),
    "unit": (["10x/5x", "--rate", "1"], "WINDOWS", "'x' in window '10x/5x' is no unit of time"),
    "near unit": (["10mins/5m", "--rate", "1"], "WINDOWS", "Did you mean 'min'?"),
    "half a unit": (["10m/5", "--rate", "1"], "WINDOWS", "mixes a duration and a plain number"),
    "mixed": (["10m/5m,10/5", "--rate", "1"], "WINDOWS", "some windows are durations"),
    "zero range": (["0/0", "--rate", "1"], "WINDOWS", "window '0/0': the range must be positive"),
    "negative range": (["9/3,-4/2", "--rate", "1"], "WINDOWS", "the range must be positive"),
    "zero slide": (["4/0", "--rate", "1"], "WINDOWS", "the slide must be positive"),
    "gaps": (["4/5", "--rate", "1"], "WINDOWS", "the slide must not be larger than the range"),
    "start": (["4/2@2", "--rate", "1"], "WINDOWS", "the start must be smaller than the slide"),
    "too fine": (["3us/0.5us", "--rate", "1"], "WINDOWS", "a microsecond is the finest"),
    "too long": (["999999999999999999.5/0.001", "--rate", "1"], "WINDOWS", "too long to be counted"),
    "far too long": ([f"{10**30}/3", "--rate", "1"], "WINDOWS", "too long to be counted"),
    "no file": (["@nowhere", "--rate", "1"], "WINDOWS", "'nowhere' cannot be read: No such file"),
    "no rate": (["4/2"], "--rate", "give the input rate"),
    "zero rate": (["4/2", "--rate", "0"], "--rate", "this must be positive, not 0"),
    "negative rate": (["4/2", "--rate", "-1"], "--rate", "this must be positive, not -1"),
    "nan": (["4/2", "--rate", "nan"], "--rate", "this must be positive"),
    "infinite": (["4/2", "--rate", "inf"], "--rate", "this must be positive"),
    "rate garbage": (["4/2", "--rate", "fast"], "--rate", "unable to parse"),
    "optimizer": ([*EXAMPLE_3, "-o", "weave_sare"], "--optimizer", "did you mean 'weave_share'?"),
    "far optimizer": ([*EXAMPLE_3, "-o", "zzz"], "--optimizer", "the optimizers are cheapest, tri_weave, weave_share"),
    "technique": ([*EXAMPLE_3, "-a", "pains"], "--algorithm", "did you mean 'panes'?"),
    "far technique": ([*EXAMPLE_3, "-a", "zzz"], "--algorithm", "use panes, flat_fat"),
    "one range": ([*EXAMPLE_3, "-a", "daba"], "--algorithm", "'daba' serves one range, so queries cannot share it"),
    "two techniques": ([*EXAMPLE_3, "-a", "panes", "-a", "flat_fit"], "--algorithm", "one technique only"),
    "exhaustive": ([",".join(["4/2"] * 11), "--rate", "1", "-o", "exhaustive"], "--optimizer", "at most 10"),
    "model": ([*EXAMPLE_3, "--model", "sprak"], "--model", "Did you mean 'spark'?"),
    "rows of the paper": ([*EXAMPLE_3, "--rows", "5"], "--rows", "this belongs to --model spark"),
    "rate of Spark": ([*EXAMPLE_3, "--model", "spark"], "--rate", "this belongs to --model paper"),
    "technique of Spark": (["4/2", "--model", "spark", "-a", "panes"], "--algorithm", "belongs to --model paper"),
    "no rows": (["4/2", "--model", "spark", "--rows", "0"], "--rows", "must be positive"),
    "no keys": (["4/2", "--model", "spark", "--keys", "-3"], "--keys", "must be positive"),
    "no hours": (["4/2", "--model", "spark", "--hours", "0"], "--hours", "must be positive"),
    "a project too": ([*EXAMPLE_3, "--query", "q"], "--query", "No such option"),
    "no windows at all": (["--rate", "1.2"], "WINDOWS", "Missing argument"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_gets_a_sentence(ask: Ask, case: str) -> None:
    args, option, sentence = WRONG[case]
    result = ask(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in said(result) and option in said(result)


@pytest.mark.parametrize("old", [("--windows", "16/4", "--rate", "1.2"), ("-w", "16/4", "--model", "spark"),
                                 ("--rows", "5", "--keys", "7"), ("--hours", "1", "--json")])
def test_the_old_spelling_is_told_the_new_one(old: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["plan", *old])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "weft what-if windows 16/4,10/5,8/4 --rate 1.2" in said(result)


def test_help_has_examples_that_run(ask: Ask) -> None:
    runner = CliRunner(env={**os.environ, "COLUMNS": "300", "TERM": "dumb"})
    shown = runner.invoke(app, ["what-if", "windows", "--help"]).stdout
    examples = re.findall(r"weft (what-if windows [^;│]+)", shown.partition("Examples:")[2])
    assert len(examples) == 3 and "--windows" not in runner.invoke(app, ["plan", "--help"]).stdout
    Path("windows.txt").write_text("4/2\n")
    for example in examples:
        assert CliRunner().invoke(app, example.split()).exit_code == 0, example
    assert "windows" in runner.invoke(app, ["what-if", "--help"]).stdout


@given(st.text(max_size=12))
def test_whatever_is_written_is_a_window_or_refused(text: str) -> None:
    if text.startswith("@"):
        return
    try:
        assert all(w.range >= w.slide > 0 for w in read_windows([text]).windows)
    except PlanError as error:
        assert str(error).endswith((".", "?"))


def test_help_names_every_optimizer() -> None:
    environment = {**os.environ, "COLUMNS": "300", "TERM": "dumb"}
    for command in (["plan"], ["what-if", "windows"], ["run"], ["verify"]):
        shown = CliRunner(env=environment).invoke(app, [*command, "--help"]).stdout
        assert all(o.name in shown for o in OPTIMIZERS) and "weave_share:polish" in shown


def test_the_page_names_every_optimizer_and_shows_the_example(ask: Ask) -> None:
    page = (Path(__file__).parents[3] / "docs" / "planning.md").read_text()
    assert all(f"`{o.name}`" in page for o in EVERY_OPTIMIZER) and all(f"`{t.name}`" in page for t in TECHNIQUES)
    shown = re.search(r"```json\n(.*?)```", page, re.DOTALL)
    assert shown and json.loads(shown[1]) == data_of(ask(*EXAMPLE_3, "-o", "weave_share", "--json"))
    lines = [line.rstrip() for line in ask(*EXAMPLE_3, "-o", "weave_share").stdout.splitlines() if line.strip()]
    assert all(line in page for line in lines)


def test_spark_is_not_even_imported(tmp_path: Path) -> None:
    code = ("import sys; from typer.testing import CliRunner; from weft.cli.main import app; "
            f"shown = CliRunner().invoke(app, ['what-if', 'windows', *{EXAMPLE_3!r}]); "
            "print(shown.exit_code, 'pyspark' in sys.modules)")
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout.strip() == "0 False"
