"""The layers of the house: every import goes down, and docs/architecture.md shows the graph as it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.layers import LAYERS, PACKAGE, graph, imported, page

FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_down(path):
    """A module imports from its own package and from those before it in LAYERS only."""
    home = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if home == "__init__":
        return
    above = LAYERS[LAYERS.index(home) + 1 :]
    assert not imported(ast.parse(path.read_text())) & set(above)


def test_every_package_has_a_layer():
    """A new package stands somewhere in the order."""
    names = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in FILES} - {"__init__"}
    assert names == set(LAYERS)


def test_the_page_shows_the_graph():
    """`python -m scripts.layers` writes it anew."""
    text = Path(__file__).parents[2].joinpath("docs/architecture.md").read_text()
    assert page(text) == text
    assert graph()["errors"] == ()
