"""`weft schedule --groups`: golden costs, what a capacity does to bounds, pictures, a sentence for the rest."""

from __future__ import annotations

import json
import os
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

from tests.strategies.schedules import PAPER
from weft.cli.groups import read_groups
from weft.cli.main import app
from weft.cli.timeline import GOING, IDLE, LATE, RUN, SOONER, Frame, frame_of, length, marks
from weft.errors import PlanError
from weft.optimize.schedule import POLICIES
from weft.optimize.schedule.dispatch import MINUTE, FinishedRun

Ask = Callable[..., Result]
GROUPS = ("--groups", "2m:9,3m:14,5m:29")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, ["schedule", *args])


def data_of(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def by_policy(result: Result) -> dict[str, dict[str, Any]]:
    return {one["policy"]: one for one in data_of(result)["policies"]}


def said(result: Result) -> str:
    return " ".join(result.stderr.replace("│", " ").split())


def test_the_papers_groups_by_value(ask: Ask) -> None:
    data = data_of(ask(*GROUPS, "--json"))
    found = {one["policy"]: (one["cost_per_minute"], one["period"], len(one["runs"]), one["runs_per_period"])
             for one in data["policies"]}
    assert found == {"conservative": (11.9333333333, 30, 22, 22), "aggressive": (14.5, 2, 1, 1),
                     "hybrid": (11.4, 10, 6, 6), "harmonic": (10.75, 4, 2, 2), "cyclic": (10.4, 5, 3, 3)}
    assert data["cheapest"] == "cyclic" and "capacity" not in data and "bounds_alone" not in data
    assert data["groups"][1] == {"name": "G2", "bound": 3, "read": 14, "answers": 0}


def test_who_runs_when_and_what_is_sped_up(ask: Ask) -> None:
    cyclic = by_policy(ask(*GROUPS, "--policy", "cyclic", "--json"))["cyclic"]
    assert cyclic["runs"] == [{"at": 0, "groups": ["G1", "G2", "G3"]}, {"at": 2, "groups": ["G1"]},
                              {"at": 3, "groups": ["G1", "G2"]}]
    assert cyclic["best"] and cyclic["note"] == "" and cyclic["missed"] == 0
    assert cyclic["gaps"]["G1"] == {"bound": 2, "mean": 1.66666666667, "longest": 2}
    assert cyclic["ages"]["G3"] == {"mean": 2.5, "oldest": 5}
    hybrid = by_policy(ask(*GROUPS, "--policy", "hybrid", "--json"))["hybrid"]
    assert hybrid["sped_up"] == [{"group": "G2", "every": 2, "saves_per_minute": 0.533333333333}]


@pytest.mark.parametrize("options", [(), ("--policy", "all"), ("--policy", "all", "--policy", "hybrid")])
def test_all_policies_unless_some_are_named(ask: Ask, options: tuple[str, ...]) -> None:
    assert list(by_policy(ask(*GROUPS, *options, "--json"))) == [policy.name for policy in POLICIES]


def test_some_policies_in_the_familys_order(ask: Ask) -> None:
    found = by_policy(ask(*GROUPS, "--policy", "cyclic", "--policy", "conservative", "--json"))
    assert list(found) == ["conservative", "cyclic"]


@pytest.mark.parametrize(("capacity", "apart", "merged", "gap"), [("6", 0.346, 0.558, 3.58), ("4", 0.231, 0.414, 7.25),
                                                                  ("8", 0.462, 0.558, 5.37)])
def test_without_a_schedule_late_pending_executes_more(ask: Ask, capacity: str, apart: float, merged: float,
                                                       gap: float) -> None:
    alone = data_of(ask(*GROUPS, "--capacity", capacity, "--json"))["bounds_alone"]
    assert alone["executions_per_minute"] == pytest.approx(merged, abs=0.003)
    assert alone["apart"]["executions_per_minute"] == pytest.approx(apart, abs=0.003)
    assert alone["gaps"]["G1"]["mean"] == pytest.approx(gap, abs=0.02)


def test_a_capacity_makes_runs_wait(ask: Ask) -> None:
    data = data_of(ask(*GROUPS, "--capacity", "12", "--json"))
    assert data["capacity"] == 12
    for one in data["policies"]:
        assert one["missed"] == sum(one["misses"].values()) > 0
        assert 0 < one["utilisation"] <= 1 and 0 < one["apart"]["utilisation"] <= 1
        assert all(gap["longest"] >= gap["mean"] > 0 for gap in one["gaps"].values())
        assert all(age["oldest"] > age["mean"] > 0 for age in one["ages"].values())
    harmonic = next(one for one in data["policies"] if one["policy"] == "harmonic")
    assert harmonic["simulated"]["cost_per_minute"] == pytest.approx(10.75, rel=0.01)


def test_enough_capacity_keeps_every_bound(ask: Ask) -> None:
    """Runs that take no time to speak of start when they should; conservative has no slack for those that do."""
    found = by_policy(ask(*GROUPS, "--capacity", "1000", "--json"))
    assert {name: one["missed"] for name, one in found.items()} == dict.fromkeys(found, 0)
    assert "Every bound is kept by conservative, aggressive" in ask(*GROUPS, "--capacity", "1000").stdout


def test_wefts_own_costs(ask: Ask) -> None:
    options = ("--groups", "fast=2m:9+1,3m:14+2", "--groups", "slow=5m:29+3", "--overhead", "4", "--json")
    data = data_of(ask(*options))
    assert [group["name"] for group in data["groups"]] == ["fast", "G2", "slow"] and data["overhead"] == 4
    aggressive = next(one for one in data["policies"] if one["policy"] == "aggressive")
    assert aggressive["cost_per_minute"] == (4 + 29 + 6) / 2


def test_people_get_tables_pictures_and_sentences(ask: Ask) -> None:
    text = ask(*GROUPS).stdout
    assert "11.9333" in text and "14.5" in text and "runs in 30 min" in text and "G2 to 2 min" in text
    assert f"  G2  3 min  {'●··' * 10}" in text, "conservative"
    assert f"  G1  2 min  {'●·●○·' + '●·●○·' * 5}" in text, "cyclic"
    assert "0         10 min    20 min    30 min" in text
    assert "● runs when its bound has run out   ○ runs sooner, with others" in text and "✗" not in text
    assert "Cyclic costs least: 10.4 a minute, 12.8% less than conservative." in text
    assert "G2 every 2.5 min instead of 3 min saves 1.533 a minute." in text


def test_people_are_told_what_cannot_be(ask: Ask) -> None:
    text = ask(*GROUPS, "--capacity", "4").stdout
    assert "One run of G3 alone takes 7.25 min, longer than its bound of 5 min: no schedule keeps it." in text
    assert "The capacity of 4 a minute is not enough: any schedule needs at least 10.4, 260% of it." in text
    assert "No policy keeps every bound at this capacity." in text and "✗ runs too late" in text
    hybrid = ask(*GROUPS, "--capacity", "4", "--policy", "hybrid").stdout
    assert "hybrid needs at least 11.4, 285% of it" in hybrid


def test_a_speed_up_that_only_pays_with_others_says_so(ask: Ask) -> None:
    text = ask(*GROUPS, "--policy", "aggressive").stdout
    assert "G3 every 2 min instead of 5 min costs 3.1 more a minute by itself" in text


def test_many_groups_are_shortened_and_say_how_they_were_scheduled(ask: Ask) -> None:
    groups = ",".join(f"{bound}m:{10 + bound % 7}" for bound in range(3, 18))
    text = ask("--groups", groups, "--policy", "hybrid").stdout
    assert "and 3 more" in text and "more than 10 bounds: neighbours merged" in text


def test_costs_of_nothing_are_shown(ask: Ask) -> None:
    assert "costs least: 0 a minute." in ask("--groups", "2m:0,3m:0").stdout


@pytest.mark.parametrize(("options", "words"), [
    ((), "give the groups to schedule: their bounds and costs, such as 2m:9,3m:14,5m:29"),
    (("--groups", ""), "there are no groups to schedule: write bound:cost"),
    (("--groups", "2m"), "'2m' is no group: write bound:cost, such as 2m:9"),
    (("--groups", "2m:9:1"), "'2m:9:1' is no group"),
    (("--groups", "2:9"), "the bound of group '2:9' has no unit: write 2m for minutes"),
    (("--groups", "2x:9"), "'x' in group '2x:9' is no unit of time."),
    (("--groups", "0m:9"), "must be longer than zero"),
    (("--groups", "-2m:9"), "must be longer than zero"),
    (("--groups", "0.1us:9"), "a microsecond is the finest time there is"),
    (("--groups", "soon:9"), "'soon' in group 'soon:9' is no duration: write one such as 2m or 90s"),
    (("--groups", "2m:nine"), "'nine' in group '2m:nine' is no cost: write a number such as 9 or 1.5"),
    (("--groups", "2m:-9"), "'-9' in group '2m:-9' is no cost"),
    (("--groups", "2m:9+"), "'' in group '2m:9+' is no cost"),
    (("--groups", "2m:nan"), "is no cost"),
    (("--groups", "a b=2m:9"), "'a b' in 'a b=2m:9' is no name"),
    (("--groups", "a=2m:9,a=3m:4"), "two groups have the name 'a'"),
    (("--groups", ",".join(f"{n}s:1" for n in range(1, 502))), "there are 501 groups: give at most 500"),
    ((*GROUPS, "--policy", "hybird"), "there is no policy 'hybird': did you mean 'hybrid'?"),
    ((*GROUPS, "--capacity", "0"), "this must be positive"),
    ((*GROUPS, "--capacity", "-1"), "this must be a positive number, not -1"),
    ((*GROUPS, "--capacity", "nan"), "this must be a positive number, not nan"),
    ((*GROUPS, "--capacity", "inf"), "this must be a positive number"),
    ((*GROUPS, "--overhead", "-1"), "this must be a positive number, not -1"),
    ((*GROUPS, "quick"), "No such command 'quick'"),
])  # fmt: skip
def test_wrong_usage_gets_a_sentence(ask: Ask, options: tuple[str, ...], words: str) -> None:
    result = ask(*options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in said(result)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.sampled_from(["us", "ms", "s", "m", "min", "h", "d"]),
                          st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=8))
def test_groups_are_read_exactly(groups: list[tuple[int, str, int, int]]) -> None:
    texts = [f" {size} {unit} : {whole}.{part}" for size, unit, whole, part in groups]
    micros = {"us": 1, "ms": 10**3, "s": 10**6, "m": MINUTE, "min": MINUTE, "h": 60 * MINUTE, "d": 1440 * MINUTE}
    problem = read_groups([",".join(texts)])
    assert problem.bounds == tuple(size * micros[unit] for size, unit, _, _ in groups)
    assert [group.read for group in problem.groups] == [whole + Fraction(part, 10) for _, _, whole, part in groups]


@given(st.text("0123456789msh:=+,.- ab", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert read_groups([text]).groups
    except PlanError as error:
        assert str(error).endswith((".", "?"))


def test_marks_tell_late_runs_and_how_long_they_take() -> None:
    runs = [FinishedRun(0, 1, (0,)), FinishedRun(3, 6, (0,)), FinishedRun(7, 8, (0, 1)), FinishedRun(12, 30, (0,))]
    line = [RUN, IDLE, IDLE, RUN, GOING, GOING, IDLE, LATE, IDLE, IDLE]
    assert marks(runs, 0, 3, Frame(1, 10)) == line
    assert marks(runs, 0, 5, Frame(1, 10))[3] == SOONER
    assert marks(runs, 1, 3, Frame(4, 3)) == [IDLE, RUN, IDLE]


def test_a_picture_fits_the_page() -> None:
    assert frame_of(PAPER) == Frame(MINUTE, 30)
    wide = frame_of(read_groups(["7s:1,1h:2,1d:3"]))
    assert wide == Frame(7_000_000, 60)
    assert frame_of(read_groups(["999983us:1,1000003us:2"])).columns <= 60


@pytest.mark.parametrize(("micros", "text"), [
    (0, "0 us"), (1234, "1.23 ms"), (MINUTE, "1 min"), (90_000_000, "1.5 min"), (Fraction(5 * MINUTE, 3), "1.67 min"),
    (7470 * 86_400_000_000, "7470 d"),
])
def test_times_are_short(micros: Fraction, text: str) -> None:
    assert length(micros) == text


def test_it_needs_no_spark(tmp_path: Path) -> None:
    code = ("import sys; from weft.cli.main import app; from typer.testing import CliRunner; "
            f"r = CliRunner().invoke(app, ['schedule', *{list(GROUPS)!r}, '--json']); "
            "print(r.exit_code, 'pyspark' in sys.modules)")
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=path, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "False"], done.stderr


def test_bounds_that_hardly_ever_come_round(ask: Ask) -> None:
    """Sixty odd bounds meet again after more than a double can hold."""
    bounds = [10**8 + 2 * n * n + 1 for n in range(60)]
    options = ("--groups", ",".join(f"{bound}us:{1 + bound % 9}" for bound in bounds), "--policy", "conservative")
    assert "> 1000 years" in ask(*options).stdout
    one = by_policy(ask(*options, "--json"))["conservative"]
    assert one["period"] > 10**300 and one["cost_error"] > 0 and len(one["runs"]) == 1000
