"""A stream under load, in a Java process of its own: how often state is cleaned is settled by the first stream of one.

`python -m tests.harness.stream_load FOLDER` prints the rows and bytes of its state and the files of its checkpoint.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from tests.fixtures.sessions import INTERPRETED, OPTIONS
from weft import Loom
from weft.spark.session.session import local_session

TRIGGERS, KEYS, LIFE, STEP = 52, 20, 4, 10  # new keys a trigger, for how many triggers they live, seconds a trigger
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


def main(folder: Path) -> None:
    """Runs the stream and prints what it held, trigger by trigger."""
    (folder / "in").mkdir()
    for trigger in range(TRIGGERS):
        (folder / "in" / f"{trigger:03d}.json").write_text("\n".join(rows_of(trigger)))
    loom = Loom(local_session("load", cores="2", **OPTIONS, **SETTINGS, **INTERPRETED))
    loom.source("t", str(folder / "in"), time="ts", format="json", schema="ts timestamp, k string, v bigint",
                watermark="5 seconds", options={"maxFilesPerTrigger": "1"})
    for i, window in enumerate(WINDOWS):
        loom.query(f"q{i}", f"SELECT k, sum(v) AS s, max(v) AS m FROM t GROUP BY k, window(ts, {window})")
    seen: list[Counter[str]] = []  # of each trigger and query
    place = folder / "checkpoint"
    with loom.start(place, lambda *_: seen.append(files_in(next(place.glob("scan-*")))), trigger="available") as stream:
        assert stream.awaitTermination(300)
        (scan,) = stream.scans
        state = [json.loads(each.json)["stateOperators"][0] for each in scan.query.recentProgress]
    held = {name: [each[name] for each in state] for name in ("numRowsTotal", "memoryUsedBytes")}
    print(json.dumps(held | {name: [files[name] for files in seen] for name in seen[-1]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
