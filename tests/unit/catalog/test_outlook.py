"""Outlooks come back from the catalog as they were."""

from __future__ import annotations

from weft.catalog.database import open_catalog
from weft.catalog.outlook import Outlook, find_outlook, keep_outlook, mark_of
from weft.model.statistics import Statistics


def test_an_outlook_comes_back_and_the_last_one_holds(tmp_path):
    some = Statistics(10, 2, 3.5)
    outlook = Outlook({("t", None, "ts", ("a", "b")): some, ("t", "x > 1", "ts", ()): some},
                      {("t", "ts", frozenset({"b", "a"})): some})
    with open_catalog(tmp_path / "catalog.db") as catalog:
        mark = mark_of("cheapest", [("/data", "SELECT 1")])
        assert find_outlook(catalog, mark) is None
        keep_outlook(catalog, mark, Outlook({}, {}))
        keep_outlook(catalog, mark, outlook)
        assert find_outlook(catalog, mark) == outlook
    assert mark != mark_of("cheapest", [("/other", "SELECT 1")]) != mark_of("no_share", [("/other", "SELECT 1")])
