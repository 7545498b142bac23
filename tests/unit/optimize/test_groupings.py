"""The lattice of groupings: parents that pay, rerouting, unions, and a cost that no order of queries changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.aggregates.component import ROWS, Component, Lowered
from weft.cost.model import SparkModel
from weft.cost.spark import SparkCosts
from weft.model.plan import Scan, Tree
from weft.model.query import Output, Query
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.optimize.groupings import Grouping, add_unions, costs_now, derive_groupings, place_grouping

SECOND = 1_000_000
SPAN = 10 * 3600 * SECOND
SUM = Component("add", ("sum(volume)",), "bigint")
MEAN = Component("moments", ("count(price)", "avg(price)", "var_pop(price)"), "double")
# How many keys sets of columns have; a set that is not here has as many as its columns allow.
DISTINCT = {"a": 4, "b": 5, "c": 10, "d": 1000}


def keys_of(keys) -> int:
    size = 1
    for key in keys:
        size *= DISTINCT[key]
    return min(size, 2_000_000)


def query(name, keys, minutes=1, where=None, component=SUM):
    found = Query(name, "", "t", "ts", Window(minutes * 60 * SECOND, 60 * SECOND), where, tuple(keys), (),
                  (Output("__call_0", "x"),), None, "")
    return BoundQuery(found, "timestamp", ("int",) * len(keys), (Lowered((component, ROWS)),))


def scan(*queries) -> Scan:
    return Scan((Tree(queries),))


def sizes(found, keys) -> SparkModel:
    return SparkModel(2e6 / SPAN, keys_of(keys), SPAN, costs=SparkCosts())


def lattice_of(scans):
    lattice = ()
    for each in scans:
        lattice = place_grouping(lattice, Grouping(each, sizes(each, each.keys)))
    return lattice


def names(scans):
    return [(["".join(node.keys) for node in found.nodes]) for found in scans]


def test_a_coarser_grouping_reads_the_smallest_finer_one():
    scans = [scan(query("fine", "abc")), scan(query("finer", "ab")), scan(query("coarse", "a"))]
    assert names(derive_groupings(scans, sizes)) == [["abc", "ab", "a"]]


def test_one_that_arrives_later_takes_over_those_it_serves_more_cheaply():
    coarse, fine, middle = scan(query("coarse", "a")), scan(query("fine", "abc")), scan(query("middle", "ab"))
    first = lattice_of([coarse, fine])
    assert [node.parent for node in first] == [1, None]
    assert [node.parent for node in place_grouping(first, Grouping(middle, sizes(middle, middle.keys)))] == [2, None, 1]


def test_a_grouping_that_hardly_makes_fewer_slices_serves_nobody():
    scans = [scan(query("fine", "bcd")), scan(query("coarse", "d"))]
    assert names(derive_groupings(scans, sizes)) == [["bcd"], ["d"]]


def test_a_union_is_introduced_where_it_pays_and_not_where_it_explodes():
    assert names(derive_groupings([scan(query("x", "a")), scan(query("y", "b"))], sizes)) == [["ab", "a", "b"]]
    assert names(derive_groupings([scan(query("x", "c")), scan(query("y", "d"))], sizes)) == [["c"], ["d"]]


def test_a_union_has_the_columns_and_edges_of_all_it_serves():
    (found,) = derive_groupings([scan(query("x", "a", 3)), scan(query("y", "b", 7, component=MEAN))], sizes)
    assert not found.trees and found.keys == ("a", "b") and found.key_types == ("int", "int")
    assert set(found.components) == {SUM, MEAN, ROWS}
    assert {w.range // (60 * SECOND) for w in found.cut_for} == {3, 7}


def test_predicates_differ_only_under_keys_that_cannot_fail():
    plain = [scan(query("fine", "ab")), scan(query("coarse", "a", where="x > 1"))]
    assert names(derive_groupings(plain, sizes)) == [["ab", "a"]]
    fine = replace_keys(query("fine", "ab"), ("a", "1 / b"))
    odd = [scan(fine), scan(query("coarse", "a", where="x > 1"))]
    assert len(derive_groupings(odd, lambda s, k: sizes(s, "ab"[: len(k)]))) == 2


def replace_keys(bound, keys):
    return replace(bound, query=replace(bound.query, keys=keys))


key_sets = st.lists(st.sets(st.sampled_from("abcd"), max_size=4).map(sorted).map("".join), min_size=2, max_size=6,
                    unique=True)


@given(key_sets, st.randoms())
def test_no_order_of_queries_changes_what_the_plan_costs(sets, random):
    """Queries A then B, and B then A, end in the same plan cost (rerouting, 002 §3.3)."""
    scans = [scan(query(f"q{i}", keys, minutes=i % 3 + 1)) for i, keys in enumerate(sets)]
    shuffled = random.sample(scans, len(scans))
    one, other = (add_unions(lattice_of(found), sizes) for found in (scans, shuffled))
    assert sum(costs_now(one)) == pytest.approx(sum(costs_now(other)), rel=1e-12)
    assert sorted(map(links, one_by_one(one))) == sorted(map(links, one_by_one(other)))


def one_by_one(lattice):
    return [(node, None if node.parent is None else lattice[node.parent]) for node in lattice]


def links(pair):
    return tuple("".join(sorted(node.keys)) if node else "-" for node in pair)


def test_all_orders_of_three():
    scans = [scan(query("x", "abc")), scan(query("y", "ab", 5)), scan(query("z", "b", 3))]
    costs = {round(sum(costs_now(lattice_of(order))), 12) for order in permutations(scans)}
    assert len(costs) == 1
