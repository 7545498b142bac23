"""A bucket whose plan changes between triggers: every query answers each whole window once, as a batch would."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.final.test_bucket import DictStore
from tests.unit.final.test_fold import COMPONENTS, rows, slices, windows
from weft.final.state import history as past
from weft.final.state.bucket import Bucket, BucketGrouping, BucketMemory, BucketPart
from weft.final.state.changes import Boundary, GroupingContent, GroupingHistory, change_history, list_window
from weft.final.state.form import SliceForm, from_bytes
from weft.final.state.history import WAITING, Blob, levels_for
from weft.final.state.open_slices import pack_pieces, unpack_pieces
from weft.model.edges import progressions
from weft.model.window import Window
from weft.stages.build import final_stage, for_stream

# Which of a slice's columns a query reads beside the number of rows: a sum or a maximum.
SUM, MAX = 1, 2
NAMES = {0: "n", SUM: "a", MAX: "x"}
Asked = tuple[Window, int]


def make_plan(asked: frozenset[Asked], cut: tuple, history: GroupingHistory) -> BucketGrouping:
    """What buckets do for some queries."""
    shapes = tuple(sorted({window for window, _ in asked}))
    read = sorted({component for _, component in asked})
    names = ("k", "s", "n", *(NAMES[c] for c in read))
    merging = tuple((COMPONENTS[c], (i,)) for i, c in enumerate((0, *read)))
    form = SliceForm(1, 0, cut, merging, True, names, (pa.string(), *[pa.int64()] * (len(names) - 1)))
    levels = levels_for(shapes, min(period for _, period in cut), True, history.sizes)
    return BucketGrouping(form, shapes, levels, tuple(make_part(asked, c, read, history) for c in read))


def make_part(asked: frozenset[Asked], component: int, read: list[int], history: GroupingHistory) -> BucketPart:
    mine = tuple(sorted(window for window, c in asked if c == component))
    final = for_stream(final_stage(1, mine, (COMPONENTS[0], COMPONENTS[component]), True, ()))
    starts = [history.first_start(window, ("n", NAMES[component])) for window in mine]
    first = tuple((0, place, start) for place, start in enumerate(starts) if start is not None)
    return BucketPart(str(component), replace(final, first=first), (0, 1 + read.index(component)))


def content(asked: frozenset[Asked]) -> GroupingContent:
    return GroupingContent(frozenset({"n"} | {NAMES[c] for _, c in asked}), frozenset(w for w, _ in asked))


def read_answers(node: BucketGrouping, bucket: Bucket) -> list[tuple]:
    """The answers of a trigger: the query, the key, the start and the value."""
    found = []
    finals = {part.id: part.final for part in node.parts}
    for id, batch in bucket.answers():
        for window, key, first, slide, _, starts, counts, values, _ in zip(*batch.to_pydict().values(), strict=True):
            for i, (count, value) in enumerate(zip(counts, values, strict=True)):
                query = finals[id].windows[window], int(id)
                found.append((query, key, starts[i] if starts else first + i * slide, count, value))
    return found


def answer(data, query: Asked, key: str, start: int) -> tuple[int, int]:
    values = [v for k, t, v in data if k == key and start <= t < start + query[0].range]
    return len(values), (sum if query[1] == SUM else max)(values)


@st.composite
def histories(draw) -> tuple:
    """Windows, the queries of each trigger, and the watermarks."""
    pool = draw(windows())
    asked = st.frozensets(st.tuples(st.sampled_from(pool), st.sampled_from([SUM, MAX])), min_size=1, max_size=5)
    marks = sorted(draw(st.sets(st.one_of(st.integers(-60, 130), st.integers(9_990, 10_130)), min_size=2, max_size=25)))
    changes = draw(st.lists(st.tuples(st.integers(0, len(marks) - 1), asked), max_size=5))
    return pool, draw(asked), marks, dict(changes)


@given(data=rows(), made=histories(), fan=st.sampled_from([2, 3, 16]), early=st.lists(st.integers(0, 4), min_size=60,
                                                                                     max_size=60))
def test_every_query_answers_each_whole_window_once_however_plans_change(data, made, fan, early):
    pool, asked, marks, changes = made
    cut, usual = progressions(pool), past.FAN
    past.FAN = fan
    try:
        found, expected = run_changes(data, pool, asked, marks, changes, early, cut)
    finally:
        past.FAN = usual
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("seed", range(6))
def test_a_dense_stream_answers_each_whole_window_once_however_plans_change(seed):
    """Windows of many blobs, of which the older ones are forgotten and totalled."""
    random, usual = Random(seed), past.FAN
    pool = tuple(Window(slide * random.randint(1, 40), slide) for slide in random.choices([5, 10, 15], k=4))
    queries = [(window, component) for window in pool for component in (SUM, MAX)]
    pick = lambda: frozenset(random.sample(queries, random.randint(1, 4)))  # noqa: E731
    data = [(random.choice("ab"), random.randint(0, 1500), random.randint(-9, 9)) for _ in range(500)]
    marks = sorted(random.sample(range(1600), 60))
    changes = {random.randrange(60): pick() for _ in range(6)}
    past.FAN = random.choice([2, 3])
    try:
        found, expected = run_changes(data, tuple(sorted(set(pool))), pick(), marks, changes,
                                      [random.randint(0, 4) for _ in data], progressions(pool))
    finally:
        past.FAN = usual
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert len(found) > 20


def run_changes(data, pool, asked, marks, changes, early, cut):
    """What a bucket answers, and what it should."""
    ends = [min(t - (t - phase) % period + period for phase, period in cut) for _, t, _ in data]
    closing = [next((i for i, mark in enumerate(marks) if mark >= end), len(marks) - 1) for end in ends]
    arrival = [max(c - e, 0) for c, e in zip(closing, early, strict=False)]
    store, kept, history = DictStore(), None, GroupingHistory()
    node, at, seen = make_plan(asked, cut, history), None, -10**6
    history = replace(history, sizes=node.levels.sizes)
    found, expected = [], []
    for i, mark in enumerate(marks):
        touched = i in changes
        if touched:
            history = change_history(history, content(asked), content(changes[i]), at, history.sizes)
            asked = changes[i]
            node = make_plan(asked, cut, history if at else GroupingHistory())
            history = replace(history, sizes=node.levels.sizes)
        mine = [row for row, when in zip(data, arrival, strict=True) if when == i]
        new = pa.Table.from_batches([slices(mine, pool)]).select(node.form.names) if mine else None
        if new is not None or (kept is not None and (touched or kept.timer <= mark)):
            bucket = Bucket(node, store, kept, new, mark)
            found += read_answers(node, bucket)
            kept = remember(bucket, store)
        expected += expect(data, asked, history, at.until if at else None, mark, closing, i)
        seen = max([seen, *(t for _, t, _ in mine)])
        at = Boundary(i + 1, mark, seen)
    return found, expected


def remember(bucket: Bucket, store: DictStore) -> BucketMemory | None:
    kept = bucket.keep()
    if kept is None:
        store.clear()
        return None
    pieces, marks, layout = unpack_pieces(pack_pieces(kept.waiting, kept.marks, kept.layout))
    assert set(marks) == set(store)
    return replace(kept, waiting=tuple(pieces), marks=marks, layout=layout)


def expect(data, asked, history, after, until, closing, trigger):
    """The windows that end in a trigger and are whole, each with its value."""
    for query in asked:
        window = query[0]
        first = history.first_start(window, ("n", NAMES[query[1]]))
        places = set()
        for key, time, _ in data:
            last = time - (time - window.phase) % window.slide
            places |= {(key, start) for start in range(last, time - window.range, -window.slide)}
        for key, start in places:
            end = start + window.range
            if (after is None or end > after) and end <= until and (first is None or start >= first):
                yield (query, key, start, *answer(data, query, key, start))


def steady(asked: frozenset[Asked], later: frozenset[Asked], triggers: int = 40):
    """A steady stream whose plan changes half way: the store, and the last plan."""
    pool = tuple(sorted({w for w, _ in asked | later}))
    cut, store, kept, history = progressions(pool), DictStore(), None, GroupingHistory()
    node = make_plan(asked, cut, history)
    for i in range(triggers):
        if i == triggers // 2:
            history = change_history(replace(history, sizes=node.levels.sizes), content(asked), content(later),
                                     Boundary(i, i * 10 - 10, i * 10), node.levels.sizes)
            node = make_plan(later, cut, history)
        new = pa.Table.from_batches([slices([("a", i * 10 + 5, 1)], pool)]).select(node.form.names)
        kept = remember(Bucket(node, store, kept, new, i * 10), store)
    return store, node, kept


def test_state_of_a_dropped_query_is_gone_at_the_next_call_of_its_bucket():
    short, long = Window(20, 10), Window(3000, 10)
    before, _, _ = steady(frozenset({(short, SUM), (long, MAX)}), frozenset({(short, SUM), (long, MAX)}), 600)
    after, node, kept = steady(frozenset({(short, SUM), (long, MAX)}), frozenset({(short, SUM)}), 600)
    assert sum(map(len, after.values())) < sum(map(len, before.values())) / 3
    assert all(set(from_bytes(data).column_names) == {"k", "s", "n", "a"} for data in after.values())
    oldest = node.levels.forgotten(0, kept.until)
    assert all(blob.number >= oldest for blob in after if blob.level == 0)


def test_a_longer_window_gets_the_levels_that_it_would_have_had():
    short, long = Window(20, 10), Window(6000, 10)
    store, node, _ = steady(frozenset({(short, SUM)}), frozenset({(short, SUM), (long, SUM)}), 800)
    assert len(node.levels.sizes) == 3
    assert {blob.level for blob in store if blob.level != WAITING} == {0, 1, 2}


def test_histories_say_from_when_windows_are_whole():
    minute, hour = Window(60, 10), Window(3600, 10)
    old, new = GroupingContent(frozenset("n"), frozenset({minute})), GroupingContent(frozenset("nx"),
                                                                                    frozenset({minute, hour}))
    at = Boundary(7, 1000, 1040)
    found = change_history(GroupingHistory((160,)), old, new, at, (160,))
    assert found == GroupingHistory((160,), 940, {"x": 1041}, {list_window(hour): 1000})
    assert found.first_start(minute, ["n"]) == 940  # its windows that end after the watermark start later anyway
    assert found.first_start(hour, ["n"]) == 940
    assert found.first_start(minute, ["n", "x"]) == 1041
    assert change_history(GroupingHistory(), old, new, None, (160,)) == GroupingHistory((160,))
    assert change_history(GroupingHistory(), None, new, at, (160,)).first_start(minute, ["n"]) == 1041


@pytest.mark.parametrize(("at", "begins"), [(None, 3000), (Boundary(7, 1000, 1040), 3000),
                                            (Boundary(9, 5000, 5040), 5000)])
def test_a_window_that_was_answered_elsewhere_is_not_answered_again(at, begins):
    minute, hour = Window(60, 10), Window(3600, 10)
    old, new = (GroupingContent(frozenset("n"), frozenset(windows)) for windows in ({minute}, {minute, hour}))
    history = GroupingHistory((160,), None, {}, {list_window(minute): 2000, "one that went": 7})
    found = change_history(history, old, new, at, (160,), {list_window(hour): 3000})
    assert found.windows == {list_window(minute): 2000, list_window(hour): begins}
    assert (found.whole, found.columns) == (at and at.until - 60, {})


def test_slices_of_an_older_plan_have_nothing_in_columns_that_are_new():
    form = SliceForm(1, 0, ((0, 10),), tuple((c, (i,)) for i, c in enumerate(COMPONENTS)), True,
                     ("k", "s", "n", "a", "x"), (pa.string(), *[pa.int64()] * 4))
    table = pa.table({"x": [5], "gone": [1], "k": ["a"], "s": [0]})
    assert form.align(table).to_pylist() == [{"k": "a", "s": 0, "n": 0, "a": None, "x": 5}]


@pytest.mark.parametrize("state", [DictStore()])
def test_state_of_a_version_without_layouts_is_read_as_it_is(state):
    short = frozenset({(Window(20, 10), SUM)})
    node = make_plan(short, progressions((Window(20, 10),)), GroupingHistory())
    new = pa.Table.from_batches([slices([("a", 5, 1)], (Window(20, 10),))]).select(node.form.names)
    kept = Bucket(node, state, None, new, 10).keep()
    before = dict(state)
    Bucket(node, state, replace(kept, layout=None), None, 15)
    assert state == before
    assert Blob(0, 0) in state
