"""Arrivals: how a source's rows come as a stream, how late they may be, and which of them cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from weft.errors import SourceError

OWN = "__weft_"  # how columns begin that stand beside a source's own
# The raw text of a record that could not be read; null in rows that could.
CORRUPT = "__weft_corrupt"
TIME = "__weft_time"
# A hash of a row that says which one it is, by which drop boxes decide.
ROW = "__weft_row"
REASON, LETTER = "__weft_reason", "__weft_letter"
DELAY = "spark.watermarkDelayMs"


@dataclass(frozen=True)
class StreamInput:
    """A source as a stream: what reads it, how late its rows may come, and where they lie, if that is known."""

    name: str
    read: Callable[[SparkSession], DataFrame]
    watermark: str | None
    place: str | None = None

    def delay(self, spark: SparkSession) -> int:
        """How late rows may come, in milliseconds."""
        if self.watermark is None:
            raise SourceError(
                f"source '{self.name}' has no watermark, so no window of a stream over it would ever close: "
                f"say how late rows may come, loom.source('{self.name}', ..., watermark='10 minutes')."
            )
        return parse_delay(spark, self.watermark, f"the watermark of source '{self.name}'")


def parse_delay(spark: SparkSession, text: str, what: str) -> int:
    """An interval such as '10 minutes' in milliseconds, read by Spark."""
    words = text if text.lower().startswith("interval") else f"INTERVAL {text}"
    try:
        found = spark.sql(f"SELECT unix_millis(TIMESTAMP_LTZ'1970-01-01 00:00:00Z' + {words})").first()
    except Exception as error:
        raise SourceError(f"{what} is '{text}', which is no interval: write '10 minutes' or '1 day'.") from error
    if found is None or found[0] is None or found[0] < 0:
        raise SourceError(f"{what} is '{text}', which is no time to wait: write '10 minutes' or '1 day'.")
    return int(found[0])


def with_corrupt(schema: StructType) -> StructType:
    """A schema with a column for the texts that do not fit it."""
    return StructType([*schema.fields, StructField(CORRUPT, StringType())])


def find_faults(columns: Sequence[str], time: str, max_clock_skew: int | None) -> dict[str, str]:
    """Why a row cannot be used, and the condition of that in Spark SQL, the first that holds being the reason.

    One row whose clock is far ahead would close all windows, so it counts as dead where it is later than the time of
    the trigger by more than `max_clock_skew` milliseconds. Spark's watermark begins at 1970, so all rows before it are
    late.
    """
    found = {"corrupt": f"{CORRUPT} IS NOT NULL"} if CORRUPT in columns else {}
    found["no event time"] = f"({time}) IS NULL"
    found["event time before 1970"] = f"({time}) < timestamp_seconds(0)"
    if max_clock_skew is not None:
        found["event time too far in the future"] = f"({time}) > current_timestamp() + {seconds(max_clock_skew)}"
    return found


def seconds(millis: int) -> str:
    """Milliseconds as an interval of Spark SQL."""
    return f"make_dt_interval(0, 0, 0, {millis / 1000:.3f})"


def keep_usable(rows: DataFrame, wrong: Mapping[str, str]) -> DataFrame:
    """The rows that have no fault."""
    return rows.where(" AND ".join(f"coalesce(NOT ({test}), true)" for test in wrong.values()))


def dead_letters(rows: DataFrame, wrong: Mapping[str, str]) -> DataFrame:
    """The rows that have one as JSON texts."""
    # Written as comparisons of columns, so that files whose statistics rule them out are not read twice.
    dead = rows.where(" OR ".join(f"({test})" for test in wrong.values()))
    return dead.select(dead_letter(rows, fault_reason(wrong)).alias("value"))


def validate_rows(rows: DataFrame, wrong: Mapping[str, str]) -> DataFrame:
    """All rows, those that have a fault with LETTER, their JSON text, and nothing else in them."""
    found = rows.select("*", fault_reason(wrong).alias(REASON))
    marked = found.select("*", F.when(F.col(REASON).isNotNull(), dead_letter(rows, F.col(REASON))).alias(LETTER))
    own = [F.when(F.col(REASON).isNull(), F.col(quoted(field.name))).alias(field.name, metadata=field.metadata)
           for field in rows.schema.fields if field.name != CORRUPT]  # Spark pads texts whose metadata say so
    return marked.select(*own, LETTER)


def fault_reason(wrong: Mapping[str, str]) -> Column:
    """Why a row cannot be used; null if it can."""
    cases = " ".join(f"WHEN {test} THEN '{reason}'" for reason, test in wrong.items())
    return F.expr(f"CASE {cases} END")


def dead_letter(rows: DataFrame, reason: Column) -> Column:
    """A row that cannot be used as JSON text: why, and the record as it came."""
    raw = F.col(CORRUPT) if CORRUPT in rows.columns else F.lit(None).cast("string")
    own = [F.col(quoted(name)) for name in rows.columns if not name.startswith(OWN)]
    return F.to_json(F.struct(reason.alias("reason"), F.coalesce(raw, F.to_json(F.struct(*own))).alias("record")))


def refuse_own(source: str, columns: Sequence[str]) -> None:
    """Raise where a column has a name such as those that stand beside it here; Weft's own reader of Kafka adds one."""
    for name in columns:
        if name.lower().startswith(OWN) and name != CORRUPT:
            raise SourceError(f"column '{name}' of source '{source}' begins with {OWN}, as Weft's own do: rename it.")


def quoted(name: str) -> str:
    """A column's name that means this column, dots, backticks and all."""
    return f"`{name.replace('`', '``')}`"
