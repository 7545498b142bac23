"""A stream under load: over many triggers, with new keys and keys that fall silent, nothing grows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

from weft import Loom

TRIGGERS, KEYS, LIFE, STEP = 72, 20, 4, 10  # new keys a trigger, for how many triggers they live, seconds a trigger
WINDOWS = ("'20 seconds', '5 seconds'", "'60 seconds', '10 seconds'")
SETTINGS = {
    "spark.sql.streaming.minBatchesToRetain": "5",
    "spark.sql.streaming.stateStore.maintenanceInterval": "2s",
    "spark.sql.streaming.fileSource.log.cleanupDelay": "1s",  # ten minutes without it
    # As many changes as Spark keeps before it writes a store anew; only then older files can go.
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
}


def rows_of(trigger: int) -> list[str]:
    """The rows of a trigger: keys that come up and, LIFE triggers later, are silent for ever."""
    at = 1_700_000_000 + trigger * STEP
    keys = range((trigger - LIFE + 1) * KEYS, (trigger + 1) * KEYS)
    return [json.dumps({"ts": at + key % STEP, "k": f"k{key}", "v": key % 7}) for key in keys for _ in range(5)]


def files_in(scan: Path) -> Counter[str]:
    """How many files lie in each folder of a scan's checkpoint."""
    return Counter(path.relative_to(scan).parts[0] for path in scan.rglob("*") if path.is_file())


@pytest.fixture
def cleaning(spark):
    """Spark keeps few old triggers, and cleans up often."""
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    yield
    for name in SETTINGS:
        spark.conf.unset(name)


@pytest.mark.long
@pytest.mark.usefixtures("interpreted", "cleaning")
def test_state_and_checkpoint_stay_flat_over_many_triggers(spark, tmp_path):
    (tmp_path / "in").mkdir()
    for trigger in range(TRIGGERS):
        (tmp_path / "in" / f"{trigger:03d}.json").write_text("\n".join(rows_of(trigger)))
    loom = Loom(spark)
    loom.source("t", str(tmp_path / "in"), time="ts", format="json", schema="ts timestamp, k string, v bigint",
                watermark="5 seconds", options={"maxFilesPerTrigger": "1"})
    for i, window in enumerate(WINDOWS):
        loom.query(f"q{i}", f"SELECT k, sum(v) AS s, max(v) AS m FROM t GROUP BY k, window(ts, {window})")
    seen: list[Counter[str]] = []  # of each trigger and query
    place = tmp_path / "checkpoint"
    with loom.start(place, lambda *_: seen.append(files_in(place / "scan-0")), trigger="available") as stream:
        assert stream.awaitTermination(300)
        (scan,) = stream.scans
        state = [json.loads(each.json)["stateOperators"][0] for each in scan.query.recentProgress]
    loom.close()
    rows, held = ([each[name] for each in state] for name in ("numRowsTotal", "memoryUsedBytes"))
    assert len(state) >= 70
    assert {"commits", "offsets", "sources", "state"} <= set(seen[-1])
    for found in (rows, held, *([files[name] for files in seen] for name in seen[-1])):
        early, late = found[len(found) // 4: len(found) // 2], found[-len(found) // 4:]
        assert max(late) <= 1.25 * max(early) and median(late) <= 1.25 * median(early), found
