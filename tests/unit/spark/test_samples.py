"""Samples look at the files that are there when a plan is made, in one job for all, and leave faults to the run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException

from weft.errors import SourceError
from weft.model.statistics import Statistics
from weft.spark.statistics import samples as module
from weft.spark.statistics.samples import Look, SourceSamples

FOUND = Statistics(100.0, 5.0, 10.0)


def frame(rows):
    """A frame whose first rows are these."""
    return SimpleNamespace(limit=lambda count: rows)


def look(source):
    """What is asked of a source."""
    return Look(source, "ts", (("a",),))


@pytest.fixture
def jobs(monkeypatch):
    """The rows that each job counts; one over rows that are called bad fails."""
    made = []

    def measure(asked):
        made.append([rows for rows, *_ in asked])
        if "bad" in made[-1]:
            raise AnalysisException("these cannot be read")
        return [(FOUND,)] * len(asked)

    monkeypatch.setattr(module, "measure_all", measure)
    return made


def test_a_source_is_listed_anew_before_its_first_rows_are_read(jobs):
    frames = {"t": frame("old")}
    samples = SourceSamples(frames, {}, refresh=lambda name: frames.update({name: frame("new")}))
    samples.look([look("t")])
    assert jobs == [["new"]] and samples.known("t", "ts", (None,), ("a",)).keys == 5.0


def test_a_source_that_cannot_be_listed_is_not_known(jobs):
    def refuse(name):
        raise SourceError(f"cannot read '{name}'.")

    samples = SourceSamples({"t": frame("old")}, {}, refresh=refuse)
    samples.look([look("t")])
    assert samples.known("t", "ts", (None,), ("a",)) is None and jobs == []


def test_all_sources_are_counted_in_one_job_and_one_by_one_where_that_fails(jobs):
    frames = {"t": frame("t"), "u": frame("u")}
    SourceSamples(frames, {}).look([look("t"), look("u")])
    assert jobs == [["t", "u"]]
    frames["v"] = frame("bad")
    samples = SourceSamples(frames, {})
    samples.look([look("t"), look("v"), look("u")])
    assert jobs[1:] == [["t", "bad", "u"], ["t"], ["bad"], ["u"]]
    assert [samples.known(name, "ts", (None,), ("a",)) is None for name in "tuv"] == [False, False, True]


def test_files_that_lie_here_need_no_job(jobs, monkeypatch):
    monkeypatch.setattr(module, "count_parquet_keys", lambda paths, *_: (FOUND,) if paths == ["t.parquet"] else None)
    paths = {"t": ["t.parquet"], "u": ["u.parquet"]}
    samples = SourceSamples({name: frame(name) for name in "tuv"}, {}, parquet_files=lambda name: paths.get(name, ()))
    samples.look([look(name) for name in "tuv"])
    assert jobs == [["u", "v"]] and samples.known("t", "ts", (None,), ("a",)).keys == 5.0
