"""Calibrating: every algorithm that is here gets figures for every kind it may fold."""

from __future__ import annotations

import pytest

from weft.calibrate import kernels as module
from weft.calibrate.kernels import SPANS, calibrate
from weft.cost.calibration_table import CalibrationTable, from_json
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.base import LINEAR, TABLED

UNCOMPILED = {a.card.name for a in ALGORITHMS if a.card.engine == "numpy"}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements of next to nothing, and no numba."""
    for name, value in {"SPANS": (3, 5), "COUNTS": (1, 4), "CELLS": 32, "REPEATS": 1}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("weft.final.algorithms.jit.find_spec", lambda name: None)


def test_figures_of_every_algorithm_that_is_here(quick):
    told = []
    figures = calibrate(lambda done, total, text: told.append((done, total, text)))
    assert set(figures.answer) == UNCOMPILED and figures.start == {}
    assert set(figures.answer["prefix"]) == {"add int64"} and len(figures.answer["recalc"]) == 6
    assert {(n, q) for n, q, _ in figures.answer["chain"]["moments"]} == {(3, 1), (5, 1), (5, 4)}
    assert [done for done, _, _ in told] == list(range(len(UNCOMPILED) + 1)) and told[-1][2] == "done"
    assert figures.memcpy > 0 and "Python" in figures.machine and figures.measured.startswith("20")


def test_what_is_measured_can_be_kept(quick):
    figures = calibrate(lambda *_: None)
    assert isinstance(figures, CalibrationTable) and from_json(figures.to_json()) == figures


def test_what_takes_long_ends_its_count(quick, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    figures = calibrate(lambda *_: None)
    assert {(n, q) for n, q, _ in figures.answer["recalc"]["add int64"]} == {(3, 1), (5, 4)}


def test_compiled_algorithms_start_as_long_as_a_fresh_worker_takes(quick, monkeypatch):
    monkeypatch.setattr("weft.final.algorithms.jit.find_spec", lambda name: name)
    monkeypatch.setattr(module, "ALGORITHMS", [a for a in ALGORITHMS if a.card.name in ("prefix", "panes_inv")])
    monkeypatch.setattr(module, "measure_kinds", lambda algorithm: [("add int64", ((3, 1, 1.0),))])
    monkeypatch.setattr(module, "numba_start", lambda: 0.7)
    assert calibrate(lambda *_: None).start == {"panes_inv": 0.7}


def test_spans_stay_where_every_algorithm_is_legal():
    """Powers of two would flatter those that work by binary digits."""
    assert max(SPANS) <= TABLED and any(LINEAR / 2 < s <= LINEAR for s in SPANS)
    assert all(s.bit_count() > s.bit_length() / 2 for s in SPANS)
