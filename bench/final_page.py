"""Draws the tables and charts of docs/benchmarks/final.md from the kept results; the words between them stay.

    python bench/final_page.py
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from common import DOCS, RESULTS, save
from final_charts import CHARTS
from final_tables import SHEETS, Sheet, broken
from rich.console import Console
from rich.table import Table

PAGE = DOCS / "final.md"


def main() -> None:
    """Redraws everything that has results; ends with code 1 if these say that a legal member breaks its bound."""
    kept = {name: json.loads(path.read_text()) for name in SHEETS if (path := RESULTS / f"{name}.json").is_file()}
    for name, results in kept.items():
        print(f"{name}: {publish(name, results)}")
    refuse_broken(kept.get("final_numerics", {"errors": []}))


def refuse_broken(results: dict[str, Any]) -> None:
    """Ends with code 1, and says where, if a member that may fold doubles breaks the bound."""
    cases = [f"{e['member']} over {e['window']:,} slices of {e['data']}" for e in broken(results)]
    if cases:
        sys.exit(f"LEGAL, FAILS: {'; '.join(cases)}")


def publish(name: str, results: dict[str, Any]) -> Path:
    """Writes the charts of one bench and puts its tables into the page."""
    for chart, drawing in CHARTS[name](results).items():
        save(DOCS / f"{chart}.svg", drawing)
    page = PAGE.read_text()
    for sheet in SHEETS[name](results):
        page = put(page, sheet.section, "\n".join(markdown(sheet)))
    return save(PAGE, put(page, f"machine {name}", environment(results["machine"])))


def put(page: str, section: str, text: str) -> str:
    """The page with another text between the marks of a section."""
    found = re.compile(rf"(<!-- {re.escape(section)} -->\n).*?(<!-- end -->)", re.DOTALL)
    return found.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page)


def markdown(sheet: Sheet) -> list[str]:
    """A table as lines of Markdown, and its notes."""
    rule = ["---"] + ["---:"] * (len(sheet.headings) - 1)
    table = [f"| {' | '.join(row)} |" for row in (sheet.headings, rule, *sheet.rows)]
    return [f"**{sheet.title}**", "", *table, *(line for note in sheet.notes for line in ("", note))]


def environment(this: dict[str, Any]) -> str:
    """When, where and with what it was measured."""
    versions = ", ".join(f"{name} {this[name]}" for name in ("python", "numpy", "numba"))
    return (f"Measured on {this['date']}: {this['cores']} cores ({this['processor']}), {this['memory_gib']} GiB, "
            f"{this['system']}; {versions}; one thread. Load of the machine when it began: {this['load']}.")


def show(name: str, results: dict[str, Any]) -> None:
    """The tables on the terminal."""
    console = Console(width=None if Console().is_terminal else 220)
    for sheet in SHEETS[name](results):
        table = Table(title=sheet.title, title_justify="left")
        for number, heading in enumerate(sheet.headings):
            table.add_column(heading, justify="right" if number else "left")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table)
        for note in sheet.notes:
            console.print(note, markup=False)


if __name__ == "__main__":
    main()
