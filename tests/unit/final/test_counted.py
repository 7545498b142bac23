"""Windows that count rows, folded: equal to a plain reading of "the last n rows after every m-th"."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.component import ROWS, Component
from weft.final.fold import dense as folding
from weft.final.fold.layout import grids
from weft.final.fold.partition import fold_partition
from weft.final.rows.whole_windows import shorten_grid
from weft.model.edges import progressions
from weft.model.window import Window, rows_window
from weft.stages.build import final_stage

COMPONENTS = (ROWS, Component("add", ("sum(x)",), "bigint"), Component("min", ("min(x)",), "bigint"))
Keyed = dict[str, list[int]]


@st.composite
def windows(draw) -> tuple[Window, ...]:
    slides = st.sampled_from([1, 2, 3, 4, 5, 11])
    lengths = st.one_of(st.integers(0, 30), st.integers(0, 30), st.just(10**9))
    made = {rows_window(slide + draw(lengths), slide) for slide in draw(st.lists(slides, min_size=1, max_size=4))}
    return tuple(sorted(made))


def slices(data: Keyed, shapes: tuple[Window, ...]) -> pa.RecordBatch:
    """What a partial stage would send for the values of each key, in order."""
    cut, found = progressions(shapes), {}
    for key, values in data.items():
        for number, value in enumerate(values):
            start = max(number - (number - phase) % period for phase, period in cut)
            found.setdefault((key, start), []).append(value)
    columns = [[k for k, _ in found], [s for _, s in found], [len(v) for v in found.values()],
               [sum(v) for v in found.values()], [min(v) for v in found.values()]]
    types = [pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64()]
    return pa.record_batch([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=list("ksnax"))


def expected(data: Keyed, shapes: tuple[Window, ...]) -> list[tuple]:
    """After every slide the last rows, fewer at the beginning; what comes after the last whole slide is not told."""
    answers = []
    for number, window in enumerate(shapes):
        for key, values in data.items():
            for end in range(window.slide, len(values) + 1, window.slide):
                held = values[max(0, end - window.range) : end]
                answers.append((number, key, len(held), sum(held), min(held)))
    return sorted(answers)


def received(batches) -> list[tuple]:
    """The answers in the wire format."""
    found = []
    for batch in batches:
        for window, key, _, _, _, _, counts, sums, _, least, _ in zip(*batch.to_pydict().values(), strict=True):
            found += [(window, key, *triple) for triple in zip(counts, sums, least, strict=True)]
    return sorted(found)


@given(data=st.dictionaries(st.sampled_from("abc"), st.lists(st.integers(-9, 9), min_size=1, max_size=70)),
       shapes=windows(), tile=st.sampled_from([4, 64, 1 << 15]))
def test_every_whole_window_is_told_once(data, shapes, tile):
    stage = final_stage(1, shapes, COMPONENTS, True, ())
    before, folding.TILE = folding.TILE, tile
    try:
        assert received(fold_partition(stage, [slices(data, shapes)])) == expected(data, shapes)
    finally:
        folding.TILE = before


def test_a_line_is_no_longer_than_the_rows_there_are():
    (grid,) = grids([rows_window(1_000_000_003, 10)])
    assert (grid.phase, grid.gap, shorten_grid(grid, 95).gap) == (7, 100_000_000, 10)
    assert shorten_grid(grid, 95).reaches[0].rest == grid.reaches[0].rest == 3
