"""Compacting the sink of a real stream: the same rows before and after, and none twice when it goes on."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

import weft
from tests.spark.test_stream import TRADES, drop, trade
from weft import Loom
from weft.errors import RunError
from weft.spark.compact import run
from weft.spark.compact.merge import merge_files
from weft.spark.session.session import temporary_settings

QUERIES = {
    "volume": "SELECT symbol, window.end AS at, sum(size) AS volume FROM trades "
              "GROUP BY symbol, window(ts, '20 seconds', '5 seconds')",
    "high": "SELECT symbol, window, max(price) AS high, CAST(avg(size) AS DECIMAL(12, 3)) AS mean FROM trades "
            "GROUP BY symbol, window(ts, '10 seconds', '5 seconds')",
}
KINDS = {"volume": "symbol string, at timestamp, volume bigint",
         "high": "symbol string, window struct<start: timestamp, end: timestamp>, high double, mean decimal(12, 3)"}


@pytest.fixture(autouse=True)
def no_grace(monkeypatch):
    monkeypatch.setattr(run, "GRACE", 0.0)


def loom_over(spark, folder: Path) -> Loom:
    loom = Loom(spark)
    loom.source("trades", str(folder), time="ts", format="json", schema=TRADES, watermark="0 seconds",
                options={"maxFilesPerTrigger": "1"})
    for name, text in QUERIES.items():
        loom.query(name, text)
    return loom


def rows(spark, format: str, sink: Path) -> dict[str, list]:
    """What a reader of the folders finds."""
    return {name: sorted(map(repr, spark.read.format(format).schema(KINDS[name]).load(f"{sink}/{name}").collect()))
            for name in QUERIES}


def trigger_files(sink: Path, name: str) -> list[str]:
    return sorted(path.name for path in (sink / name).iterdir() if path.name.startswith(("trigger-", "compacted-")))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("format", ["parquet", pytest.param("orc", marks=pytest.mark.long),
                                    pytest.param("json", marks=pytest.mark.long)])
def test_a_stream_goes_on_while_its_files_are_compacted(spark, tmp_path, format):
    folder, sink, place = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    loom, target = loom_over(spark, folder), {"format": format, "path": str(sink)}

    def feed(start: int, count: int) -> None:
        for i in range(start, start + count):
            drop(folder, trade(7 * i, size=i), trade(7 * i, "b", size=2 * i))
            stream.processAllAvailable()

    with loom.start(place, target) as stream:
        feed(0, 5)
        before, many = rows(spark, format, sink), trigger_files(sink, "volume")
        (sink / "volume" / "_notes").write_text("mine")
        planned = weft.compact(sink, dry_run=True)
        assert rows(spark, format, sink) == before and trigger_files(sink, "volume") == many
        with temporary_settings(spark, {"spark.sql.files.ignoreCorruptFiles": "true"}):
            assert weft.compact(sink, spark=spark) == planned
        assert rows(spark, format, sink) == before
        newest = [name for name in many if name.split("-")[1] == many[-1].split("-")[1]]
        assert trigger_files(sink, "volume")[1:] == newest and len(many) > len(newest) + 1
        feed(5, 3)
        weft.compact(sink, ["high"])
    with loom.start(place, target) as stream:
        feed(8, 2)
        weft.compact(sink)
        feed(100, 1)
    assert (sink / "volume" / "_notes").read_text() == "mine"
    batch = loom.run()
    closed = {name: batch[name] for name in QUERIES}
    last = "at < '2026-01-01T00:11:40Z'", "window.end < '2026-01-01T00:11:40Z'"
    want = {name: sorted(map(repr, frame.where(end).collect()))
            for (name, frame), end in zip(closed.items(), last, strict=True)}
    found = rows(spark, format, sink)
    assert found == want and all(want.values())
    assert all(len(trigger_files(sink, name)) < 8 for name in QUERIES)
    loom.close()


def test_types_come_through_a_merge_and_what_does_not_fit_is_refused(spark, tmp_path):
    row = (datetime(1, 1, 2, tzinfo=UTC), Decimal("1.50"), b"\x00", None, {"a": [1, None]}, float("nan"))
    kinds = "t timestamp, `D x` decimal(38, 2), d binary, D string, m map<string, array<int>>, f float"
    ntz = "timestamp_ntz'0001-02-03 04:05:06.789' AS ntz, date'0001-02-03' AS day, interval '5' day AS i"
    with temporary_settings(spark, {"spark.sql.caseSensitive": "true"}):
        frame = spark.createDataFrame([row], kinds).selectExpr("*", *ntz.split(", "))
        for name in ("a b{1}", "c"):
            frame.coalesce(1).write.parquet(str(tmp_path / name))
    spark.range(1).coalesce(1).write.parquet(str(tmp_path / "other"))
    one, two, other = (str(next((tmp_path / name).glob("part-*"))) for name in ("a b{1}", "c", "other"))
    merge_files(spark, [one, two], "snappy.parquet", str(tmp_path / "merged"))
    with temporary_settings(spark, {"spark.sql.caseSensitive": "true"}):
        merged = spark.read.parquet(str(tmp_path / "merged"))
        assert merged.schema == spark.read.parquet(two).schema
        assert repr(merged.collect()) == repr(spark.read.parquet(two).collect() * 2)
    (tmp_path / "c" / "torn.parquet").write_bytes(Path(two).read_bytes()[:-9])
    with pytest.raises(RunError, match=r"cannot be merged: .*torn\.parquet.* Nothing was changed"):
        merge_files(spark, [two, str(tmp_path / "c" / "torn.parquet")], "snappy.parquet", str(tmp_path / "torn"))
    with pytest.raises(RunError, match="holds files with other columns or types than the rest"):
        merge_files(spark, [two, other], "snappy.parquet", str(tmp_path / "mixed"))
