"""Calibrating Spark, on next to nothing: figures come out, and nothing is left behind."""

from __future__ import annotations

from dataclasses import astuple
from math import isfinite
from tempfile import gettempdir

from weft.calibrate import spark as calibrate


def test_spark_is_measured(spark, monkeypatch, tmp_path):
    monkeypatch.setattr(calibrate, "ROWS", 2000)
    monkeypatch.setattr(calibrate, "ROUNDS", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert gettempdir() == str(tmp_path)
    heard = []
    found = calibrate.calibrate_spark(spark, lambda done, whole, what: heard.append((done, whole)))
    assert all(isfinite(value) and value > 0 for value in astuple(found))
    assert heard[-1] == (2, 2)
    assert not list(tmp_path.iterdir())
