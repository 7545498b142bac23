"""Planning snapshots come back from the catalog as they were."""

from __future__ import annotations

from weft.catalog.database import open_catalog
from weft.catalog.planning_snapshot import PlanningSnapshot, find_snapshot, keep_snapshot, snapshot_key
from weft.model.statistics import Statistics


def test_an_outlook_comes_back_and_the_last_one_holds(tmp_path):
    some = Statistics(10, 2, 3.5)
    snapshot = PlanningSnapshot({("t", None, "ts", ("a", "b")): some, ("t", "x > 1", "ts", ()): some},
                               {("t", "ts", frozenset({"b", "a"})): some})
    with open_catalog(tmp_path / "catalog.db") as catalog:
        mark = snapshot_key("cheapest", [("/data", "SELECT 1")])
        assert find_snapshot(catalog, mark) is None
        keep_snapshot(catalog, mark, PlanningSnapshot({}, {}))
        keep_snapshot(catalog, mark, snapshot)
        assert find_snapshot(catalog, mark) == snapshot
    assert mark != snapshot_key("cheapest", [("/other", "SELECT 1")]) != snapshot_key("no_share",
                                                                                      [("/other", "SELECT 1")])
