"""What the benches of final algorithms judge, and what their tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

BENCH = Path(__file__).parents[3] / "bench"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import final_page

    return final_page


def error(member: str, holds: bool, refused: str | None = None) -> dict:
    return {"member": member, "data": "tenths", "window": 262_144, "holds": holds, "refused": refused}


def test_a_legal_member_that_fails_fails_the_bench(page):
    with pytest.raises(SystemExit) as ended:
        page.refuse_broken({"errors": [error("flat_fat", True), error("b_int", False)]})
    assert ended.value.code == "LEGAL, FAILS: b_int over 262,144 slices of tenths"  # a text ends a process with code 1


def test_a_member_that_refuses_may_fail(page):
    page.refuse_broken({"errors": [error("flat_fat", True), error("prefix", False, "it subtracts")]})


def test_who_keeps_the_least_is_read_off_the_results(page):
    import final_tables

    kept = [{"member": "slick_deque", "case": "1…4", "kept": 104}, {"member": "flat_fit", "case": "1…4", "kept": 88},
            {"member": "b_int", "case": "1…4", "kept": 88}, {"member": "chain", "case": "1…4", "kept": 48}]
    assert final_tables.least_kept(kept, ["1…4"]).endswith("SlickDeque: 1…4: flat_fit and b_int 88 B (104 B).")
