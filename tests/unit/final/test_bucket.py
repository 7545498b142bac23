"""A bucket of a stream: whatever the cut into triggers, it answers what a plain reading of windows gives."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.final.test_fold import COMPONENTS, expected, received, rows, slices, windows
from weft.aggregates.component import Component
from weft.final import past
from weft.final.bucket import Bucket, Kept, Node, Part, condensed, from_bytes, merged, next_end, to_bytes
from weft.final.past import Blob, levels_for, readings
from weft.model.edges import progressions
from weft.model.window import Window
from weft.stages.build import final_stage, streamed

MERGING = tuple((component, (i,)) for i, component in enumerate(COMPONENTS))


class Shelf(dict):
    """A store of blobs that counts what goes in and out."""

    def __init__(self):
        super().__init__()
        self.moved = 0

    def get(self, blob):
        data = dict.get(self, blob)
        self.moved += len(data or b"")
        return data

    def put(self, blob, data):
        self.moved += len(data)
        self[blob] = data

    def remove(self, blob):
        self.pop(blob, None)


def node_of(shapes: tuple[Window, ...], merging=MERGING) -> Node:
    stage = streamed(final_stage(1, shapes, COMPONENTS, True, ()))
    lag = min(period for _, period in progressions(shapes))
    return Node(1, 0, shapes, levels_for(shapes, lag, merging is not None), (Part(0, stage, (0, 1, 2)),), merging, True)


def run(node: Node, table: pa.Table, ends: np.ndarray, marks: list[int], shelf: Shelf) -> list[pa.RecordBatch]:
    """The answers of a stream whose watermark takes these values, each slice coming when it is over."""
    kept: Kept | None = None
    sent: list[pa.RecordBatch] = []
    before = -(2**62)
    for mark in marks:
        chosen = np.flatnonzero((ends > before) & (ends <= mark))
        new = table.take(pa.array(chosen)) if len(chosen) else None
        before = mark
        if new is None and (kept is None or kept.timer > mark):
            continue
        bucket = Bucket(node, shelf, kept)
        sent += [batch for _, batch in bucket.answers(new, mark)]
        kept = bucket.keep(new, mark)
        if kept is None:
            shelf.clear()
    return sent


def over(table: pa.Table, shapes: tuple[Window, ...]) -> np.ndarray:
    """When each slice ends: at the next cut."""
    cut = progressions(shapes)
    return np.array([min(t - (t - phase) % period + period for phase, period in cut)
                     for t in table.column("s").to_pylist()], np.int64)


@given(data=rows(), shapes=windows(), merging=st.sampled_from([MERGING, None]), fan=st.sampled_from([2, 3, 16]),
       marks=st.lists(st.one_of(st.integers(-60, 130), st.integers(9_990, 10_130)), min_size=1, max_size=25))
def test_any_cut_into_triggers_answers_every_closed_window_once(data, shapes, merging, fan, marks):
    table = pa.Table.from_batches([slices(data, shapes)])
    ends = over(table, shapes)
    usual, past.FAN = past.FAN, fan
    try:
        sent = run(node_of(shapes, merging), table, ends, sorted(set(marks)), Shelf())
    finally:
        past.FAN = usual
    closed = {place: answer for place, answer in expected(data, shapes).items()
              if place[2] + shapes[place[0]].range <= max(marks)}
    assert received(sent) == closed


def test_nothing_is_kept_once_no_window_can_hold_a_slice():
    shapes, shelf = (Window(60, 10), Window(240, 10)), Shelf()
    table = pa.Table.from_batches([slices([("a", t, 1) for t in range(0, 500, 5)], shapes)])
    run(node_of(shapes), table, over(table, shapes), list(range(0, 2000, 35)), shelf)
    assert not shelf


def moved(length: int, keys: int = 20) -> int:
    """How many bytes a trigger of a steady stream moves to and from the store for one window of so many slides."""
    shapes, shelf = (Window(10 * length, 10),), Shelf()
    count = 3 * length + 200
    start = np.repeat(np.arange(count) * 10, keys)
    names = np.tile([f"k{i}" for i in range(keys)], count)
    ones = np.ones(len(start), np.int64)
    table = pa.table({"k": names, "s": start, "n": ones, "a": ones, "x": ones})
    marks = list(range(0, 10 * count, 100))
    run(node_of(shapes), table, start + 10, marks[:-20], shelf)
    before = shelf.moved
    node, kept = node_of(shapes), None
    kept = Kept(marks[-21], marks[-21] - 10, marks[-21] + 10)
    for mark in marks[-20:]:
        chosen = np.flatnonzero((start + 10 > mark - 100) & (start + 10 <= mark))
        bucket = Bucket(node, shelf, kept)
        list(bucket.answers(table.take(pa.array(chosen)), mark))
        kept = bucket.keep(table.take(pa.array(chosen)), mark)
    return shelf.moved - before


def test_a_trigger_moves_hardly_more_state_for_windows_a_hundred_times_as_long():
    assert moved(4000) < 3 * moved(40)


def test_readings_cover_each_moment_that_a_window_needs_exactly_once():
    levels = levels_for((Window(6000, 10), Window(40, 10)), 10, True)
    assert len(levels.sizes) == 3
    found: list[int] = []
    for reading in readings(levels, 12_340, 12_400):
        if reading.parts is None:
            low, size = reading.blob.number, levels.sizes[0]
            found += range(low * size, (low + 1) * size, 10)
        else:
            size = levels.sizes[reading.blob.level - 1]
            for part in reading.parts:
                found += range(part * size, (part + 1) * size, 10)
    assert len(found) == len(set(found))
    assert set(range(12_340 - 6000, 12_340, 10)) <= set(found)


def test_the_next_end_is_that_of_a_window_which_may_hold_a_slice():
    assert next_end((Window(60, 10), Window(300, 60)), last=100, until=125) == 130
    assert next_end((Window(60, 10), Window(300, 60)), last=100, until=165) == 180
    assert next_end((Window(60, 10),), last=100, until=160) is None


def test_bytes_are_read_back_as_they_were():
    table = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    assert from_bytes(to_bytes(table)) == table
    assert Blob(0, 1) != Blob(1, 0)


CASES = [
    (Component("min", ("c",), "string"), [pa.array(["b", "a", None, None])], [["a"], [None]]),
    (Component("max", ("c",), "double"), [pa.array([1.0, float("nan"), 5.0, None])], [[float("nan")], [5.0]]),
    (Component("add", ("c",), "bigint"), [pa.array([1, None, None, None], pa.int64())], [[1], [None]]),
    (Component("bit_xor", ("c",), "bigint"), [pa.array([6, 3, 1, None], pa.int64())], [[5], [1]]),
    (Component("min_by", ("v", "o"), "string"), [pa.array(["p", "q", None, None]), pa.array([2, 1, None, None])],
     [["q", 1], [None, None]]),
    (Component("add", ("d", "n"), "decimal(20,2)"),
     [pa.array([Decimal("1.10"), Decimal("2.20"), None, None], pa.decimal128(20, 2)), pa.array([1, 2, 0, 0])],
     [[Decimal("3.30"), 3], [None, 0]]),
    (Component("moments2", ("n", "m", "v"), "double"),
     [pa.array([1, 1, 0, 2]), pa.array([1.0, 3.0, None, 4.0]), pa.array([0.0, 0.0, None, 0.5])],
     [[2, 2.0, 2.0], [2, 4.0, 0.5]]),
]


@pytest.mark.parametrize("component, columns, wanted", CASES, ids=[case[0].monoid for case in CASES])
def test_slices_merge_into_one_a_key(component, columns, wanted):
    node = Node(1, 0, (), levels_for((Window(60, 10),), 10, True), (), ((component, tuple(range(len(columns)))),), True)
    names = [f"p{i}" for i in range(len(columns))]
    table = pa.Table.from_arrays([pa.array(["a", "a", "b", "b"]), pa.array([0, 10, 0, 10]), *columns],
                                 names=["k", "s", *names])
    found = merged(node, table)
    assert found.column("k").to_pylist() == ["a", "b"]
    values = [list(row) for row in zip(*(found.column(name).to_pylist() for name in names), strict=True)]
    assert repr(values) == repr(wanted)
    assert condensed(node, table).num_rows == 4


def test_sums_that_would_not_fit_stay_apart():
    top = 2**63 - 1
    node = Node(1, 0, (), levels_for((Window(60, 10),), 10, True), (), ((COMPONENTS[1], (0,)),), True)
    table = pa.table({"k": ["a", "a"], "s": [0, 10], "p0": [top, top]})
    assert merged(node, table) == table
