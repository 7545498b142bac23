"""Folding ragged slices into windows: equal to a plain reading of what a window is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.component import ROWS, Component
from weft.final.fold import dense as folding
from weft.final.fold.partition import fold_partition, number_keys
from weft.model.edges import progressions
from weft.model.window import Window
from weft.stages.build import final_stage

COMPONENTS = (ROWS, Component("add", ("sum(x)",), "bigint"), Component("max", ("max(x)",), "bigint"))


@st.composite
def windows(draw) -> tuple[Window, ...]:
    made = set()
    for _ in range(draw(st.integers(1, 5))):
        slide = draw(st.sampled_from([1, 2, 3, 5, 7, 11, 60]))
        length = slide + draw(st.integers(0, 40))
        made.add(Window(length, slide, draw(st.integers(-slide + 1, slide - 1))))
    return tuple(sorted(made))


@st.composite
def rows(draw) -> list[tuple[str, int, int]]:
    """Rows (key, time, value): some keys dense, some sparse, with gaps longer than any window."""
    times = st.one_of(st.integers(-50, 50), st.integers(-50, 50), st.integers(10_000, 10_040))
    return draw(st.lists(st.tuples(st.sampled_from("abc"), times, st.integers(-9, 9)), max_size=60))


def slices(data: list[tuple[str, int, int]], shapes: tuple[Window, ...]) -> pa.RecordBatch:
    """What a partial stage would send for these rows, in no order."""
    cut = progressions(shapes)
    found: dict[tuple[str, int], list[int]] = {}
    for key, time, value in data:
        start = max(time - (time - phase) % period for phase, period in cut)
        found.setdefault((key, start), []).append(value)
    columns = [[k for k, _ in found], [s for _, s in found], [len(v) for v in found.values()],
               [sum(v) for v in found.values()], [max(v) for v in found.values()]]
    types = [pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64()]
    return pa.record_batch([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=list("ksnax"))


def expected(data: list[tuple[str, int, int]], shapes: tuple[Window, ...]) -> dict:
    """Every answer by the definition of a window."""
    answers: dict[tuple, list[int]] = {}
    for number, window in enumerate(shapes):
        for key, time, value in data:
            last = time - (time - window.phase) % window.slide
            for start in range(last, time - window.range, -window.slide):
                answers.setdefault((number, key, start), []).append(value)
    return {k: (len(v), sum(v), max(v)) for k, v in answers.items()}


def received(batches) -> dict:
    """The answers in the wire format, each once."""
    found: dict[tuple, tuple] = {}
    for batch in batches:
        for row in zip(*batch.to_pydict().values(), strict=True):
            window, key, first, slide, _, starts, counts, sums, _, tops, _ = row
            for i, triple in enumerate(zip(counts, sums, tops, strict=True)):
                place = (window, key, starts[i] if starts else first + i * slide)
                assert place not in found
                found[place] = triple
    return found


@given(data=rows(), shapes=windows(), tile=st.sampled_from([4, 64, 1 << 15]))
def test_fold_gives_every_answer_once(data, shapes, tile):
    stage = final_stage(1, shapes, COMPONENTS, True, ())
    whole = folding.TILE
    folding.TILE = tile
    try:
        assert received(fold_partition(stage, [slices(data, shapes)])) == expected(data, shapes)
    finally:
        folding.TILE = whole


def test_an_empty_partition_sends_nothing():
    stage = final_stage(1, (Window(10, 5),), COMPONENTS, True, ())
    assert list(fold_partition(stage, [slices([], (Window(10, 5),))])) == []


@pytest.mark.parametrize("ansi", [True, False])
def test_bigint_sums_that_overflow_are_marked_or_wrap(ansi):
    top = 2**63 - 1
    batch = slices([("a", 0, top), ("a", 5, top), ("a", 20, 1)], (Window(10, 5),))
    stage = final_stage(1, (Window(10, 5),), COMPONENTS, ansi, ())
    (answers,) = fold_partition(stage, [batch])
    found = {}
    for first, starts, sums, mark in zip(*(answers.column(i).to_pylist() for i in (2, 5, 7, 8)), strict=True):
        at = starts or range(first, first + 99, 5)
        found |= {start: (value, mark) for start, value in zip(at, sums, strict=False)}
    twice = (-2, 2 if ansi else 1)  # two's complement of 2 · top
    assert found == {-5: (top, 1), 0: twice, 5: (top, 1), 15: (1, 1), 20: (1, 1)}


def test_keys_of_any_type_are_told_apart():
    nested = pa.array([{"a": 1}, {"a": None}, None, {"a": 1}])
    reals = pa.array([1.0, float("nan"), None, 1.0])
    lists = pa.array([["x"], [], None, ["x"]])
    for columns in ([nested], [reals], [lists], [nested, reals, lists]):
        numbers = number_keys(columns, 4)
        assert numbers[0] == numbers[3] and len(set(numbers.tolist())) == 3


def test_very_many_key_columns_do_not_overflow_their_numbers():
    rng = np.random.default_rng(1)
    columns = [pa.array(rng.integers(0, 10**9, 500)) for _ in range(9)]
    assert len(set(number_keys(columns, 500).tolist())) == 500
