"""Windows that count rows in a stream: over rows that the watermark has passed they answer what a batch does."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.spark.test_rows import NOON, SCHEMA, rows_of
from weft import Loom
from weft.spark.stream.progress import trigger_metrics

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
    loom.source("t", frame, time="ts", watermark=f"{SPAN // 2} seconds")
    for name, text in QUERIES.items():
        loom.query(name, text)
    return loom


def told(table) -> Counter:
    """Rows of answers, however lists and rows are ordered."""
    return Counter(repr([sorted(map(repr, v)) if isinstance(v, list) else v for v in row.values()])
                   for row in table.to_pylist())


def streamed(spark, folder: Path, place: Path) -> tuple[dict[str, Counter], Counter]:
    """What a stream answers over the files that are there, and what its triggers count."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
    loom = loom_over(spark, reader.parquet(f"{folder}/*"))
    stream = loom.start(place, "memory", trigger="available", max_clock_skew=None)
    assert stream.awaitTermination(300)
    counts: Counter = Counter()
    for scan in stream.scans:
        for progress in (json.loads(each.json) for each in scan.query.recentProgress):
            found = trigger_metrics(scan.name, progress, scan.labels, dt.datetime.now(dt.UTC))
            counts.update({"late": found.late, "dead": found.dead, **found.answers})
    loom.close()
    return {name: told(stream.memory.table(name)) for name in QUERIES}, counts


@pytest.mark.usefixtures("interpreted")
def test_closed_rows_are_answered_as_in_a_batch_across_triggers_and_a_restart(spark, tmp_path):
    ends = (NOON + dt.timedelta(seconds=100 * SPAN), NOON, None)  # one that closes all others, one late, one dead
    kept, last = [trigger(0), trigger(1)], [("y", at, 8.0, 8, None, None) for at in ends]
    for number, rows in enumerate((*kept, last)):
        spark.createDataFrame(rows, SCHEMA).coalesce(1).write.parquet(str(tmp_path / f"{number}"))
    (tmp_path / "in").mkdir()
    found = []
    for numbers in ((0,), (1, 2)):
        for number in numbers:
            (tmp_path / f"{number}").rename(tmp_path / "in" / f"{number}")
        found.append(streamed(spark, tmp_path / "in", tmp_path / "checkpoint"))

    loom = loom_over(spark, spark.createDataFrame([row for rows in kept for row in rows], SCHEMA))
    with loom.run() as results:
        wanted = {name: told(results[name].toArrow()) for name in QUERIES}
    loom.close()
    (first, counts), (second, more) = found
    assert all(first.values())
    assert {name: first[name] + second[name] for name in QUERIES} == wanted
    assert {name: (counts + more)[name] for name in ("short", "long")} == {
        name: wanted[name].total() for name in ("short", "long")}
    assert (counts["late"], more["late"]) == (0, 2)  # one a scan
    assert more["dead"] == 2 * sum(row[1] is None for row in (*kept[1], *last))
