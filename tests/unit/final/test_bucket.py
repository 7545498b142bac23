"""A bucket of a stream: whatever the cut into triggers, it answers what a plain reading of windows gives."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.final.test_fold import COMPONENTS, expected, received, rows, slices, windows
from weft.aggregates.component import Component
from weft.final.state import history as past
from weft.final.state import open_slices as waiting
from weft.final.state.bucket import Bucket, BucketGrouping, BucketMemory, BucketPart, next_window_end
from weft.final.state.form import SliceForm, from_bytes, merge_all, merge_equal_starts, to_bytes, to_store
from weft.final.state.history import Blob, levels_for, readings
from weft.final.state.open_slices import BucketLayout, OpenSlices, SlicePiece, pack_pieces, unpack_pieces
from weft.final.state.tables import BlobTables, HeldTables
from weft.model.edges import progressions
from weft.model.window import Window
from weft.stages.build import final_stage, for_stream

MERGING = tuple((component, (i,)) for i, component in enumerate(COMPONENTS))


class DictStore(dict):
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


def node_of(shapes: tuple[Window, ...], merging=MERGING) -> BucketGrouping:
    stage = for_stream(final_stage(1, shapes, COMPONENTS, True, ()))
    lag = min(period for _, period in progressions(shapes))
    form = SliceForm(1, 0, progressions(shapes), merging, True)
    return BucketGrouping(form, shapes, levels_for(shapes, lag, merging is not None),
                          (BucketPart(0, stage, (0, 1, 2)),))


def run(node: BucketGrouping, table: pa.Table, marks: list[int], store: DictStore, early: np.ndarray | None = None,
        kept: BucketMemory | None = None) -> list[pa.RecordBatch]:
    """The answers of a stream whose watermark takes these values, each slice coming `early` triggers, or none, before
    that in which it is over."""
    sent: list[pa.RecordBatch] = []
    closing = np.searchsorted(marks, node.form.ends(table))
    arrival = closing - (0 if early is None else np.minimum(early[: len(closing)], closing))
    for i, mark in enumerate(marks):
        chosen = np.flatnonzero(arrival == i)
        new = table.take(pa.array(chosen)) if len(chosen) else None
        if new is None and (kept is None or kept.timer > mark):
            continue
        bucket = Bucket(node, store, kept, new, mark)
        sent += [batch for _, batch in bucket.answers()]
        kept = bucket.keep()
        if kept is None:
            store.clear()
        else:
            pieces, found, layout = unpack_pieces(pack_pieces(kept.waiting, kept.marks, kept.layout))
            kept = replace(kept, waiting=tuple(pieces), marks=found, layout=layout)
    return sent


@given(data=rows(), shapes=windows(), merging=st.sampled_from([MERGING, None]), fan=st.sampled_from([2, 3, 16]),
       marks=st.lists(st.one_of(st.integers(-60, 130), st.integers(9_990, 10_130)), min_size=1, max_size=25),
       early=st.lists(st.integers(0, 20), min_size=200, max_size=200), whole=st.booleans())
def test_any_cut_into_triggers_answers_every_closed_window_once(data, shapes, merging, fan, marks, early, whole):
    """Slices come when they are over, or before that and in several parts: a row each."""
    made = [slices(data, shapes)] if whole else [slices([row], shapes) for row in data]
    table = pa.Table.from_batches(made, slices(data, shapes).schema)
    usual = past.FAN, waiting.MANY
    past.FAN = waiting.MANY = fan
    try:
        sent = run(node_of(shapes, merging), table, sorted(set(marks)), DictStore(), np.array(early))
    finally:
        past.FAN, waiting.MANY = usual
    closed = {place: answer for place, answer in expected(data, shapes).items()
              if place[2] + shapes[place[0]].range <= max(marks)}
    assert received(sent) == closed


def test_nothing_is_kept_once_no_window_can_hold_a_slice():
    shapes, store = (Window(60, 10), Window(240, 10)), DictStore()
    table = pa.Table.from_batches([slices([("a", t, 1) for t in range(0, 500, 5)], shapes)])
    run(node_of(shapes), table, list(range(0, 2000, 35)), store)
    assert not store


def moved(length: int, keys: int = 20) -> int:
    """How many bytes a trigger of a steady stream moves to and from the store for one window of so many slides."""
    shapes, store = (Window(10 * length, 10),), DictStore()
    count = 3 * length + 200
    start = np.repeat(np.arange(count) * 10, keys)
    names = np.tile([f"k{i}" for i in range(keys)], count)
    ones = np.ones(len(start), np.int64)
    table = pa.table({"k": names, "s": start, "n": ones, "a": ones, "x": ones})
    marks = list(range(0, 10 * count, 100))
    run(node_of(shapes), table.filter(pc.field("s") + 10 <= marks[-21]), marks[:-20], store)
    before = store.moved
    kept = BucketMemory(marks[-21], marks[-21] - 10, marks[-21] + 10)
    run(node_of(shapes), table.filter(pc.field("s") + 10 > marks[-21]), marks[-20:], store, kept=kept)
    return store.moved - before


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
    assert next_window_end((Window(60, 10), Window(300, 60)), last=100, until=125) == 130
    assert next_window_end((Window(60, 10), Window(300, 60)), last=100, until=165) == 180
    assert next_window_end((Window(60, 10),), last=100, until=160) is None


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
    (Component("decimal_sum", ("d", "n"), "decimal(20,2)"),
     [pa.array([Decimal("1.10"), Decimal("2.20"), None, None], pa.decimal128(20, 2)), pa.array([1, 2, 0, 0])],
     [[Decimal("3.30"), 3], [None, 0]]),
    (Component("moments", ("n", "m", "v"), "double"),
     [pa.array([1, 1, 0, 2]), pa.array([1.0, 3.0, None, 4.0]), pa.array([0.0, 0.0, None, 0.5])],
     [[2, 2.0, 2.0], [2, 4.0, 0.5]]),
]


@pytest.mark.parametrize("component, columns, wanted", CASES, ids=[case[0].monoid.name for case in CASES])
def test_slices_merge_into_one_a_key(component, columns, wanted):
    form = SliceForm(1, 0, (), ((component, tuple(range(len(columns)))),), True)
    names = [f"p{i}" for i in range(len(columns))]
    table = pa.Table.from_arrays([pa.array(["a", "a", "b", "b"]), pa.array([0, 10, 0, 10]), *columns],
                                 names=["k", "s", *names])
    found = merge_all(form, table)
    assert found.column("k").to_pylist() == ["a", "b"]
    values = [list(row) for row in zip(*(found.column(name).to_pylist() for name in names), strict=True)]
    assert repr(values) == repr(wanted)
    assert merge_equal_starts(form, table).num_rows == 4


def test_sums_that_would_not_fit_stay_apart():
    top = 2**63 - 1
    form = SliceForm(1, 0, (), ((COMPONENTS[1], (0,)),), True)
    table = pa.table({"k": ["a", "a"], "s": [0, 10], "p0": [top, top]})
    assert merge_all(form, table) == table


def test_waiting_slices_move_about_as_often_as_their_distance_halves():
    """Rows come an hour before their slice is over, a minute of them a trigger; reading and writing all each time would
    move each slice sixty times."""
    store, form = DictStore(), SliceForm(1, 0, ((0, 60),), MERGING, True)
    start = np.repeat(np.arange(0, 60_000, 60), 50)
    ones = np.ones(len(start), np.int64)
    table = pa.table({"k": np.tile([f"k{i}" for i in range(50)], 1000), "s": start, "n": ones, "a": ones, "x": ones})
    held = OpenSlices(form, BlobTables(form, store, {}, HeldTables()), ())
    over = 0
    for t in range(1000):
        found = held.advance(table.slice(t * 50, 50), t * 60 - 3600)
        over += 0 if found is None else found.num_rows
    assert over == 50 * (1000 - 61)
    assert len(held.pieces) < 60
    assert store.moved < 8 * 1000 * len(to_store(table.slice(0, 50)))


def test_pieces_are_read_back_as_they_were():
    pieces = [SlicePiece(3, 10**15, 2, 0), SlicePiece(0, -5, 0, 1)]
    marks = {Blob(0, 5): 2**63 - 1, Blob(-1, 0): 0}
    layout = BucketLayout(2, 2**60 - 1)
    assert unpack_pieces(pack_pieces(pieces, marks, layout)) == (pieces, marks, layout)
    assert unpack_pieces(pack_pieces(pieces, marks)) == (pieces, marks, None)
    assert unpack_pieces(pack_pieces(pieces)) == (pieces, {}, None)
    assert unpack_pieces(pack_pieces([])) == ([], {}, None)
