"""Rows of a stream counted: whatever the cut into triggers, windows are those of a plain reading of all rows."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.final.test_bucket import DictStore
from tests.unit.final.test_counted import COMPONENTS, Keyed, expected, windows
from weft.aggregates.component import Component
from weft.errors import RunError
from weft.final.fold.partition import fold_partition
from weft.final.rows.chunks import PendingRows, join_tables
from weft.final.rows.counting import AT, FIRST, FRESH, KEY, KEY_GROUP, LOW, RowCounter
from weft.model.edges import progressions
from weft.model.window import Window, rows_window
from weft.stages.build import final_stage

NEW = Component("count", ("count(new)",), "bigint")
SECOND = 1_000_000
Row = tuple[str | None, int, int]  # key, second, value
Trigger = tuple[list[Row], int]  # rows and the watermark


@st.composite
def triggers(draw) -> list[Trigger]:
    """Rows as they come while the watermark rises: many at one time, some late, and a key that soon falls silent."""
    row = st.tuples(st.sampled_from(["a", "b", None]), st.integers(-3, 9), st.integers(-9, 9))
    steps = draw(st.lists(st.tuples(st.lists(row, max_size=12), st.integers(0, 4)), min_size=1, max_size=12))
    mark, found = 0, [([("silent", i % 3, i) for i in range(draw(st.integers(0, 9)))], 0)]
    for rows, rise in steps:
        found.append(([(key, mark + away, value) for key, away, value in rows], mark))
        mark += rise
    return [*found, ([], draw(st.integers(mark, mark + 12)))]


def table(rows: list[Row]) -> pa.Table:
    """Rows as the worker gets them; two keys share a key group."""
    names, times, values = zip(*rows, strict=True)
    groups = [0 if name in ("a", None) else 1 for name in names]
    columns = [pa.array(names, pa.string()), pa.array(groups, pa.int32()), pa.array([t * SECOND for t in times]),
               pa.array(names, pa.string()), pa.array(values, pa.int64())]
    return pa.table(columns, [KEY.format(0), KEY_GROUP, AT, "k", "x"])


def numbered(sent: pa.Table) -> list[tuple]:
    """What Spark makes of rows that are sent: key, number, value, and whether it is new. Ties go by value."""
    seen: dict[tuple, int] = {}
    found = []
    for row in sorted(sent.to_pylist(), key=lambda r: r["x"]):
        tie = row["k"], row[FIRST]
        number = row[FIRST] + seen.get(tie, 0)
        seen[tie] = seen.get(tie, 0) + 1
        if number >= row[LOW]:
            found.append((row["k"] or "null", number, row["x"], number >= row[FRESH]))
    return sorted(found)


def slices(rows: list[tuple], shapes: tuple[Window, ...]) -> pa.RecordBatch:
    """What a partial stage makes of numbered rows."""
    found: dict[tuple, list[tuple]] = {}
    for key, number, value, new in rows:
        start = max(number - (number - phase) % period for phase, period in progressions(shapes))
        found.setdefault((key, start), []).append((value, new))
    told = [(*place, len(held), sum(x for x, _ in held), min(held)[0], sum(new for _, new in held))
            for place, held in found.items()]
    types = [pa.string(), *[pa.int64()] * 5]
    columns = zip(*told, strict=True) if told else [[]] * 6
    return pa.record_batch([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=list("ksnaxf"))


def answers(sent: tuple[pa.Table, ...], shapes: tuple[Window, ...]) -> list[tuple]:
    """The answers over what a trigger sends, by the kernels of a batch: those that hold a new row."""
    stage, told = final_stage(1, shapes, (*COMPONENTS, NEW), True, ()), []
    for batch in fold_partition(stage, [slices([row for part in sent for row in numbered(part)], shapes)]):
        for window, key, _, _, _, _, counts, sums, _, least, _, new in zip(*batch.to_pydict().values(), strict=True):
            fresh = counts if new is None else new
            told += [(window, key, *each) for *each, f in zip(counts, sums, least, fresh, strict=True) if f]
    return told


class Bucket:
    """A bucket as Spark drives it: called where rows come or where the watermark is past one that waits."""

    def __init__(self, shapes: tuple[Window, ...]):
        self.shapes, self.store, self.until = shapes, DictStore(), None
        self.told, self.timely, self.late, self.ends = [], [], 0, [0] * len(shapes)

    def take(self, rows: list[Row], mark: int) -> None:
        counter = RowCounter(1, self.shapes, self.store, None if self.until is None else self.until * SECOND)
        if not rows and (counter.waiting.low is None or counter.waiting.low >= mark * SECOND):
            return
        self.timely += [row for row in rows if self.until is None or row[1] >= self.until]
        found = counter.advance(table(rows) if rows else None, mark * SECOND)
        self.until, self.late = mark, self.late + found.late
        self.told += answers(found.rows, self.shapes)
        self.ends = [a + b for a, b in zip(self.ends, found.ends, strict=True)]


def by_key(rows: list[Row], mark: int) -> Keyed:
    """The values of each key in order, of the rows that the watermark has passed."""
    found: Keyed = {}
    for key, _, value in sorted((row for row in rows if row[1] < mark), key=lambda row: row[1:]):
        found.setdefault(key or "null", []).append(value)
    return found


@given(cut=triggers(), shapes=windows())
def test_any_cut_into_triggers_tells_each_window_of_closed_rows_once(cut, shapes):
    bucket = Bucket(shapes)
    for rows, mark in cut:
        bucket.take(rows, mark)
    wanted = expected(by_key(bucket.timely, cut[-1][1]), shapes)
    assert sorted(bucket.told) == wanted
    assert bucket.ends == [sum(answer[0] == i for answer in wanted) for i in range(len(shapes))]
    assert bucket.late + len(bucket.timely) == sum(len(rows) for rows, _ in cut)


def test_a_late_row_is_dropped_and_one_at_the_watermark_is_not():
    bucket = Bucket((rows_window(2, 1),))
    bucket.take([("a", 1, 1), ("a", 5, 2)], 5)
    bucket.take([("a", 4, 9), ("a", 5, 1)], 6)
    assert bucket.late == 1
    assert bucket.told == [(0, "a", 1, 1, 1), (0, "a", 2, 2, 1), (0, "a", 2, 3, 1)]


def test_rows_are_sent_only_where_a_window_ends_and_kept_only_as_far_as_windows_reach():
    shapes, store, sizes = (rows_window(20, 10),), DictStore(), []
    for second in range(200):
        counter = RowCounter(1, shapes, store, second * SECOND)
        found = counter.advance(table([("a", second, second)]), (second + 1) * SECOND)
        sizes.append(sum(part.num_rows for part in found.rows))
        assert sum(part.num_rows for part in counter.kept.read(0)) <= 2 * 20
        assert len(counter.kept.listed) < 8
    assert sizes[9::10] == [10] + [20] * 19
    assert [i for i, size in enumerate(sizes) if size] == list(range(9, 200, 10))


def test_waiting_rows_are_moved_seldom_and_lie_in_few_chunks():
    store, most = DictStore(), 0
    for second in range(3000):
        waiting = PendingRows(store, 0, AT)
        assert sum(part.num_rows for part in waiting.passed(second * SECOND)) == (second > 600)
        waiting.wait(table([("a", second + 600, 1)]), second * SECOND)
        waiting.save()
        most = max(most, len(waiting.listed))
    assert most < 40
    assert store.moved < 3000 * 5000  # one chunk of all that waits would be read and written: 36,000 bytes


def test_rows_of_another_type_are_refused():
    with pytest.raises(RunError, match="other columns or types"):
        join_tables([pa.table({"a": [1]}), pa.table({"a": ["x"]})])


def test_rows_without_keys_and_with_nested_columns_are_counted():
    maps = pa.array([[("a", 1)], None, [("b", 2)]], pa.map_(pa.string(), pa.int64()))
    groups = pa.array([0, 0, 0], pa.int32())
    rows = pa.table({KEY_GROUP: groups, AT: [2, 1, 2], "m": maps, "s": [{"x": 1}, None, {"x": 0}]})
    store, shapes = DictStore(), (rows_window(2, 1),)
    (first,) = RowCounter(0, shapes, store, None).advance(rows, 3).rows
    assert (first.column(FIRST).to_pylist(), first.column(FRESH).to_pylist()) == ([0, 1, 1], [0, 0, 0])
    (second,) = RowCounter(0, shapes, store, 3).advance(rows.set_column(1, AT, pa.array([4, 5, 9])), 6).rows
    # Of the tie at 1 and 2, which a window that ends at row 3 begins in, both are sent.
    assert second.column(FIRST).to_pylist() == [1, 1, 3, 4]
    assert (set(second.column(LOW).to_pylist()), set(second.column(FRESH).to_pylist())) == ({2}, {3})
    assert second.column_names == ["m", "s", FIRST, LOW, FRESH]
