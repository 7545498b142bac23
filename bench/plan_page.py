"""Draws the tables and charts of docs/benchmarks/plans.md from the kept results; the words between them stay.

    python bench/plan_page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common import DOCS, RESULTS, save
from final_page import markdown, put
from plan_charts import CHARTS
from plan_tables import SHEETS
from rich.console import Console
from rich.table import Table

PAGE = DOCS / "plans.md"


def main() -> None:
    """Redraws everything that has results."""
    for name in SHEETS:
        path = RESULTS / f"{name}.json"
        if path.is_file():
            print(f"{name}: {publish(name, json.loads(path.read_text()))}")


def publish(name: str, results: dict[str, Any]) -> Path:
    """Writes the chart of one bench and puts its tables into the page."""
    if name in CHARTS:
        save(DOCS / f"{name.replace('plan_', 'plans_')}.svg", CHARTS[name](results))
    page = PAGE.read_text()
    for sheet in SHEETS[name](results):
        page = put(page, sheet.section, "\n".join(markdown(sheet)))
    return save(PAGE, put(page, f"machine {name}", environment(results["machine"])))


def environment(this: dict[str, Any]) -> str:
    """When, where and with what it was measured."""
    return (f"Measured on {this['date']}: {this['cores']} cores ({this['processor']}), {this['memory_gib']} GiB, "
            f"{this['system']}; python {this['python']}, numpy {this['numpy']}; one thread, processor time. Load of "
            f"the machine when it began: {this['load']}.")


def show(name: str, results: dict[str, Any]) -> None:
    """The tables on the terminal."""
    console = Console(width=None if Console().is_terminal else 200)
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
