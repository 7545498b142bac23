"""The watermark of a stream is its source's: it follows every row, whatever the queries ask for."""

from __future__ import annotations

import json

import pytest

from tests.spark.test_stream import TRADES, drop, trade
from weft import Loom

WINDOW = "GROUP BY symbol, window(ts, '4 seconds', '2 seconds')"
ASKED = {
    "workers": f"SELECT symbol, window.end AS at, sum(size) AS n FROM trades WHERE size < 5 {WINDOW}",
    "spark": f"SELECT symbol, window.end AS at, max(venue) AS v, sum(size) AS n FROM trades WHERE size < 5 {WINDOW}",
    "rows": "SELECT symbol, window.end AS at, sum(size) AS n FROM trades [ROWS 1 SLIDE 1] WHERE size < 5 "
            "GROUP BY symbol",
}


@pytest.mark.usefixtures("interpreted")
def test_a_where_that_drops_the_newest_rows_leaves_the_watermark_alone(spark, tmp_path):
    """One row in a window of time, dropped by the WHERE, lets the windows before it be answered; a late row is late."""
    (tmp_path / "in").mkdir()
    loom = Loom(spark)
    loom.source("trades", str(tmp_path / "in"), time="ts", format="json", schema=TRADES, watermark="0 seconds")
    for name, text in ASKED.items():
        loom.query(name, text)
    with loom.start(tmp_path / "checkpoint", "memory", optimizer="no_share") as stream:
        for lines in ((trade(1), trade(2)), (trade(19, size=9),), (trade(3),)):
            drop(tmp_path / "in", *lines)
            stream.processAllAvailable()
        progress = {scan.queries[0]: json.loads(scan.query.lastProgress.json) for scan in stream.scans}
    loom.close()
    assert {name: found["eventTime"]["watermark"] for name, found in progress.items()} == dict.fromkeys(
        ASKED, "2026-01-01T00:00:19.000Z")
    found = {name: {row["at"].second: row["n"] for row in stream.memory.table(name).to_pylist()} for name in ASKED}
    windows = {2: 1, 4: 2, 6: 1}
    assert found == {"workers": windows, "spark": windows, "rows": {1: 1, 2: 1}}
