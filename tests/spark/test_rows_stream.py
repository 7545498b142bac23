"""Windows that count rows in a stream: over rows that the watermark has passed they answer what a batch does."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.spark.test_rows import NOON, SCHEMA, rows_of
from weft import Loom

SPAN = 40  # seconds that the rows of a trigger cover, half of which the next ones cover too
ITEMS = "window.start AS b, window.end AS e, sum(d) AS s, count(DISTINCT volume) AS v"
QUERIES = {
    "short": f"SELECT {ITEMS} FROM t [ROWS 7 SLIDE 3]",
    "long": f"SELECT {ITEMS} FROM t [ROWS 60 SLIDE 4]",
    "some": "SELECT price AS p, collect_list(tags['a']) AS l, count(price) AS n FROM t [ROWS 5 SLIDE 2] "
            "WHERE volume > 3 GROUP BY price HAVING count(*) > 2",
}


def trigger(seed: int) -> list[tuple]:
    """Rows of a trigger, many of one time, with two zeros that are one key."""
    begin, zeros = dt.timedelta(seconds=seed * SPAN // 2), {1.5: 0.0, 2.25: -0.0}
    return [(k, at and at + begin, zeros.get(price, price), *rest)
            for k, at, price, *rest in rows_of(seed, 4 * SPAN)]


def loom_over(spark, frame) -> Loom:
    loom = Loom(spark)
    loom.source("t", frame, time="ts", watermark=f"{SPAN} seconds")
    for name, text in QUERIES.items():
        loom.query(name, text)
    return loom


def told(table) -> Counter:
    """Rows of answers, however lists and rows are ordered."""
    return Counter(repr([sorted(map(repr, v)) if isinstance(v, list) else v for v in row.values()])
                   for row in table.to_pylist())


def streamed(spark, folder: Path, place: Path) -> tuple[dict[str, Counter], Counter]:
    """What a stream answers over the files that are there, and how many rows it lost."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
    loom = loom_over(spark, reader.parquet(f"{folder}/*"))
    stream = loom.start(place, "memory", trigger="available", future=None)
    assert stream.await_end(300)
    lost: Counter = Counter()
    for scan in stream.scans:
        for progress in scan.query.recentProgress:
            observed = json.loads(progress.json).get("observedMetrics", {})
            lost.update({(scan.queries, name): n for name, n in observed.get("weft", {}).items()})
            for label, n in observed.get("answers", {}).items():
                lost.update({(name, "answers"): n for name in scan.labels[label]})
    loom.close()
    return {name: told(stream.memory.table(name)) for name in QUERIES}, lost


@pytest.mark.usefixtures("interpreted")
def test_closed_rows_are_answered_as_in_a_batch_across_triggers_and_a_restart(spark, tmp_path):
    late = [("x", NOON, 8.0, 8, None, None)]
    last = [("y", NOON + dt.timedelta(seconds=100 * SPAN), 8.0, 8, None, None)]
    kept = [trigger(seed) for seed in range(3)]

    def write(number: int, rows: list[tuple]) -> None:
        spark.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(tmp_path / "in" / f"{number}"))

    for number, rows in enumerate(kept[:2]):
        write(number, rows)
    first, _ = streamed(spark, tmp_path / "in", tmp_path / "checkpoint")
    for number, rows in enumerate((kept[2], last, late), 2):
        write(number, rows)
    second, lost = streamed(spark, tmp_path / "in", tmp_path / "checkpoint")

    loom = loom_over(spark, spark.createDataFrame([row for rows in kept for row in rows], SCHEMA))
    with loom.run() as results:
        wanted = {name: told(results[name].toArrow()) for name in QUERIES}
    loom.close()
    assert all(first.values())
    assert {name: first[name] + second[name] for name in QUERIES} == wanted
    print(lost)
