"""Draws the tables and charts of the benches of final algorithms from the kept results; the words of pages stay.

    python bench/final_page.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pages
from common import RESULTS
from final_charts import CHARTS
from final_tables import SHEETS, broken


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
    """Writes the charts and tables of one bench."""
    measured = pages.describe_machine(results["machine"], ("python", "numpy", "numba"), "one thread")
    return pages.publish(name, SHEETS[name](results), CHARTS[name](results), measured)


def show(name: str, results: dict[str, Any]) -> None:
    """The tables on the terminal."""
    pages.show(SHEETS[name](results))


if __name__ == "__main__":
    main()
