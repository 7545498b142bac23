"""Draws the tables and charts of the benches of plans from the kept results; the words of pages stay.

    python bench/plan_page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pages
from common import RESULTS
from plan_charts import CHARTS
from plan_tables import SHEETS


def main() -> None:
    """Redraws everything that has results."""
    for name in SHEETS:
        path = RESULTS / f"{name}.json"
        if path.is_file():
            print(f"{name}: {publish(name, json.loads(path.read_text()))}")


def publish(name: str, results: dict[str, Any]) -> Path:
    """Writes the chart and tables of one bench."""
    charts = {name: CHARTS[name](results)} if name in CHARTS else {}
    how = "Spark on both cores, wall clock" if name == "schedules_real" else "one thread, processor time"
    measured = pages.describe_machine(results["machine"], ("python", "numpy"), how)
    return pages.publish(name, SHEETS[name](results), charts, measured)


def show(name: str, results: dict[str, Any]) -> None:
    """The tables on the terminal."""
    pages.show(SHEETS[name](results))


if __name__ == "__main__":
    main()
