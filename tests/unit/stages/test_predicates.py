"""Queries of several predicates as stages: which columns a slice has, and which windows are folded for whom."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.final.layout import algorithms_on, grids
from weft.model.window import Window
from weft.optimize.predicates import MOST_COLUMNS, share_predicates
from weft.stages.build import WASTE, gridded, places
from weft.stages.definition import Asked

asked = st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=1, max_size=40, unique=True)


@given(asked)
def test_grids_hold_every_query_once_and_waste_little(pairs):
    queries = [Asked(f"q{i}", Window(60 * minutes, 60), number) for i, (number, minutes) in enumerate(pairs)]
    found = gridded(queries)
    assert sorted(a.name for grid in found for a in grid) == sorted(a.name for a in queries)
    for grid in found:
        alone = len({a.predicate for a in grid}) == 1
        assert alone or places(grid) <= WASTE * len(grid)
    homes = [{a.predicate for a in grid} for grid in found]
    assert sum(map(len, homes)) == len(set().union(*homes)), "a predicate's queries stand together"


def test_predicates_that_ask_for_the_same_windows_are_one_grid():
    queries = [Asked(f"q{p}_{w}", Window(60 * w, 60), p) for p in range(50) for w in (1, 2, 3)]
    assert len(gridded(queries)) == 1


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
