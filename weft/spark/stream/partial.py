"""Cutting a stream in the workers: rows go to Python, which makes slices of a trigger's rows without any state.

Spark's own aggregation of a stream keeps every open slice in a state store of its own and moves it in and out row by
row, which costs more than all else. Here what a trigger brings is aggregated by itself, and open slices wait where the
final stage keeps its state anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from weft.aggregates.component import Lift
from weft.final.batches import hold_batches
from weft.final.prompt import Prompt
from weft.final.state.form import SliceForm, merge_equal_starts, to_bytes
from weft.final.state.hashing import hash_keys
from weft.io.arrivals import DELAY, LETTER, TIME
from weft.model.stages import PartialStage
from weft.slicing import slice_start
from weft.spark.session.connect import prepare_callback
from weft.spark.stages.partial import SLICE, mark_columns, passing_above
from weft.spark.stages.row_lifts import ONE, find_merges, has_lifts, normalize_key
from weft.spark.stream.buckets import (
    BUCKET,
    LETTERS,
    MOST_BYTES,
    SLICES,
    BucketPlan,
    select_columns,
)
from weft.spark.stream.worker_plans import WorkerPlans

END = "__weft_slice_end"
CUT = f"{BUCKET} int, {END} bigint, {SLICES} binary"
# So many columns rows may bring; each is sent, and at some number Spark aggregates faster. Where that is, is a guess
# where nobody measured the source (`choose_cuts`).
MOST_LIFTED = 24


def is_cut_in_workers(stage: PartialStage) -> bool:
    """Whether workers can make the slices of a stream, and shall."""
    if stage.cut_by:
        return stage.cut_by == "workers" and has_lifts(stage)
    lifts = {column.lift.sql for column in stage.columns if column.lift}
    return has_lifts(stage) and len(lifts) <= MOST_LIFTED


def rows_as_slices(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """Each validated row as a slice of its own: keys, `slice`, marks, columns, what is in these, `v0 …`, and LETTER.

    The watermark follows the rows' TIME already.
    """
    marked = passing_above(rows, stage, [f"{LETTER} IS NOT NULL"])
    keys = [F.expr(normalize_key(sql, kind)).alias(name)
            for name, sql, kind in zip(stage.key_names, stage.keys, stage.key_types, strict=True)]
    start = F.expr(slice_start(f"unix_micros({TIME})", stage.progressions)).alias(SLICE)
    columns = [F.expr(lift_sql(column.lift)).alias(column.name) for column in stage.columns]
    values = [F.expr(sql).alias(name) for sql, name in worker_columns(stage).items()]
    return marked.select(*keys, start, *mark_columns(stage), *columns, *values, LETTER)


def lift_sql(lift: Lift | None) -> str:
    """Spark SQL of what a row brings."""
    assert lift is not None
    return f"IF(({lift.sql}) IS NOT NULL, 1L, 0L)" if lift.counts else lift.sql


def worker_columns(stage: PartialStage) -> dict[str, str]:
    """What is sent to the workers, and under which names; what every row brings to a count of rows is not."""
    different = dict.fromkeys(column.lift.sql for column in stage.columns if column.lift and column.lift != ONE)
    return {sql: f"v{i}" for i, sql in enumerate(different)}


def cut_in_workers(rows: DataFrame, stage: PartialStage, delay: int, plans: WorkerPlans, ansi: bool) -> DataFrame:
    """The slices that rows of a trigger make, packed by bucket and end; Spark leaves those out that end too early."""
    head, names = (*stage.key_names, SLICE, *stage.mark_names), worker_columns(stage)
    form = SliceForm(len(stage.keys), stage.marks, stage.progressions, find_merges(stage), ansi,
                     (*head, *(column.name for column in stage.columns)))
    places = tuple((names.get(c.lift.sql), c.lift.counts) for c in stage.columns if c.lift)
    cutter = prepare_callback(rows.sparkSession, Prompt(PartialAggregator(plans.without_outputs(), form, places)))
    made = rows.select(*head, *names.values(), LETTER).mapInArrow(cutter, CUT)
    # Spark knows the event time of a row by this mark.
    end = F.expr(f"timestamp_micros({END})").alias(END, metadata={DELAY: delay})
    return made.select(BUCKET, end, SLICES)


@dataclass(frozen=True)
class PartialAggregator:
    """Makes slices of the rows of a partition, which are slices of a form, or letters. `places` name the column that
    holds each value, None where it is one, and say whether it counts."""

    plans: WorkerPlans
    form: SliceForm
    places: tuple[tuple[str | None, bool], ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of a bucket, an end, and the slices that have both as bytes; letters have a bucket for themselves."""
        plan = self.plans.current()
        if called := plan.due():
            yield call_buckets(called)
        for held in hold_batches(batches, MOST_BYTES):
            rows = pa.Table.from_batches(held)
            letters = rows.column(LETTER)
            if letters.null_count < rows.num_rows:
                yield pack_dead_letters(pa.table({LETTER: letters.drop_null()}))
                rows = rows.filter(letters.is_null())
            if rows.num_rows:
                slices = merge_equal_starts(self.form, self.spread(rows))
                yield from (pack_slices(slices, self.form.ends(slices), each) for each in plan.plans)

    def spread(self, rows: pa.Table) -> pa.Table:
        """The rows with a column for each value; a sum of -0.0 alone is 0.0, as it is in Spark."""
        ones = pa.array(np.ones(rows.num_rows, np.int64))
        values = [ones if name is None else count_present(rows.column(name)) if counts else rows.column(name)
                  for name, counts in self.places]
        for i in self.form.float_sums:
            values[i] = pc.add(values[i], 0.0)
        head = self.form.names[: self.form.head]
        return pa.table([*(rows.column(name) for name in head), *values], names=list(self.form.names))


def call_buckets(buckets: Sequence[int]) -> pa.RecordBatch:
    """A row without slices and without an end, so that it is never late, for each bucket."""
    size = len(buckets)
    return pa.record_batch([pa.array(buckets, pa.int32()), pa.nulls(size, pa.int64()),
                            pa.array([b""] * size, pa.binary())], names=[BUCKET, END, SLICES])


def count_present(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """One for each value that is there, none for each that is not."""
    return column.is_valid().cast(pa.int64())


def pack_dead_letters(letters: pa.Table) -> pa.RecordBatch:
    """Dead letters as one row, without an end, so that they are never late."""
    home, data = pa.array([LETTERS], pa.int32()), pa.array([to_bytes(letters)], pa.binary())
    return pa.record_batch([home, pa.array([None], pa.int64()), data], names=[BUCKET, END, SLICES])


def pack_slices(slices: pa.Table, ends: np.ndarray, plan: BucketPlan) -> pa.RecordBatch:
    """The slices of a grouping, a row for each bucket and end."""
    keys = [slices.column(name).combine_chunks() for name in plan.keys]
    number = hash_keys(keys, slices.num_rows) % np.uint64(len(plan.buckets))
    home = np.array(plan.buckets, np.int32)[number.astype(np.int64)]
    order = np.lexsort((ends, home))
    home, ends = home[order], ends[order]
    heads = np.flatnonzero(np.append(True, (np.diff(home) != 0) | (np.diff(ends) != 0)))
    table = select_columns(slices, plan).take(pa.array(order)).combine_chunks()
    data = [to_bytes(table.slice(low, high - low)) for low, high in zip(heads, [*heads[1:], len(order)], strict=True)]
    return pa.record_batch([pa.array(home[heads], pa.int32()), pa.array(ends[heads]), pa.array(data, pa.binary())],
                           names=[BUCKET, END, SLICES])
