"""Output rows of a stream that workers make: files beside those that Spark writes, each row once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.differential import collect, compare
from tests.spark.test_stream import drop
from weft import Loom
from weft.spark.stream.answer_counts import read_counts

SCHEMA = "ts timestamp, day date, symbol string, size bigint"
WINDOW = "window(ts, '20 seconds', '10 seconds')"
QUERIES = {
    # Workers make its rows, but for days before 1900.
    "by_day": f"SELECT day, window.end AS at, sum(size) AS volume FROM t GROUP BY day, {WINDOW}",
    "large": f"SELECT day, window.end AS at, sum(size) AS volume FROM t GROUP BY day, {WINDOW} HAVING sum(size) > 5",
    # Spark alone has its functions.
    "names": f"SELECT upper(symbol) || '!' AS name, count(*) AS n FROM t GROUP BY symbol, {WINDOW}",
}


def row(second: int, day: str, size: int) -> str:
    """A row as a line of JSON."""
    at = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
    return json.dumps({"ts": at, "day": day, "symbol": f"s{size % 3}", "size": size})


def triggers() -> list[list[str]]:
    """Days of every kind at first, new ones alone, old ones again, and a row that closes all windows."""
    new, old = [f"20{i:02d}-03-01" for i in range(8)], [f"18{i:02d}-03-01" for i in range(10, 14)]
    made = [[row(10 * i + j % 10, day, i + j) for j, day in enumerate(days)]
            for i, days in enumerate((new + old, new, new, old, new + old))]
    return [*made, [row(500, "2030-01-01", 1)]]


def make_loom(spark, folder: Path, names: list[str]) -> Loom:
    """A loom over the files of a folder."""
    loom = Loom(spark)
    loom.source("t", str(folder), time="ts", format="json", schema=SCHEMA, watermark="0 seconds")
    for name in names:
        loom.query(name, QUERIES[name])
    return loom


def count_answers(stream) -> int:
    """How many answers Spark's progress tells of, once for each trigger: an idle stream repeats its last."""
    told = {(scan.name, p.batchId): read_counts(p.observedMetrics["answers"].counts, scan.labels)
            for scan in stream.scans for p in scan.query.recentProgress if p.observedMetrics}
    return sum(count for counts in told.values() for _, count in counts)


@pytest.mark.parametrize("names", [pytest.param(["by_day", "large"], marks=pytest.mark.long),
                                   ["by_day", "large", "names"]])
@pytest.mark.usefixtures("interpreted")
def test_rows_made_by_workers_and_by_spark_are_the_batch_runs_together(spark, tmp_path, names):
    """Some buckets of a trigger hold days that only Spark writes; dead letters come in the same report."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    loom = make_loom(spark, folder, names)
    with loom.start(tmp_path / "checkpoint", str(out), dead_letters=str(tmp_path / "dead")) as stream:
        for lines in triggers():
            drop(folder, *lines, '{"ts": broken')
            stream.processAllAvailable()
        told = count_answers(stream)
    rows = [line for lines in triggers()[:-1] for line in lines]
    batch = Loom(spark)
    batch.source("t", spark.read.schema(SCHEMA).json(spark.sparkContext.parallelize(rows)), time="ts")
    for name in names:
        batch.query(name, QUERIES[name])
    ours = collect({name: spark.read.parquet(str(out / name)) for name in names})
    theirs = collect(dict(batch.run()))
    assert [line for name in names for line in compare(name, ours[name], theirs[name])] == []
    assert not list(out.glob("_weft_staging*"))
    assert told == len(theirs["by_day"]) * 2 + len(theirs.get("names", ()))  # before HAVING
    letters = [line for file in (tmp_path / "dead").rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert len(letters) == len(triggers()) * len(stream.scans)
    loom.close()
    batch.close()


@pytest.mark.usefixtures("interpreted")
def test_a_sink_that_keeps_nothing_still_counts_every_answer(spark, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    loom = make_loom(spark, folder, ["by_day"])
    with loom.start(tmp_path / "checkpoint", "noop") as stream:
        for lines in ([row(1, "2020-01-01", 2), row(2, "2021-01-01", 3)], [row(300, "2020-01-01", 1)]):
            drop(folder, *lines)
            stream.processAllAvailable()
        told = count_answers(stream)
    assert told == 4  # two days in two windows each
    loom.close()
