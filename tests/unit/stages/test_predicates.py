"""Queries of several predicates as stages: which columns a slice has, and what folds their windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.catalog.queries import bound, explained
from weft.cost.predicates import most_filtered, shards_of_slice
from weft.final.fold.layout import algorithms_on, grids
from weft.model.window import Window
from weft.spark.stream.checkpoint import nest_scan, unnest_scan


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


def test_few_columns_are_shared_by_filters_and_many_by_shards():
    """How many that are depends on how many rows a slice has, and of how many kinds they are."""
    assert [shards_of_slice(kinds, 4) for kinds in (1, 1e9)] == [1, pytest.approx(4, rel=1e-4)]
    assert most_filtered(3, kinds=1e9, rows=4) > most_filtered(3, kinds=8, rows=4) > most_filtered(3, kinds=1, rows=4)
    assert most_filtered(3, kinds=8, rows=1) == most_filtered(3, kinds=1, rows=9) == 3  # no more slices than before
    assert most_filtered(3, kinds=8, rows=1e6) == pytest.approx(3, abs=0.01)  # far fewer shards than rows


@pytest.mark.parametrize(("count", "sharing"), [(2, "filters"), (40, "shards")])
def test_the_optimizer_says_how_predicates_share(count, sharing):
    found = explained(*(bound(f"q{i}", where=f"volume > {i}") for i in range(count)), rows=2e6)
    (scan,) = found.plan.scans
    assert scan.sharing == sharing == found.stages.roots[0].stage.sharing
    assert unnest_scan(nest_scan(scan), {b.query.name: b for b in scan.queries}) == scan  # as a checkpoint keeps it

