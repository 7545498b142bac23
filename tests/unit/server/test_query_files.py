"""Files of queries that the service keeps: by safe names, whole, and never over somebody's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.server.query_files import QueryFiles, require_name, require_sql, without_mark
from weft.server.replies import RefusedRequest


@given(st.text(max_size=80))
def test_a_name_stays_in_its_folder(name: str) -> None:
    try:
        path = QueryFiles(Path("/somewhere")).path(name)
    except RefusedRequest:
        return
    assert path.parent == Path("/somewhere") and path.name == f"{name}.sql" and name.isascii() and len(name) <= 64


@pytest.mark.parametrize("name", ["", "..", "../a", "a/b", "a\\b", ".a", "-a", "a.b", "a b", "a\n", "ä", "nul", "COM1",
                                  "a" * 65, "a\0"])
def test_strange_names_are_refused(name: str) -> None:
    with pytest.raises(RefusedRequest, match="cannot name a query"):
        require_name(name)


def test_a_name_is_one_query_in_whatever_case() -> None:
    with pytest.raises(RefusedRequest, match="already a query 'Vwap'"):
        require_name("vwap", ["Vwap"])


def test_what_is_written_is_the_services_until_it_is_edited(tmp_path: Path) -> None:
    files = QueryFiles(tmp_path / "queries")
    files.write("high", "SELECT 1")
    path = tmp_path / "queries" / "high.sql"
    assert files.is_ours("high") and without_mark(path.read_text()) == "SELECT 1"
    files.write("high", "SELECT 2\nFROM x")
    assert without_mark(path.read_text()) == "SELECT 2\nFROM x"
    assert [found.name for found in path.parent.iterdir()] == ["high.sql"]
    path.write_text(path.read_text().replace("SELECT 2", "SELECT 3"))
    assert not files.is_ours("high")
    with pytest.raises(RefusedRequest, match="edited by hand"):
        files.write("high", "SELECT 4")
    files.remove("high")
    assert "SELECT 3" in path.read_text()


def test_somebodys_own_file_stays(tmp_path: Path) -> None:
    files = QueryFiles(tmp_path)
    (tmp_path / "mine.sql").write_text("SELECT 1\n")
    os.symlink(tmp_path / "mine.sql", tmp_path / "link.sql")
    for name in ("mine", "link"):
        with pytest.raises(RefusedRequest, match="was not written here"):
            files.write(name, "SELECT 2")
        files.remove(name)
    assert (tmp_path / "mine.sql").read_text() == "SELECT 1\n" and (tmp_path / "link.sql").is_symlink()


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = QueryFiles(tmp_path)
    files.write("high", "SELECT 1")
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        files.write("high", "SELECT 2")
    assert [p.name for p in tmp_path.iterdir()] == ["high.sql"]
    assert without_mark((tmp_path / "high.sql").read_text()) == "SELECT 1"


@pytest.mark.parametrize("sql", ["SELECT 1\n-- name: other\nSELECT 2", "  --  name:x\nSELECT", "SELECT '\0'"])
def test_one_text_is_one_query(sql: str) -> None:
    with pytest.raises(RefusedRequest, match="SQL of one query"):
        require_sql(sql)
    with pytest.raises(RefusedRequest, match="64 KiB"):
        require_sql("x" * 70_000)
    assert require_sql("\r\nSELECT 1\r\nFROM x\r\n") == "\nSELECT 1\nFROM x"
