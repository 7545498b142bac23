"""Samples look at the files that are there when a plan is made, and leave what cannot be read to the run."""

from __future__ import annotations

from types import SimpleNamespace

from weft.errors import SourceError
from weft.model.statistics import Statistics
from weft.spark.statistics import samples as module
from weft.spark.statistics.samples import SourceSamples

FOUND = Statistics(100.0, 5.0, 10.0)


def frame(rows):
    """A frame whose first rows are these."""
    return SimpleNamespace(limit=lambda count: rows)


def test_a_source_is_listed_anew_before_its_first_rows_are_read(monkeypatch):
    frames, read = {"t": frame("old")}, []
    monkeypatch.setattr(module, "measure_keys", lambda rows, *_: read.append(rows) or [FOUND])
    samples = SourceSamples(frames, {}, refresh=lambda name: frames.update({name: frame("new")}))
    samples.look("t", "ts", [("a",)])
    assert read == ["new"] and samples.known("t", "ts", (None,), ("a",)).keys == 5.0


def test_a_source_that_cannot_be_listed_is_not_known():
    def refuse(name):
        raise SourceError(f"cannot read '{name}'.")

    samples = SourceSamples({"t": frame("old")}, {}, refresh=refuse)
    samples.look("t", "ts", [("a",)])
    assert samples.known("t", "ts", (None,), ("a",)) is None
