"""Jobs of a refresh: which queries a worker makes together, and which jobs a task has."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.spark.refresh.jobs import share_out, shares
from weft.spark.session.workers import count_cores


@example([0, 0], 2)
@given(st.lists(st.integers(0, 100), min_size=1, max_size=30), st.integers(1, 8))
def test_loads_hold_every_job_once_and_are_about_as_large(sizes, most):
    loads = share_out(sizes, most)
    assert sorted(number for load in loads for number in load) == list(range(len(sizes)))
    assert len(loads) == min(most, len(sizes)) and all(loads)
    totals = [sum(sizes[i] for i in load) for load in loads]
    assert max(totals) - min(totals) <= max(sizes)  # the last one to come went to the smallest load


def test_queries_of_a_stage_are_made_together():
    updates = [SimpleNamespace(id=id) for id in "aaaaabbbbcd"]
    assert ["".join(update.id for update in each) for each in shares(updates, 6)] == ["aaaaa", "bbbbcd"]
    assert ["".join(update.id for update in each) for each in shares(updates, 1)] == ["aaaaa", "bbbb", "c", "d"]


@pytest.mark.parametrize(("master", "cores"), [("local", 1), ("local[3]", 3), ("local[2,4]", 2),
                                               ("local[*]", os.cpu_count()), ("local[*,4]", os.cpu_count())])
def test_the_cores_of_a_local_session(master, cores):
    assert count_cores(master) == cores
