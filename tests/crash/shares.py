"""What a stream whose drop rate changes should have answered, by the logs of Spark's own checkpoint.

Which files a trigger read, and when it began, stands there; from the time follows the share, and from that the weights.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from weft.aggregates.weighted import SAMPLED, WEIGHT
from weft.io.arrivals import ROW
from weft.io.drop_boxes import sampled_sql, weight_sql
from weft.spark.stream.checkpoint import open_checkpoint
from weft.spark.stream.shed_control import share_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# What each start of the stream drops, one after another.
DROPS = (0.5, 0.25, 0.7, 0.4)


def drop_of(start: int) -> float:
    """What the stream drops from its start of a number on."""
    return DROPS[start % len(DROPS)]


def file_shares(folder: Path) -> dict[str, float]:
    """The share that was kept of each file, by its name."""
    page = open_checkpoint(str(folder / "checkpoint"))
    assert page is not None
    steps = page.steps("events")
    (scan,) = (folder / "checkpoint").glob("scan-*")
    logged = [json.loads(line) for path in (scan / "sources" / "0").iterdir() if not path.name.startswith(".")
              for line in path.read_text().splitlines()[1:]]
    files = {Path(entry["path"]).name: entry["batchId"] for entry in logged}
    found, before = {}, -1
    for number in sorted(int(path.name) for path in (scan / "offsets").iterdir() if path.name.isdigit()):
        _, told, *offsets = (scan / "offsets" / str(number)).read_text().splitlines()
        read, share = json.loads(offsets[0])["logOffset"], share_at(steps, json.loads(told)["batchTimestampMs"] / 1000)
        found |= {name: share for name, batch in files.items() if before < batch <= read}
        before = read
    return found


def weighed_rows(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    """The rows that were kept, with their weights."""
    shares = file_shares(folder)
    cases = {share: ", ".join(f"'{name}'" for name, mine in shares.items() if mine == share)
             for share in set(shares.values())}
    rows = spark.read.schema(schema).parquet(str(folder / "in")).selectExpr(
        "*", "_metadata.file_name AS file", f"xxhash64(_metadata.file_path, _metadata.row_index) AS {ROW}")

    def by_file(sql_of) -> str:
        return f"CASE {' '.join(f'WHEN file IN ({names}) THEN {sql_of(share)}' for share, names in cases.items())} END"

    return rows.selectExpr("*", f"{by_file(weight_sql)} AS {WEIGHT}", f"{by_file(sampled_sql)} AS {SAMPLED}").where(
        f"{WEIGHT} > 0").drop("file", ROW)
