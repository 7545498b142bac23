"""The pages of benchmarks: how long they may be, what each says, and that the kept results draw them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCH, DOCS = ROOT / "bench", ROOT / "docs" / "benchmarks"
PAGES = sorted(path for path in DOCS.glob("*.md") if path.name != "README.md")
DRAWN = ("final_page", "plan_page", "joins_page", "growth_page")


@pytest.fixture
def pages(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    import pages

    return pages


@pytest.mark.parametrize("path", [*PAGES, DOCS / "README.md"], ids=lambda path: path.stem)
def test_a_page_is_short(pages, path):
    assert len(path.read_text().splitlines()) <= pages.LONGEST


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_names_its_command_and_is_in_the_list(path):
    bench = re.search(r"bench/(\w+)\.py", path.read_text())
    assert bench and (BENCH / f"{bench[1]}.py").is_file()
    assert f"]({path.name})" in (DOCS / "README.md").read_text()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_links_of_a_page_lead_somewhere(path):
    targets = re.findall(r"\]\(([^)#]+)\)", path.read_text())
    assert not [target for target in targets if "://" not in target and not (DOCS / target).exists()]


def test_pages_and_tables_are_drawn_from_the_kept_results(pages, monkeypatch, tmp_path):
    for path in DOCS.glob("*.md"):  # what is between marks goes, and comes back
        text = re.sub(r"(<!-- (?!end).*? -->\n).*?(<!-- end -->)", r"\1\2", path.read_text(), flags=re.DOTALL)
        (tmp_path / path.name).write_text(text)
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    for name in DRAWN:
        import_module(name).main()
    assert texts(tmp_path) == texts(DOCS)
    assert texts(tmp_path / "results") == texts(BENCH / "results")


def texts(folder: Path) -> dict[str, str]:
    """The pages and charts of a folder by name."""
    return {path.name: path.read_text() for kind in ("*.md", "*.svg") for path in folder.glob(kind)}


@pytest.mark.parametrize("name", DRAWN)
def test_a_bench_runs_without_the_checkout_on_the_path(name, tmp_path):
    """As `python bench/<name>.py` does, where Weft is installed and examples are not."""
    clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    code = f"import sys; sys.path[0] = {str(BENCH)!r}; import {name}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
