"""Queries that join and leave a plan whose slices are kept: what they share stays under its ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.test_explain import MODEL, SECOND, bound
from weft.model.plan import Scan, SharedPlan, Tree
from weft.optimize.live import (
    drift_of,
    expected_cost,
    join_candidates,
    remove_empty,
    remove_query,
    reweave_trees,
)
from weft.spark.stream.live import takes_change
from weft.stages.build import build, projection
from weft.stages.pins import pin_plan

SHORT, LONG = bound("short", 20 * SECOND, 5 * SECOND), bound("long", 60 * SECOND, 10 * SECOND)


def pinned(*scans: Scan) -> SharedPlan:
    plan = SharedPlan("tri_weave", scans)
    return pin_plan(plan, build(plan))


def joined(plan: SharedPlan, query) -> list[SharedPlan]:
    return [found for _, found in join_candidates(plan, query, lambda _: MODEL, projection)]


def names(scan: Scan) -> list[list[str]]:
    return [[b.query.name for b in tree.queries] for tree in scan.trees]


def test_a_query_joins_the_grouping_that_has_its_keys():
    other = bound("all", 60 * SECOND, 60 * SECOND, keys=())
    plan = pinned(Scan((Tree((SHORT,)), Tree((LONG,)))), Scan((Tree((other,)),)))
    (found,) = joined(plan, bound("more", 40 * SECOND, 10 * SECOND))
    assert sorted(name for tree in names(found.scans[0]) for name in tree) == ["long", "more", "short"]
    assert found.scans[1] == plan.scans[1]
    assert joined(plan, bound("other", 40 * SECOND, 10 * SECOND, keys=("venue",))) == []


def test_a_query_is_in_one_tree_with_one_of_the_same_window_and_projection():
    plan = pinned(Scan((Tree((SHORT,)), Tree((LONG,)))))
    (found,) = joined(plan, bound("same", 60 * SECOND, 10 * SECOND))
    assert ["long", "same"] in [sorted(tree) for tree in names(found.scans[0])] or len(names(found.scans[0])) == 1


def test_what_shaped_the_slices_stays_as_a_ghost_and_their_id_with_it():
    plan = pinned(Scan((Tree((SHORT, LONG)),)))
    left = remove_query(plan, "short", "short~2")
    assert names(left.scans[0]) == [["long"]] and [g.query.name for g in left.scans[0].ghosts] == ["short~2"]
    old, new, bare = (build(each).scans[0] for each in
                      (plan, left, replace(left, scans=(replace(left.scans[0], ghosts=()),))))
    assert new.root.id == old.root.id and takes_change(old, new, True)
    assert bare.root.id != old.root.id and not takes_change(old, bare, True)  # cut at 10 s only
    assert new.queries() == ("long",)


def test_a_scan_without_queries_goes():
    plan = pinned(Scan((Tree((SHORT,)),)), Scan((Tree((LONG,)),)))
    assert remove_empty(remove_query(plan, "short", "g")).scans == plan.scans[1:]


@pytest.mark.parametrize(("query", "taken"), [
    (bound("x", 120 * SECOND, 5 * SECOND), True),  # a longer window
    (bound("x", 20 * SECOND, 5 * SECOND, "max"), True),  # a new column
    (bound("x", 20 * SECOND, 4 * SECOND), False),  # a finer cut
])
def test_state_takes_what_cuts_no_finer(query, taken):
    plan = pinned(Scan((Tree((SHORT, LONG)),)))
    (found,) = joined(plan, query)
    assert takes_change(build(plan).scans[0], build(found).scans[0], True) == taken


def test_another_predicate_means_other_slices():
    plan = pinned(Scan((Tree((SHORT,)),)))
    (found,) = joined(plan, replace(LONG, query=replace(LONG.query, name="x", where="volume > 3")))
    assert not takes_change(build(plan).scans[0], build(found).scans[0], True)


def test_predicates_and_columns_keep_their_order():
    asked = [replace(bound(f"q{i}", 20 * SECOND, 5 * SECOND, call),
                     query=replace(bound(f"q{i}", 20 * SECOND, 5 * SECOND, call).query, where=where))
             for i, (call, where) in enumerate([("sum", "volume > 1"), ("max", None), ("min", "volume > 1")])]
    plan = pinned(Scan((Tree(tuple(asked)),)))
    left = remove_query(plan, "q0", "q0~2")
    before, after = (build(each).root.stage for each in (plan, left))
    assert before.predicates == after.predicates and before.columns == after.columns


def test_trees_are_woven_anew_over_the_same_slices():
    queries = [bound(f"q{i}", 20 * (i + 1) * SECOND, 5 * SECOND) for i in range(6)]
    plan = pinned(Scan(tuple(Tree((query,)) for query in queries)))
    woven = reweave_trees(plan, lambda _: MODEL, projection)
    assert len(woven.scans[0].trees) < 6 and build(woven).root.id == build(plan).root.id
    assert sorted(b.query.name for b in woven.queries) == [f"q{i}" for i in range(6)]


def test_drift_is_measured_from_the_slope_of_earlier_plans():
    """000 Eq. 6."""
    assert expected_cost((), 5) is None and drift_of(1.0, (), 5) is None
    assert expected_cost(((10, 20.0),), 12) == pytest.approx(24.0)
    assert expected_cost(((10, 20.0), (20, 30.0)), 25) == pytest.approx(35.0)
    assert drift_of(42.0, ((10, 20.0), (20, 30.0)), 25) == pytest.approx(0.2)
