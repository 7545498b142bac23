"""Counts of answers as texts: what a bucket wrote is what a reader of a trigger's progress finds."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from weft.spark.stream.answer_counts import CountTable, read_counts
from weft.spark.stream.counts import MOST_COUNTS, count_table


def part_of(id: str, *asked: tuple[str, int, int]) -> SimpleNamespace:
    """A part with queries of a name, a window and a predicate."""
    queries = [SimpleNamespace(name=name, window=window, predicate=predicate) for name, window, predicate in asked]
    return SimpleNamespace(id=id, stage=SimpleNamespace(queries=queries))


def test_queries_of_a_window_and_predicate_are_counted_together():
    parts = [part_of("p", ("a", 20, 0), ("b", 10, 0), ("c", 20, 0), ("d", 20, 1)), part_of("r", ("e", 5, 0))]
    found = count_table(parts)
    assert found.queries == (("a", "c"), ("b",), ("d",), ("e",))
    assert found.places == {("p", 1, 0): 0, ("p", 0, 0): 1, ("p", 1, 1): 2, ("r", 0, 0): 3}
    assert found.labels == {found.id: found.queries}


def test_very_many_windows_are_counted_by_part():
    parts = [part_of(f"p{i}", *((f"q{i}_{w}", w, 0) for w in range(MOST_COUNTS))) for i in range(2)]
    found = count_table(parts)
    assert [len(names) for names in found.queries] == [MOST_COUNTS, MOST_COUNTS]
    assert found.write({("p1", 7, 0): 3, ("p1", 9, 0): 4, ("unknown", 0, 0): 9}) == f"{found.id} 0,7"


def test_a_text_is_short_where_counts_are_alike():
    table = CountTable(tuple((f"q{i}",) for i in range(100)), {("p", i, 0): i for i in range(100)})
    assert table.write({("p", i, 0): 300 for i in range(99)}) == f"{table.id} 300*99,0"
    assert CountTable().write({("p", 0, 0): 1}) == f"{CountTable().id} "


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), max_size=4))
def test_buckets_are_summed(buckets):
    """Of tables that nobody knows, nothing is read."""
    table = CountTable(tuple((f"q{i}", f"r{i}") for i in range(6)), {("p", i, 0): i for i in range(6)})
    texts = [table.write({("p", i, 0): count for i, count in enumerate(each)}) for each in buckets]
    found: Counter[str] = Counter()
    for queries, count in read_counts([*texts, "another 7*6"], table.labels):
        found.update(dict.fromkeys(queries, count))
    wanted = {f"{letter}{i}": sum(each[i] for each in buckets) for i in range(6) for letter in "qr"} if buckets else {}
    assert dict(found) == wanted
