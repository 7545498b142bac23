"""Queries of several predicates as stages: which columns a slice has, and what folds their windows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.final.fold.layout import algorithms_on, grids
from weft.model.window import Window
from weft.optimize.predicates import MOST_COLUMNS, share_predicates


@given(st.lists(st.integers(1, 300), min_size=1, max_size=12, unique=True), st.data())
def test_fewer_windows_keep_their_algorithms(minutes, data):
    whole = tuple(sorted(Window(m * 60, 60) for m in minutes))
    algorithms = tuple((f"algorithm {i}",) for i, _ in enumerate(grids(whole)))
    some = sorted(data.draw(st.sets(st.sampled_from(whole), min_size=1)))
    found = algorithms_on(some, whole, algorithms)
    home = {whole[reach.window]: names for grid, names in zip(grids(whole), algorithms, strict=True)
            for reach in grid.reaches}
    assert found == tuple(home[some[grid.reaches[-1].window]] for grid in grids(some))
    assert algorithms_on(whole, whole, algorithms) == algorithms


def test_many_columns_are_shared_by_shards():
    assert share_predicates(MOST_COLUMNS) == "filters" and share_predicates(MOST_COLUMNS + 1) == "shards"
