"""Arrivals: how a source's rows come as a stream, how late they may be, and which of them cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.errors import SourceError

# The raw text of a record that could not be read; null in rows that could.
CORRUPT = "__weft_corrupt"
TIME, DEAD = "__weft_time", "__weft_dead"
DELAY = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class Arrival:
    """A source as a stream: what reads it, and how late its rows may come, if that was said."""

    name: str
    read: Callable[[SparkSession], DataFrame]
    watermark: str | None

    def delay(self, spark: SparkSession) -> int:
        """How late rows may come, in milliseconds."""
        if self.watermark is None:
            raise SourceError(
                f"source '{self.name}' has no watermark, so no window of a stream over it would ever close: "
                f"say how late rows may come, loom.source('{self.name}', ..., watermark='10 minutes')."
            )
        return delay_of(spark, self.watermark, f"the watermark of source '{self.name}'")


def delay_of(spark: SparkSession, text: str, what: str) -> int:
    """An interval such as '10 minutes' in milliseconds, read by Spark."""
    words = text if text.lower().startswith("interval") else f"INTERVAL {text}"
    try:
        found = spark.sql(f"SELECT unix_millis(TIMESTAMP'1970-01-01 00:00:00Z' + {words})").first()
    except Exception as error:
        raise SourceError(f"{what} is '{text}', which is no interval: write '10 minutes' or '1 day'.") from error
    if found is None or found[0] is None or found[0] < 0:
        raise SourceError(f"{what} is '{text}', which is no time to wait: write '10 minutes' or '1 day'.")
    return int(found[0])


def timed(rows: DataFrame, time: str, future: int | None) -> DataFrame:
    """The rows with their event time as a timestamp, and why they cannot be used, if so.

    One row whose clock is far ahead would close all windows, so it counts as dead where it is later than the time of
    the trigger by more than `future` milliseconds.
    """
    reasons = []
    if CORRUPT in rows.columns:
        reasons.append((F.col(CORRUPT).isNotNull(), "corrupt"))
    reasons.append((F.col(TIME).isNull(), "no event time"))
    if future is not None:
        ahead = F.expr(f"{TIME} > current_timestamp() + make_dt_interval(0, 0, 0, {future / 1000:.3f})")
        reasons.append((ahead, "event time too far in the future"))
    why = F.lit(None).cast("string")
    for test, reason in reversed(reasons):
        why = F.when(test, reason).otherwise(why)
    return rows.withColumn(TIME, F.expr(time)).withColumn(DEAD, why)


def letters(rows: DataFrame) -> DataFrame:
    """The dead rows as JSON texts: why, and the record as it came."""
    raw = F.col(CORRUPT) if CORRUPT in rows.columns else F.lit(None).cast("string")
    own = [name for name in rows.columns if name not in (CORRUPT, TIME, DEAD)]
    record = F.coalesce(raw, F.to_json(F.struct(*(F.col(f"`{name}`") for name in own))))
    dead = rows.where(F.col(DEAD).isNotNull())
    return dead.select(F.to_json(F.struct(F.col(DEAD).alias("reason"), record.alias("record"))).alias("value"))
