"""The pages of benchmarks: short ones for readers in docs/benchmarks, and all tables beside the raw results.

A page of docs/benchmarks is written by hand but for what lies between marks, `<!-- section -->` and `<!-- end -->`: a
table by its section, or the machine by `machine <bench>`. Publishing a bench fills its marks in every page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from common import DOCS, RESULTS, save
from final_tables import Sheet
from rich.console import Console
from rich.table import Table

LONGEST = 120  # lines of a page: a question, a command, a chart, one table, a verdict


def publish(name: str, sheets: Iterable[Sheet], charts: Mapping[str, str], environment: str) -> Path:
    """Writes a bench's charts and all its tables, and fills the marks of the pages that show some of them."""
    for chart, drawing in charts.items():
        save(DOCS / f"{chart}.svg", drawing)
    sections = {f"machine {name}": environment, **{s.section: "\n".join(markdown(s)) for s in sheets}}
    for path in sorted(DOCS.glob("*.md")):
        fill(path, sections)
    return save(RESULTS / f"{name}.md", tables_page(name, sections.values()))


def fill(path: Path, sections: Mapping[str, str]) -> None:
    """Puts the texts of sections between their marks in one page."""
    page = filled = path.read_text()
    for section, text in sections.items():
        filled = put(filled, section, text)
    if filled != page:
        save(path, filled)


def put(page: str, section: str, text: str) -> str:
    """The page with another text between the marks of a section."""
    found = re.compile(rf"(<!-- {re.escape(section)} -->\n).*?(<!-- end -->)", re.DOTALL)
    return found.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page)


def fill_numbers(path: Path, table: str) -> None:
    """Puts the table of a bench that is run by hand between its marks in a page."""
    found = re.compile(r"(<!-- numbers:begin -->\n).*?(<!-- numbers:end -->)", re.DOTALL)
    save(path, found.sub(lambda m: f"{m[1]}{table}\n{m[2]}", path.read_text()))


def tables_page(name: str, texts: Iterable[str]) -> str:
    """All tables of a bench, for those who want every figure."""
    return "\n\n".join((f"# All tables of `bench/{name}.py`", *texts)) + "\n"


def markdown(sheet: Sheet) -> list[str]:
    """A table as lines of Markdown, and its notes."""
    rule = ["---"] + ["---:"] * (len(sheet.headings) - 1)
    table = [f"| {' | '.join(row)} |" for row in (sheet.headings, rule, *sheet.rows)]
    return [f"**{sheet.title}**", "", *table, *(line for note in sheet.notes for line in ("", note))]


def describe_machine(this: Mapping[str, Any], packages: Iterable[str], how: str) -> str:
    """When, where, with what and how it was measured."""
    versions = ", ".join(f"{name} {this[name]}" for name in packages)
    return (f"Measured on {this['date']}: {this['cores']} cores ({this['processor']}), {this['memory_gib']} GiB, "
            f"{this['system']}; {versions}; {how}. Load of the machine when it began: {this['load']}.")


def show(sheets: Iterable[Sheet]) -> None:
    """The tables on the terminal."""
    console = Console(width=None if Console().is_terminal else 220)
    for sheet in sheets:
        table = Table(title=sheet.title, title_justify="left")
        for number, heading in enumerate(sheet.headings):
            table.add_column(heading, justify="right" if number else "left")
        for row in sheet.rows:
            table.add_row(*row)
        console.print(table)
        for note in sheet.notes:
            console.print(note, markup=False)
