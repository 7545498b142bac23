"""Who cuts slices: one plain scan of many rows is Spark's; several scans or many columns are the workers'."""

from __future__ import annotations

import pytest

from weft.cost.cutting import CutScan, cut_seconds, read_seconds, sent_seconds, spark_seconds, stream_in_workers


def worker_seconds(scans, sent):
    """What workers take for rows that Spark sends with so many columns."""
    return sent_seconds(scans, sent) + cut_seconds(scans)


@pytest.mark.parametrize(("scans", "sent", "workers"), [
    ([CutScan(1e8, 3, 6e4)], 3, False),
    ([CutScan(1e8, 5, 3e7)], 4, False),
    ([CutScan(1e8, 43, 6e6)], 9, True),
    ([CutScan(1e8, 8, 4e6), CutScan(1e8, 20, 2e7), CutScan(1e8, 3, 1e7)], 7, True),
    ([CutScan(2e5, 3, 1e3)], 3, True),
])
def test_who_cuts(scans, sent, workers):
    """The last one is small: compiling Spark's code for it would take longer than all else."""
    assert (worker_seconds(scans, sent) < spark_seconds(scans)) == workers


def test_rows_that_workers_read_themselves_are_theirs_to_cut():
    """A plain scan of many rows, too: nothing is sent."""
    scans = [CutScan(1e8, 3, 6e4)]
    assert read_seconds(scans, 3) + cut_seconds(scans) < spark_seconds(scans) < worker_seconds(scans, 3)


def test_costs_grow_with_all_they_count():
    """More rows, columns, slices or columns sent never cost less."""
    one = CutScan(1e6, 5, 1e5)
    for more in (CutScan(2e6, 5, 1e5), CutScan(1e6, 9, 1e5), CutScan(1e6, 5, 3e5)):
        assert spark_seconds([more]) > spark_seconds([one]) and worker_seconds([more], 4) > worker_seconds([one], 4)
    assert worker_seconds([one], 5) > worker_seconds([one], 4)
    assert worker_seconds([one, one], 4) < 2 * worker_seconds([one], 4)


@pytest.mark.parametrize(("rows", "slices", "workers"), [
    (10, 10, True), (5e5, 300, True), (5e5, 3e3, True), (5e5, 3e4, True), (5e5, 5e5, True), (4e6, 4e6, True),
    (4e6, 300, False), (4e6, 3e4, False),
])
def test_who_cuts_a_stream_is_who_was_faster_when_measured(rows, slices, workers):
    """Five columns of slices out of four that are sent, as in docs/benchmarks/streaming.md."""
    assert stream_in_workers(CutScan(rows, 5, slices), 4) == workers
