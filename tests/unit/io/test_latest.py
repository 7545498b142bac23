"""The latest rows and lines of folders: of every format, the newest last, as JSON has them."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, orc
from pyarrow import parquet as pq

from weft.errors import RunError
from weft.io.latest import LatestRows, latest_lines, latest_rows, plain_value


def write(path: Path, format: str, numbers: list[int], when: int) -> None:
    table = pa.table({"n": numbers, "name": [f"r{n}" for n in numbers]})
    if format == "json":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        {"parquet": pq.write_table, "csv": csv.write_csv, "orc": orc.write_table}[format](table, path)
    os.utime(path, (when, when))


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_the_last_rows_of_the_newest_files(tmp_path: Path, format: str) -> None:
    for number in range(3):
        write(tmp_path / f"trigger-{number}", format, [10 * number + i for i in range(4)], 1000 + number)
    (tmp_path / "_weft_result").write_text("no answers")
    (tmp_path / ".hidden").write_text("no answers")
    found = latest_rows(str(tmp_path), format, 6)
    assert [row[0] for row in found.rows] == [12, 13, 20, 21, 22, 23] and found.more
    assert [name for name, _ in found.columns] == ["n", "name"]
    whole = latest_rows(str(tmp_path), format, 100)
    assert len(whole.rows) == 12 and not whole.more
    assert latest_rows(str(tmp_path / "none"), format, 5) == LatestRows()


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": list(range(1000))}), tmp_path / "a", row_group_size=10)
    assert [row[0] for row in latest_rows(str(tmp_path), "parquet", 3).rows] == [997, 998, 999]


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("no parquet")
    with pytest.raises(RunError, match="cannot be read"):
        latest_rows(str(tmp_path), "parquet", 3)


@pytest.mark.parametrize(("value", "plain"), [
    (float("nan"), "nan"), (float("inf"), "inf"), (1.5, 1.5), (Decimal("1.10"), "1.10"), (None, None), (True, True),
    (datetime(2024, 5, 1, 12, tzinfo=UTC), "2024-05-01T12:00:00+00:00"), (date(2024, 5, 1), "2024-05-01"),
    (b"\xff", "ff"), ([1.0, {"a": float("nan")}], [1.0, {"a": "nan"}]),
])
def test_values_are_such_as_json_has(value: object, plain: object) -> None:
    assert plain_value(value) == plain and json.dumps(plain_value(value), allow_nan=False)


def test_the_last_lines(tmp_path: Path) -> None:
    for number, folder in enumerate(("scan-1", "scan-2", "scan-1")):  # a folder a scan, as streams write them
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{number}.jsonl").write_text(f"a{number}\nb{number}\n")
        os.utime(tmp_path / folder / f"{number}.jsonl", (1000 + number, 1000 + number))
    assert latest_lines(str(tmp_path), 3) == ["b1", "a2", "b2"] and latest_lines(str(tmp_path / "none"), 3) == []
