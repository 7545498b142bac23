"""What `weft run --incremental` says of the rows that it wrote."""

from __future__ import annotations

from weft.cli.tables import refreshed_lines


def line(query, buckets, anew=None):
    return {"query": query, "buckets": buckets, "anew": anew, "rows": 0, "seconds": 0.1, "path": None}


def test_changed_queries_are_counted_and_reasons_told_once():
    why = "its slices were made anew"
    report = [line("a", 2), line("b", 0), line("c", 1), *(line(name, None, why) for name in "defg")]
    assert list(refreshed_lines(report)) == ["2 queries of 3 changed, in 3 buckets of time",
                                             f"d, e, f and 1 more written whole: {why}"]


def test_a_run_that_is_not_incremental_says_nothing():
    assert list(refreshed_lines([{"query": "a", "path": None, "seconds": 0.1}])) == []
