"""How large the code is, package by package: `python -m scripts.measure_code`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from scripts.layers import LAYERS, PACKAGE, graph

COLUMNS = ("package", "files", "lines", "function: median", "90 %", "file: median", "90 %", "imports", "most methods")


def functions(tree: ast.AST) -> Iterator[int]:
    """The lines of every function and method, without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            doc = node.body[0] if ast.get_docstring(node) else None
            yield (node.end_lineno or 0) - node.lineno + 1 - ((doc.end_lineno or 0) - doc.lineno + 1 if doc else 0)


def methods(tree: ast.AST) -> int:
    """The public methods and properties of the largest class."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return max((sum(isinstance(n, ast.FunctionDef) and not n.name.startswith("_") for n in c.body) for c in classes),
               default=0)


def high(values: list[int]) -> float:
    """The 90th percentile."""
    return quantiles(values, n=10)[-1] if len(values) > 1 else float(values[0] if values else 0)


def row(name: str, files: list[Path], fan_out: int) -> tuple:
    """The figures of one package."""
    trees = [ast.parse(path.read_text()) for path in files]
    sizes = [len(path.read_text().splitlines()) for path in files]
    lengths = [length for tree in trees for length in functions(tree)] or [0]
    return (name, len(files), sum(sizes), median(lengths), high(lengths), median(sizes), high(sizes), fan_out,
            max(map(methods, trees)))


def rows() -> Iterator[tuple]:
    """The figures of every package, and of all of them."""
    fan_out = graph()
    every = sorted(PACKAGE.rglob("*.py"))
    for layer in LAYERS:
        home = PACKAGE / layer
        files = sorted(home.rglob("*.py")) if home.is_dir() else [PACKAGE / f"{layer}.py"]
        yield row(layer, files, len(fan_out[layer]))
    yield row("all", every, sum(map(len, fan_out.values())))


def main() -> None:
    """Prints the table."""
    table = [COLUMNS, *([f"{v:g}" if not isinstance(v, str) else v for v in each] for each in rows())]
    widths = [max(len(line[i]) for line in table) for i in range(len(COLUMNS))]
    for line in table:
        print("  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)))


if __name__ == "__main__":
    main()
