"""What docs import is what `weft` exports."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

import weft
from tests.harness.pages import ROOT, blocks
from weft import extend

# Pages for those who change Weft itself: they name its insides.
INSIDE = {"docs/architecture.md", "docs/glossary.md"}
PAGES = [path for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")))
         if str(path.relative_to(ROOT)) not in INSIDE and "decisions" not in path.parts]


def imports(code: str) -> Iterator[tuple[str, str]]:
    """The modules of Weft that a piece of code imports from, and the names."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "weft":
            yield from ((node.module or "", alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("weft."))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_what_weft_exports(page):
    exported = {"weft": weft.__all__, "weft.extend": extend.__all__}
    for code in blocks(page, "python"):
        assert [found for found in imports(code) if found[1] not in exported.get(found[0], ())] == []


def test_the_pages_import_something():
    found = {name for page in PAGES for code in blocks(page, "python") for _, name in imports(code)}
    assert found > {"Loom", "KafkaSink"}


def test_every_export_is_there():
    assert set(weft.__all__) == set(weft._HOMES)
    assert all(getattr(weft, name).__name__ == name for name in weft.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Lom'"):
        _ = weft.Lom
