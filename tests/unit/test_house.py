"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "weft"
FILES = sorted(PACKAGE.rglob("*.py"))
AT_HOME = ("spark", "io", "calibrate")  # calibrating times Spark itself


def imports(tree: ast.AST) -> set[str]:
    """The top-level packages that run-time imports name; imports for type checkers only do not count."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        found |= imports(node)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_only_spark_and_io_import_pyspark(path):
    room = path.relative_to(PACKAGE).parts[0]
    assert room in AT_HOME or not imports(ast.parse(path.read_text())) & {"pyspark", "py4j"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nothing_reaches_around_spark_connect(path):
    text = path.read_text()
    assert not any(word in text for word in ("._jvm", "._jdf", "._jsparkSession", ".sparkContext", ".rdd"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_readable(path):
    assert len(path.read_text().splitlines()) <= 400


def test_a_worker_imports_kernels_without_spark_or_sql():
    """What a worker imports decides how long its first batch waits."""
    heavy = "{'pyspark', 'sqlglot', 'numba', 'pandas'}"
    code = f"import sys, weft.final.fold.partition; print(sorted({heavy} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
