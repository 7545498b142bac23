"""Figures: read between the points that were measured, kept whole, and never broken in silence."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.operation import ADD, BIT_OR, BIT_XOR, COMOMENTS, MAX, MIN, MOMENTS
from weft.cost import calibration_table as module
from weft.cost.calibration_table import (
    CalibrationTable,
    FiguresWarning,
    between,
    check_place,
    current_figures,
    default_figures,
    figures_path,
    find_figures,
    from_json,
    keep_figures,
    kind_of,
    remove_figures,
)
from weft.errors import RunError

INT, REAL = np.dtype(np.int64), np.dtype(np.float64)
FIGURES = CalibrationTable({"daba": 0.5}, {"chain": {"add int64": ((4, 1, 2.0), (16, 1, 8.0))}}, 0.2, "a machine",
                           "today")
TIMES = st.floats(0.01, 1e6)
COUNTS = st.integers(1, 1000)
SPANS = st.integers(1, 100_000)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without figures."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module.read_own.cache_clear()
    return tmp_path


@st.composite
def grids(draw: st.DrawFn) -> list[tuple[int, int, float]]:
    """Points at every crossing of a few spans and counts."""
    spans = draw(st.lists(SPANS, min_size=1, max_size=4, unique=True))
    counts = draw(st.lists(COUNTS, min_size=1, max_size=3, unique=True))
    return [(n, q, draw(TIMES)) for n in spans for q in counts]


@given(grids(), SPANS, COUNTS)
def test_between_stays_within_the_points(points, longest, ranges):
    found, times = between(points, longest, ranges), [t for _, _, t in points]
    assert min(times) * (1 - 1e-9) <= found <= max(times) * (1 + 1e-9)


@given(grids(), st.data())
def test_between_is_exact_at_the_points_though_others_are_missing(points, data):
    left = data.draw(st.lists(st.sampled_from(points), min_size=1, unique=True))
    for n, q, t in left:
        assert between(left, n, q) == pytest.approx(t, rel=1e-9)


@given(grids(), st.data(), SPANS, COUNTS)
def test_between_is_a_time_whatever_is_missing(points, data, longest, ranges):
    left = data.draw(st.lists(st.sampled_from(points), min_size=1, unique=True))
    assert 0 < between(left, longest, ranges) < float("inf")


def test_between_grows_with_the_logarithm():
    assert between(((4, 1, 2.0), (16, 1, 8.0)), 8, 1) == pytest.approx(4.0)


def test_what_was_too_slow_grows_as_other_counts_do():
    """Windows 16 times as long take twice as long for one range: for ten ranges too, though nobody has tried."""
    points = ((16, 1, 10.0), (256, 1, 20.0), (16, 10, 3.0))
    assert between(points, 256, 10) == pytest.approx(6.0)


def test_seconds_hold_start_and_answers():
    assert FIGURES.seconds("chain", "add int64", [2, 4], 1000) == pytest.approx(2.0 * 1e-9 * 2000)
    assert FIGURES.seconds("chain", "max int64", [4], 1000) is None and FIGURES.seconds("x", "y", [4], 1) is None
    started = CalibrationTable({"chain": 0.5}, FIGURES.answer, 0.2)
    assert started.seconds("chain", "add int64", [4], 1000) == pytest.approx(0.5 + 2e-6)


@pytest.mark.parametrize(("operation", "types", "kind"), [
    (ADD, (INT,), "add int64"), (ADD, (REAL,), "add float64"), (MIN, (REAL,), "max float64"),
    (MAX, (INT,), "max int64"), (BIT_OR, (INT,), "max int64"), (BIT_XOR, (INT,), "add int64"),
    (MOMENTS, (REAL,) * 3, "moments"), (COMOMENTS, (REAL,) * 6, "comoments"),
])
def test_kinds(operation, types, kind):
    assert kind_of(operation, types) == kind


def test_figures_come_back_as_they_were_written():
    assert from_json(FIGURES.to_json()) == FIGURES


def test_the_shipped_figures_are_good():
    assert default_figures().answer["recalc"].keys() >= {"add int64", "max float64", "moments", "comoments"}


def test_without_own_figures_the_shipped_ones_hold(home):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert current_figures() is default_figures() and find_figures().own is None


def test_own_figures_hold_once_they_are_kept(home):
    keep_figures(FIGURES, figures_path())
    assert current_figures() == FIGURES and find_figures().own == home / "weft" / "figures.json"
    assert [p.name for p in (home / "weft").iterdir()] == ["figures.json"]
    assert remove_figures(figures_path()) and current_figures() is default_figures()
    assert not remove_figures(figures_path())


def changed(**values: object) -> str:
    return json.dumps({**FIGURES.to_dict(), **values})


BROKEN: dict[str, str] = {
    "no text": "", "half": FIGURES.to_json()[:100], "a list": "[1]", "a number": "7",
    "another version": changed(version=9),
    "no algorithm": changed(answer={}), "a list of answers": changed(answer=[1]), "null": changed(answer=None),
    "a short point": changed(answer={"chain": {"add int64": [[4, 1]]}}),
    "a time of zero": changed(answer={"chain": {"add int64": [[4, 1, 0]]}}),
    "a negative span": changed(answer={"chain": {"add int64": [[-4, 1, 2.0]]}}),
    "not a number": changed(memcpy=float("nan")), "a text for a time": changed(start={"daba": "soon"}),
    "deep": "[" * 200_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_told_once_and_the_shipped_figures_hold(home, text):
    (home / "weft").mkdir()
    figures_path().write_text(text)
    with pytest.warns(FiguresWarning, match="cannot be used: .* Weft uses those it ships") as told:
        found = [find_figures() for _ in range(3)]
    assert len(told) == 1
    assert all(f.figures is default_figures() and f.own == figures_path() and f.fault for f in found)


def test_a_broken_file_that_is_mended_holds_again(home):
    (home / "weft").mkdir()
    figures_path().write_text("broken")
    with pytest.warns(FiguresWarning):
        current_figures()
    keep_figures(FIGURES, figures_path())
    assert current_figures() == FIGURES


def test_a_file_that_is_no_text_is_told(home):
    (home / "weft").mkdir()
    figures_path().write_bytes(b"\xff\xfe")
    with pytest.warns(FiguresWarning):
        current_figures()


def file_in_the_way(home: Path) -> None:
    (home / "weft").write_text("mine")


def folder_in_its_place(home: Path) -> None:
    (home / "weft" / "figures.json").mkdir(parents=True)


@pytest.mark.parametrize("spoil", [file_in_the_way, folder_in_its_place])
def test_a_place_that_cannot_be_written_is_told(home, spoil: Callable[[Path], None]):
    spoil(home)
    for attempt in (lambda: check_place(figures_path()), lambda: keep_figures(FIGURES, figures_path())):
        with pytest.raises(RunError, match=r"cannot write the figures to .*Set XDG_CACHE_HOME"):
            attempt()
    assert [p.name for p in home.iterdir()] == ["weft"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_told(home):
    (home / "weft").mkdir(mode=0o500)
    with pytest.raises(RunError, match="read-only"):
        check_place(figures_path())


def test_a_full_disk_leaves_the_old_figures(home, monkeypatch):
    keep_figures(FIGURES, figures_path())

    def full(self: Path, text: str, encoding: str) -> None:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(RunError, match="No space left"):
        keep_figures(CalibrationTable({}, FIGURES.answer, 1.0), figures_path())
    monkeypatch.undo()
    assert [p.name for p in (home / "weft").iterdir()] == ["figures.json"]
    assert from_json((home / "weft" / "figures.json").read_text()) == FIGURES


def test_without_a_home_the_shipped_figures_hold(monkeypatch):
    def homeless(self: Path) -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert current_figures() is default_figures()
    with pytest.raises(RunError, match="set XDG_CACHE_HOME"):
        figures_path()
