"""Slices of a partition made one for each key, start and marks, as a worker does for the store."""

from __future__ import annotations

import math

import pyarrow as pa

from tests.unit.final.test_cut import form_of
from weft.aggregates.base import Argument
from weft.aggregates.component import ROWS
from weft.aggregates.count_sum_avg import summed
from weft.final.cut import store
from weft.final.cut.store import merge_partition

FORM = form_of((ROWS, summed(Argument("x", "double"), "")), marks=1)


def merge(rows, form=FORM, batch=2):
    """What comes out for slices of key, start, mark, count and sum that come in small batches."""
    columns = zip(*rows, strict=True)
    table = pa.table([pa.array(c) for c in columns], names=list(form.names))
    made = list(merge_partition(form, iter(table.to_batches(max_chunksize=batch))))
    assert all(batch.schema.equals(table.schema) for batch in made)
    return sorted(tuple(row.values()) for batch in made for row in batch.to_pylist())


def test_slices_of_one_key_start_and_marks_are_made_one():
    rows = [("a", 0, 1, 2, 0.5), ("a", 10, 1, 1, 7.0), ("b", 0, 1, 1, 1.0), ("a", 0, 2, 1, 4.0), ("a", 0, 1, 3, 0.25),
            ("a", 10, 1, 1, math.inf)]
    assert merge(rows) == [("a", 0, 1, 5, 0.75), ("a", 0, 2, 1, 4.0), ("a", 10, 1, 2, math.inf), ("b", 0, 1, 1, 1.0)]


def test_a_worker_that_cannot_hold_all_makes_one_of_those_it_holds(monkeypatch):
    monkeypatch.setattr(store, "MOST_BYTES", 0)  # one batch at a time
    rows = [("a", 0, 1, 1, 1.0), ("a", 0, 1, 1, 2.0), ("a", 0, 1, 1, 4.0), ("b", 0, 1, 1, 8.0)]
    assert merge(rows) == [("a", 0, 1, 1, 4.0), ("a", 0, 1, 2, 3.0), ("b", 0, 1, 1, 8.0)]


def test_a_sum_that_does_not_fit_stays_in_parts():
    whole = form_of((ROWS, summed(Argument("x", "bigint"), "")), marks=1)
    rows = [("a", 0, 1, 1, 2**63 - 1), ("a", 0, 1, 1, 2**63 - 1)]
    assert merge(rows, whole) == rows
