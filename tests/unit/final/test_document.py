"""docs/algorithms.md: made from the cards, and up to date."""

from __future__ import annotations

from pathlib import Path

from scripts.algorithms_page import BEGIN, END, cards, main, renewed
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.base import LINEAR, TABLED

PAGE = Path(__file__).parents[3] / "docs" / "algorithms.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_up_to_date():
    assert renewed(TEXT) == TEXT, "run: python -m scripts.algorithms_page"


def test_the_page_holds_every_algorithm_and_the_bounds():
    assert all(f"| `{a.card.name}` |" in TEXT and f"\n### {a.card.name}" in TEXT for a in ALGORITHMS)
    assert f"{LINEAR:,} slices" in TEXT and f"{TABLED:,} slices" in TEXT
    assert LINEAR * 2.0**-53 < 1e-12


def test_tables_are_whole():
    rows = [line for line in cards().splitlines() if line.startswith("|")]
    assert len(rows) == len(ALGORITHMS) + 2 and len({row.count("|") for row in rows}) == 1


def test_the_command_renews_the_cards_and_nothing_else(tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["document", str(page)])
    main()
    assert page.read_text(encoding="utf-8") == f"before\n{BEGIN}\n{cards()}\n{END}\nafter\n"
