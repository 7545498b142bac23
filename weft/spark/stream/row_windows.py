"""Windows that count rows in a stream: rows counted as the watermark passes them, then answered as in a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from weft.aggregates.base import FRACTIONAL
from weft.aggregates.component import Component
from weft.aggregates.monoids.sums import COUNT
from weft.errors import RunError
from weft.final.batches import hold_batches
from weft.final.prompt import Prompt
from weft.final.rows.counting import AT, FIRST, FRESH, KEY, KEY_GROUP, LOW
from weft.io.arrivals import CORRUPT, OWN, TIME, find_faults, keep_usable, quoted
from weft.model.graph import StageGraph, digest
from weft.model.query import CALL
from weft.model.stages import AnswerStage, Column, FinalStage, PartialStage
from weft.model.workload import BoundQuery
from weft.spark.session.connect import prepare_callback
from weft.spark.session.package_zip import pickle_by_value
from weft.spark.stages.final import rename_field, run_final
from weft.spark.stages.number_rows import NEW, number_stream_rows, only_predicate
from weft.spark.stages.partial import aggregate_slices, kept_above
from weft.spark.stages.row_lifts import normalize_key
from weft.spark.stream import unpack
from weft.spark.stream.buckets import (
    BUCKET,
    MOST_BYTES,
    PACKED,
    KeptBuckets,
    bucket_column,
    pack_bucket,
    split_by_bucket,
    to_utc,
)
from weft.spark.stream.counts import count_table
from weft.spark.stream.flow import (
    ExpectedPart,
    Flow,
    TriggerPart,
    add_dead_letters,
    event_time_sql,
    observe_flow,
)
from weft.spark.stream.row_counter import ROWS_PART, CountPlan, RowCountHandler
from weft.spark.stream.state import ANSWERS, PART, apply_processor
from weft.stages.build import final_stage, value_column

# How many groups the keys of a bucket are in: a trigger moves those only that got rows.
KEY_GROUPS = 32
# How many of a window's rows are new: those without one were told before.
FRESHNESS = Component(COUNT, (f"count(IF({NEW}, 1, NULL))",), "bigint")


@dataclass(frozen=True)
class CountedPart(TriggerPart):
    """An answer stage over the rows that a trigger counted, which `slices` holds as bytes; `schema` is theirs."""

    def wire(self, final: FinalStage) -> DataFrame:
        """The part's answers as arrays."""
        assert self.schema is not None
        pickle_by_value(unpack)
        sent = StructType([rename_field(field, sent_name(i, field.name)) for i, field in enumerate(self.schema.fields)])
        mine = self.slices.where(F.col(PART) == ROWS_PART).select(ANSWERS)
        rows = mine.mapInArrow(Prompt(unpack.unpack_answers), sent).toDF(*self.schema.names)
        return run_final(aggregate_slices(number_stream_rows(rows, self.partial), self.partial), self.partial, final)


@dataclass(frozen=True)
class ExpectedCountedPart(ExpectedPart):
    """An answer stage whose rows come counted with each trigger."""

    def arrived(self, batch: DataFrame) -> CountedPart:
        """The part over the rows of one trigger."""
        return CountedPart(lambda: batch, self.partial, self.final, self.stage, id=self.id, schema=self.schema)


def build_row_flow(scan: StageGraph, source: DataFrame, delay: int, max_clock_skew: int | None,
                   kept: KeptBuckets, ansi: bool) -> Flow:
    """A scan whose windows count rows over a streaming source whose rows may be `delay` milliseconds late."""
    stage = scan.root.stage
    wrong = find_faults(source.columns, event_time_sql(stage), max_clock_skew)
    rows = keep_usable(source, wrong).drop(CORRUPT)
    schema = StructType([*rows.schema.fields, *(StructField(name, LongType(), False) for name in (FIRST, LOW, FRESH))])
    timed = rows.withColumn(TIME, F.expr(event_time_sql(stage))).withWatermark(TIME, f"{delay} milliseconds")
    parts = expected_row_parts(scan, schema)
    found = bucket_rows(kept_above(timed, only_predicate(stage)), rows.columns, stage, kept.buckets[scan.root.id])
    return observe_flow(add_dead_letters(apply_processor(found, partial(RowCountHandler, make_count_plan(parts))),
                                         source, wrong), source, parts)


def expected_row_parts(scan: StageGraph, schema: StructType) -> tuple[ExpectedCountedPart, ...]:
    """The answer stages of a scan, which tell of windows with a new row only."""
    (node,) = scan.slices  # coarser keys number rows otherwise, so nothing is derived
    sql = FRESHNESS.columns[0]
    root = replace(node.stage, components=(*node.stage.components, FRESHNESS),
                   columns=(*node.stage.columns, Column(sql, None, sql, f"p_{digest(sql)}")))
    listed = [(tree.stage, answer) for tree in scan.trees(node.id) for answer in scan.answers(tree.id)]
    return tuple(ExpectedCountedPart(root, count_new_rows(final), keep_new_windows(answer.stage), answer.id, schema)
                 for final, answer in listed)


def count_new_rows(final: FinalStage) -> FinalStage:
    """The final stage of a tree with the number of new rows."""
    made = final_stage(final.keys, final.windows, (*final.components, FRESHNESS), final.ansi, final.forced)
    return replace(made, max_bag_values=final.max_bag_values)


def keep_new_windows(stage: AnswerStage) -> AnswerStage:
    """The answer stage over windows that hold a new row."""
    new = f"{CALL.format(len(stage.calls))} > 0"
    return replace(stage, components=(*stage.components, FRESHNESS),
                   calls=(*stage.calls, value_column(len(stage.components), "value")),
                   having=f"{new} AND ({stage.having})" if stage.having else new)


def make_count_plan(parts: tuple[ExpectedCountedPart, ...]) -> CountPlan:
    """What the parts need counted."""
    asked = [sorted({each.window for each in part.stage.queries}) for part in parts]
    windows = tuple(sorted({window for each in asked for window in each}))
    places = (tuple(map(windows.index, each)) for each in asked)
    return CountPlan(parts[0].final.keys, windows, tuple(zip((part.id for part in parts), places, strict=True)),
                     count_table(parts))


def bucket_rows(rows: DataFrame, columns: list[str], stage: PartialStage, buckets: Sequence[int]) -> DataFrame:
    """The rows with their key and its bucket, packed into few."""
    keys = [KEY.format(i) for i in range(len(stage.keys))]
    named = rows.select(*(F.expr(normalize_key(sql, kind)).alias(name)
                          for name, sql, kind in zip(keys, stage.keys, stage.key_types, strict=True)),
                        F.expr(f"unix_micros({TIME})").alias(AT),
                        *(F.col(quoted(name)).alias(sent_name(i, name)) for i, name in enumerate(columns)))
    group = f"CAST(pmod(xxhash64({', '.join(keys)}), {KEY_GROUPS}) AS INT)" if keys else "0"
    placed = named.select(bucket_column(keys, buckets).alias(BUCKET), *keys, F.expr(group).alias(KEY_GROUP), AT,
                          *(sent_name(i, name) for i, name in enumerate(columns)))
    return placed.mapInArrow(prepare_callback(rows.sparkSession, Prompt(pack_rows)), PACKED)


def sent_name(place: int, name: str) -> str:
    """The name under which a column goes to Python and back: PySpark cannot send one with a dot or a backtick in it."""
    return name if name.startswith(OWN) else f"{OWN}column_{place}"


def pack_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of a bucket and what it gets as bytes, a share of the partition at a time."""
    for held in hold_batches(batches, MOST_BYTES):
        for bucket, rows in split_by_bucket(held):
            yield pack_bucket(bucket, to_utc(rows.drop_columns([BUCKET])))


def require_countable(workload: Iterable[BoundQuery]) -> None:
    """Raise where rows are counted by keys of which equal values may differ in bytes, deep within."""
    for bound in workload:
        for key, kind in zip(bound.query.keys, bound.key_types, strict=True):
            nested = "<" in kind and any(word in kind for word in (*FRACTIONAL, "map<"))
            if bound.query.window.counts_rows and nested:
                raise RunError(f"a stream cannot count the rows of '{bound.query.name}' by {key}, which is {kind}: "
                               "group by its fields instead, or run the query as a batch with loom.run.")
