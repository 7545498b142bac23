"""The stage graph: ids that mean the same in every plan, an order in which each node comes after what it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.catalog.queries import MINUTE, bound, explained, identity
from weft.model.graph import StageGraph
from weft.model.stages import AnswerStage, DeriveStage, FinalStage, PartialStage, ReadStage
from weft.model.window import Window
from weft.stages.build import build
from weft.stages.diff import diff
from weft.stages.writes import add_writes


def graph_of(*queries, optimizer: str = "cheapest") -> StageGraph:
    return explained(*queries, optimizer=optimizer).stages


def derived_graph() -> StageGraph:
    fine, coarse = explained(bound("a", keys=("symbol", "venue"))), explained(bound("b", 20))
    plan = replace(fine.plan, scans=(replace(fine.plan.scans[0], derived=coarse.plan.scans),))
    return build(plan, identity=identity)


@pytest.mark.parametrize("optimizer", ["cheapest", "no_share", "share_all"])
def test_every_node_comes_after_what_it_reads_and_ids_are_distinct(optimizer):
    asked = [bound(f"q{i}", 10 + i % 3, None if i % 2 else "price > 7", call=("sum", "max")[i % 2]) for i in range(8)]
    graph = graph_of(*asked, optimizer=optimizer)
    seen: set[str] = set()
    for node in graph:
        assert set(node.inputs) <= seen and node.id not in seen
        seen.add(node.id)
    assert sorted(graph.queries()) == sorted(b.query.name for b in asked)
    assert [node for scan in graph.scans for node in scan if node.kind != "Read"] == [
        node for node in graph if node.kind != "Read"]


def test_kinds_in_order():
    graph = add_writes(derived_graph(), "out")
    assert [node.kind for node in graph] == ["Read", "Partial", "Final", "Answer", "Derive", "Final", "Answer", "Write"]
    read, partial, final, answer, derive, *_ = graph
    assert partial.inputs == (read.id,) and final.inputs == (partial.id,) and answer.inputs == (final.id,)
    assert derive.inputs == (partial.id,) and graph.above(derive) == (partial,)
    assert graph.writes[0].inputs == tuple(node.id for node in graph.of(AnswerStage))


def test_derived_slices_have_their_parents_names():
    graph = derived_graph()
    fine, coarse = (node.stage for node in graph.slices)
    assert isinstance(coarse, DeriveStage) and set(coarse.key_names) < set(fine.key_names)
    assert {column.name for column in coarse.columns} <= {column.name for column in fine.columns}
    assert all(any(column.name in merged.sql for column in fine.columns) for merged in coarse.columns)


def test_a_query_more_leaves_the_ids_of_the_others():
    """A component more widens slices, a window more is another tree over the same slices."""
    one, wider = graph_of(bound("a")), graph_of(bound("a"), bound("b", call="max"))
    assert wider.root.id == one.root.id and set(one.root.holds) < set(wider.root.holds)
    longer = graph_of(bound("a"), bound("c", 20))
    assert longer.root.id == one.root.id
    assert longer.of(FinalStage)[0].id != one.of(FinalStage)[0].id
    assert set(one.of(FinalStage)[0].holds) < set(longer.of(FinalStage)[0].holds)


@pytest.mark.parametrize("other", [
    bound("a", where="price > 7"), bound("a", keys=("symbol", "venue")), bound("a", keys=()),
])
def test_other_rows_and_keys_are_other_slices(other):
    assert graph_of(bound("a")).root.id != graph_of(other).root.id


def test_other_cuts_are_other_slices():
    odd = replace(bound("a").query, window=Window(10 * MINUTE, 7 * MINUTE))
    assert graph_of(bound("a")).root.id != graph_of(replace(bound("a"), query=odd)).root.id


def test_ids_do_not_hang_on_spelling_or_names():
    one, other = graph_of(bound("a", where="price > 100")), graph_of(bound("z", where="100 < price"))
    assert [node.id for node in one] == [node.id for node in other]
    assert one.root.holds == other.root.holds


def test_what_means_the_same_twice_is_numbered():
    """Without sharing, equal queries have slices of their own."""
    graph = graph_of(bound("a"), bound("b"), optimizer="no_share")
    first, second = graph.roots
    assert second.id == f"{first.id}-2" and first.meaning == second.meaning and first.holds == second.holds
    assert [scan.queries() for scan in graph.scans] == [("a",), ("b",)]


def test_columns_of_predicates_have_names_of_their_own():
    graph = graph_of(bound("a", where="price > 1"), bound("b", 20, "price > 2"), bound("c", 30))
    names = [column.name for column in graph.root.stage.columns]
    assert len(set(names)) == len(names) and graph.root.stage.numbered


def test_reads_are_shared_by_scans():
    graph = graph_of(bound("a"), bound("b", keys=()), optimizer="no_share")
    assert len(graph.of(ReadStage)) == 1 and len(graph.of(PartialStage)) == 2


def test_diff_tells_what_is_kept():
    old, new = graph_of(bound("a"), bound("b", 20)), graph_of(bound("b", 20), bound("c", 30, call="max"))
    found = diff(old, new)
    assert old.root.id in found.nodes.kept and found.queries.kept == ("b",)
    assert (found.queries.added, found.queries.dropped) == (("c",), ("a",))
    assert len(found.columns.kept) == 1 and found.columns.added and not found.columns.dropped
    assert found.folds.kept and found.folds.added and found.folds.dropped
    assert not found.same and diff(old, old).same
    assert "queries: 1 kept, 1 added, 1 dropped" in str(found) and "+ c" in str(found)
    assert found.to_dict()["queries"] == {"kept": ("b",), "added": ("c",), "dropped": ("a",)}


def test_diff_sees_a_query_that_asks_for_something_else():
    found = diff(graph_of(bound("a")), graph_of(bound("a", 20)))
    assert found.queries.kept == () and found.queries.added == found.queries.dropped == ("a",)


@pytest.mark.parametrize("optimizer", ["cheapest", "no_share", "share_all"])
def test_a_part_of_a_graph_has_the_ids_and_columns_of_the_whole(optimizer):
    asked = [bound(f"q{i}", 10 + i % 3, None if i % 2 else "price > 7", call=("sum", "max")[i % 2]) for i in range(8)]
    graph = graph_of(*asked, optimizer=optimizer)
    for names in (["q3"], ["q0", "q5"], [f"q{i}" for i in range(7)]):
        part = graph.narrow(names)
        assert sorted(part.queries()) == names
        for node in part:
            same = graph[node.id]
            assert set(node.inputs) <= {other.id for other in part}
            if isinstance(node.stage, AnswerStage):
                assert replace(node.stage, queries=same.stage.queries) == same.stage
                assert set(node.holds) <= set(same.holds)
            else:
                assert node == same
        needed = {part.slices_of(node).id for node in part.of(AnswerStage)}
        assert {node.id for node in part.slices} == needed, "no slices that nobody reads"
    assert graph.narrow([f"q{i}" for i in range(8)]) == graph


def test_a_part_of_a_graph_keeps_the_slices_that_its_own_are_derived_from():
    graph = derived_graph()
    assert [node.kind for node in graph.narrow(["b"])] == ["Read", "Partial", "Derive", "Final", "Answer"]
    assert [node.kind for node in graph.narrow(["a"])] == ["Read", "Partial", "Final", "Answer"]
    assert graph.narrow([]).nodes == ()
