"""`weft init`: a project that is complete, the same each time, and never written over another."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from weft.cli.init import ROWS, create_project
from weft.cli.project import load_project
from weft.cli.queries import read_queries
from weft.errors import ProjectError


def test_the_new_project_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / 'a "new" one'
    written = create_project(folder)
    assert all((folder / path).exists() for path in written)
    project = load_project(folder)
    assert project.name == folder.name
    found = read_queries(folder, project.files)
    assert len(found.queries) == 6 and not found.faults
    assert pq.read_table(project.sources[0].path).num_rows == ROWS


def test_the_data_are_the_same_each_time(tmp_path: Path) -> None:
    tables = []
    for name in ("a", "b"):
        create_project(tmp_path / name)
        tables.append(pq.read_table(tmp_path / name / "data" / "trades"))
    assert tables[0].equals(tables[1])


@pytest.mark.parametrize("there", ["weft.toml", "queries/vwap.sql", "data/trades/mine.parquet"])
def test_nothing_is_written_over_a_project(tmp_path: Path, there: str) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ProjectError, match="is there already"):
        create_project(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / there).read_text() == "mine"


def test_a_readme_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert "README.md" not in create_project(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"
