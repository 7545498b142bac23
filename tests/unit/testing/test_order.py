"""What one process runs of the tests, and when."""

from __future__ import annotations

from tests.fixtures.order import LONGEST, STOCK, group_of, place_of
from tests.fixtures.sessions import IN_BOTH
from tests.harness.pages import ROOT

BATCH = "tests/spark/test_batch.py::test_sinks"


def test_a_file_is_one_group_and_the_stock_session_another():
    assert group_of(f"{BATCH}[weft]") == group_of(f"{BATCH}[weft-json]") == "test_batch.py"
    assert {group_of(f"{BATCH}[{name}]") for name in ("stock", "stock-json", "json-stock")} == {STOCK}
    assert group_of(f"{BATCH}[weft-stocks]") == "test_batch.py"
    unit = "tests/unit/test_layers.py::test_a[stock]"
    assert group_of(unit) == unit


def test_what_is_short_fails_first_and_what_is_long_does_not_come_last():
    ids = ["tests/spark/test_new.py::test_a[weft]", f"{BATCH}[stock]", "tests/unit/test_layers.py::test_a"]
    assert sorted(ids, key=place_of) == ids[::-1]


def test_every_file_that_is_named_is_there():
    there = {path.name for folder in ("spark", "browser") for path in (ROOT / "tests" / folder).glob("test_*.py")}
    assert {*LONGEST, *IN_BOTH} <= {*there, STOCK}
