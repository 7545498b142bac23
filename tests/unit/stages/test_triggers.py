"""The shortest sustainable trigger of a scan, and the trigger that the bounds of its queries ask for."""

from __future__ import annotations

import pytest

from weft.catalog.database import open_catalog
from weft.catalog.trigger_loads import keep_trigger_load, trigger_loads
from weft.cost.shedding.triggers import TriggerLoad
from weft.stages.triggers import ScanTrigger

SECOND = 1_000_000


def trigger(load: TriggerLoad, **bounds: float) -> ScanTrigger:
    """A scan whose queries have bounds in seconds."""
    return ScanTrigger("scan-x", {name: int(bound * SECOND) for name, bound in bounds.items()}, load, True)


def test_bounds_below_the_shortest_trigger_are_missed():
    found = trigger(TriggerLoad(1.0, 0.5), vwap=5, high=1)  # T* = 1 / (1 − 0.5)
    assert (found.kept, found.missed) == (["vwap"], ["high"])
    assert found.to_dict() == {"scan": "scan-x", "shortest": 2.0, "fixed": 1.0, "rows": 0.5, "measured": True,
                               "keeps": ["vwap"], "misses": ["high"]}
    assert str(found) == ("scan-x: the shortest sustainable trigger is 2 s = 1 s / (1 − 0.5), measured by its last "
                          "stream: keeps vwap (every 5 s); misses high (every 1 s)")


@pytest.mark.parametrize(("load", "bounds", "chosen"), [
    (TriggerLoad(1.0, 0.5), {"a": 5, "b": 3}, "3000 milliseconds"),   # the shortest bound
    (TriggerLoad(1.0, 0.5), {"a": 5, "b": 1}, "2000 milliseconds"),   # what can be sustained
    (TriggerLoad(1.0, 1.5), {"a": 5}, "5000 milliseconds"),           # nothing can: as asked
])
def test_a_scan_is_triggered_as_often_as_its_queries_ask_if_it_can(load, bounds, chosen):
    assert trigger(load, **bounds).chosen == chosen


def test_rows_that_take_more_than_all_the_time_have_no_trigger():
    found = trigger(TriggerLoad(1.0, 1.5), a=5)
    assert found.to_dict()["shortest"] is None and found.missed == ["a"]
    assert "no trigger is long enough, for rows alone take 150% of the time" in str(found)


def test_the_catalog_keeps_what_the_last_stream_took(tmp_path):
    with open_catalog(tmp_path / "catalog.db", create=True) as catalog:
        assert trigger_loads(catalog) == {}
        keep_trigger_load(catalog, "scan-x", TriggerLoad(1.0, 0.1))
        keep_trigger_load(catalog, "scan-x", TriggerLoad(1.5, 0.25))
        assert trigger_loads(catalog) == {"scan-x": TriggerLoad(1.5, 0.25)}
