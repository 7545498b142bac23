"""Query files: names, several queries in a file, and places that stay those of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.cli.faults import fault_of
from weft.cli.queries import QuerySet, missing, read_queries
from weft.errors import ParseError, Place, PlanError


def read(folder: Path, **files: str) -> QuerySet:
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return read_queries(folder, ["*.sql"])


def test_a_file_is_a_query_named_after_it(tmp_path: Path) -> None:
    (query,) = read(tmp_path, vwap="-- about\nSELECT 1").queries
    assert (query.name, query.sql, query.file, query.skipped) == ("vwap", "-- about\nSELECT 1", "vwap.sql", 0)


def test_name_lines_split_a_file(tmp_path: Path) -> None:
    found = read(tmp_path, many="-- all\n\n-- name: a\nSELECT 1\n\n  --name:  b.2 \nSELECT 2;\n")
    assert [(query.name, query.sql.strip(), query.skipped) for query in found.queries] == [
        ("a", "SELECT 1", 3),
        ("b.2", "SELECT 2;", 6),
    ]
    assert not found.faults


def test_carriage_returns_do_not_enter_names(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"-- name: x\r\nSELECT 1\r\n")
    assert [query.name for query in read(tmp_path).queries] == ["x"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a": "-- name: ../x\nSELECT 1"}, "a.sql:1: '../x' is no name for a query."),
        ({"a": "-- name: .x\nSELECT 1"}, "'.x' is no name"),
        ({"a": "-- name:\nSELECT 1"}, "'' is no name"),
        ({"a": "-- name: a/b\nSELECT 1"}, "'a/b' is no name"),
        ({"9": "SELECT 1"}, "9.sql:1: '9' is no name"),
        ({"a": "SELECT 1", "b": "\n-- name: a\nSELECT 2"}, "b.sql:2: query 'a': the name is taken by a.sql:1."),
        ({"a": "-- nothing\n;"}, "a.sql:1: query 'a': there is no SQL."),
        ({"a": "SELECT 1\n-- name: b\nSELECT 2"}, "a.sql:1: SQL stands before the first '-- name:' line."),
        ({}, "'*.sql' in queries.files matches no file."),
    ],
)
def test_faults_name_the_file_and_line(tmp_path: Path, files: dict[str, str], said: str) -> None:
    (fault,) = read(tmp_path, **files).faults
    assert said in str(fault)


def test_a_file_that_is_not_text_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"\xff\xfe\x00")
    (fault,) = read(tmp_path).faults
    assert str(fault).startswith("a.sql: cannot be read")


def test_a_place_in_a_query_becomes_the_place_in_its_file() -> None:
    fault = fault_of(ParseError("b", "no column 'x'.", place=Place(2, 8), hint="Write y."), "b", "many.sql", 6)
    assert str(fault) == "many.sql:8:8: query 'b': no column 'x'. Write y."
    assert (fault.line, fault.column, fault.kind) == (8, 8, "ParseError")


def test_an_error_without_a_place_stands_at_the_query() -> None:
    assert str(fault_of(PlanError("not legal"), "b", "many.sql", 6)) == "many.sql:7: query 'b': not legal."


def test_a_missing_name_gets_the_nearest(tmp_path: Path) -> None:
    queries = read(tmp_path, vwap="SELECT 1", other="SELECT 1").queries
    assert missing(queries, ["vwap"]) is None
    assert missing(queries, ["vwpa"]) == "there is no query 'vwpa'. Did you mean 'vwap'?"
