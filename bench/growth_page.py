"""Draws the tables and the chart of how cost grows from the kept results; the words of its page stay.

    python bench/growth_page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pages
from common import RESULTS
from final_tables import Sheet
from plots import Line, Panel, chart

Results = dict[str, Any]

NAME = "growth"
AXES = {"rows": "rows (100 queries, 1000 keys)", "keys": "keys (10 queries, 2 million rows)",
        "queries": "queries (1000 keys, 2 million rows)", "cluster": "workers of one core (100 queries)"}
LINES = {"weft": "Weft, warm", "one_pass": "one pass", "first": "Weft, first run"}


def main() -> None:
    """Redraws everything."""
    print(f"{NAME}: {publish(json.loads((RESULTS / f'{NAME}.json').read_text()))}")


def publish(results: Results) -> Path:
    """Writes the chart and the tables."""
    measured = pages.describe_machine(results["machine"], ("pyspark", "pyarrow", "numpy"),
                                      f"best of {results['repeat']} later runs")
    return pages.publish(NAME, sheets(results), {NAME: draw(results)}, measured)


def show(results: Results) -> None:
    """The tables of what was measured on the terminal."""
    pages.show(sheets(results))


def sheets(results: Results) -> list[Sheet]:
    """A table for each axis that was measured."""
    return [axis_sheet(axis, results[axis]) for axis in AXES if axis in results]


def axis_sheet(axis: str, found: list[dict[str, Any]]) -> Sheet:
    """What was measured along an axis."""
    heads = (AXES[axis].split(" (")[0], "add and plan s", "first run s", "warm s", "processor s", "one pass s",
             "× one pass")
    rows = [[f"{each[value_of(axis)]:,}", *(f"{each[name]['wall']:.2f}" for name in ("add", "first", "weft")),
             f"{each['weft']['cpu']:.1f}", f"{each['one_pass']['wall']:.2f}",
             f"{each['weft']['wall'] / each['one_pass']['wall']:.2f}"] for each in found]
    return Sheet(f"growth {axis}", f"By {AXES[axis]}", heads, rows)


def value_of(axis: str) -> str:
    """What a point has along an axis."""
    return "workers" if axis == "cluster" else axis


def draw(results: Results) -> str:
    """A panel an axis: first run, later runs, one pass."""
    panels = []
    for axis, title in AXES.items():
        lines = [Line(text, [(each[value_of(axis)], each[name]["wall"]) for each in results[axis]], i,
                      dashed=name == "one_pass") for i, (name, text) in enumerate(LINES.items())]
        panels.append(Panel(title, title.split(" (")[0], "seconds", lines))
    return chart("How cost grows", panels)


if __name__ == "__main__":
    main()
