"""The order of the packages, and the graph of their imports in docs/architecture.md: `python -m scripts.layers`."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE, PAGE = ROOT / "weft", ROOT / "docs" / "architecture.md"
# From the ground up: a package imports only from those before it.
LAYERS = ("errors", "aggregates", "model", "slicing", "sql", "cost", "optimize", "final", "extend", "stages", "local",
          "catalog", "io", "runner", "spark", "loom", "calibrate", "testing", "server", "cli")
BEGIN, END = "<!-- layers: made by `python -m scripts.layers` -->", "<!-- end of layers -->"


def imported(tree: ast.AST) -> set[str]:
    """The packages of Weft that a module imports, for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"weft.{a.name}" for a in node.names] if node.module == "weft" else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("weft.")}
    return found


def graph() -> dict[str, tuple[str, ...]]:
    """For each package those that it imports, in the order of the layers."""
    found = {}
    for layer in LAYERS:
        home = PACKAGE / layer
        files = sorted(home.rglob("*.py")) if home.is_dir() else [PACKAGE / f"{layer}.py"]
        used = set().union(*(imported(ast.parse(path.read_text())) for path in files))
        found[layer] = tuple(name for name in LAYERS if name in used and name != layer)
    return found


def table() -> str:
    """The graph as a table."""
    rows = [f"| `{name}` | {', '.join(f'`{used}`' for used in uses) or '–'} |" for name, uses in graph().items()]
    return "\n".join(["| package | imports from |", "|---|---|", *rows])


def page(text: str) -> str:
    """The page with the graph as it is now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
