"""Sources: formats by name, by suffix and by the files in a folder, and what is said where that fails."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from weft.errors import SourceError
from weft.io.sources import locate_files


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One row in every format, each in a folder of its own."""
    folder = tmp_path_factory.mktemp("sources")
    rows = spark.createDataFrame([(datetime(2026, 3, 2, 8), "A", 1.5)], "ts timestamp, symbol string, price double")
    for format in ("parquet", "json", "orc"):
        rows.coalesce(1).write.format(format).save(str(folder / format))
    (folder / "one.csv").write_text("ts,symbol,price\n2026-03-02T08:00:00,A,1.5\n")
    return folder


@pytest.mark.parametrize(("name", "format"), [("parquet", None), ("json", "JSON"), ("orc", "orc"), ("one.csv", None)])
def test_every_format_is_read(spark: SparkSession, data: Path, name: str, format: str | None) -> None:
    frame = locate_files(data / name, format).read(spark)
    assert {field.name: field.dataType.simpleString() for field in frame.schema} == {
        "ts": "timestamp",
        "symbol": "string",
        "price": "double",
    }
    assert frame.count() == 1


def test_options_win(spark: SparkSession, data: Path) -> None:
    assert locate_files(data / "one.csv", options={"header": "false"}).read(spark).count() == 2


def test_a_pattern_is_spark_s_to_expand(spark: SparkSession, data: Path) -> None:
    assert locate_files(data / "*.csv").read(spark).count() == 1


@pytest.mark.parametrize(
    ("path", "format", "said"),
    [
        ("nowhere", None, "there is nothing at"),
        ("none/*.csv", None, "there is nothing at"),
        ("parquet", "delta", "unknown format 'delta': write parquet, csv, json or orc"),
        ("", None, "cannot tell the format of"),
        ("one.csv", "parquet", "cannot read"),
        ("*.orc", None, "cannot read"),
    ],
)
def test_what_cannot_be_read_is_said(
    spark: SparkSession, data: Path, path: str, format: str | None, said: str
) -> None:
    with pytest.raises(SourceError, match=said):
        locate_files(data / path, format).read(spark)
