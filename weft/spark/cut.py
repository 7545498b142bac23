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
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.aggregates.base import FRACTIONAL, INTEGRAL
from weft.aggregates.component import GUARD, ROWS
from weft.final.form import Form, condensed, to_bytes
from weft.io.arrivals import DELAY, LETTER, TIME
from weft.slicing import slice_start
from weft.spark.buckets import BUCKET, LETTERS, SLICES, Woven, bucket_of, chosen, merging_of, shares
from weft.spark.connect import sendable
from weft.spark.partial import SLICE, marks_of, passing
from weft.stages.definition import PartialStage

END = "slice_end"
CUT = f"{BUCKET} int, {END} bigint, {SLICES} binary"
# Keys that have the same bytes wherever Spark groups them, once floats are made so.
PLAIN = (*INTEGRAL, *FRACTIONAL, "boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")
# With more columns than these, Spark aggregates rows faster than it sends them.
MOST_LIFTED = 24
EMPTY = pa.table({LETTER: pa.array([], pa.string())})
ONE = ROWS.lifts[0].replace(GUARD, "true")  # what every row brings to a count of rows is not sent


def is_cut_in_workers(stage: PartialStage) -> bool:
    """Whether workers can make the slices of a stream, and shall."""
    kinds = [kind for kind in stage.key_types if kind not in PLAIN and not kind.startswith("decimal")]
    lifts = {column.lift for column in stage.columns}
    return not kinds and "" not in lifts and len(lifts) <= MOST_LIFTED and merging_in(stage) is not None


def merging_in(stage: PartialStage) -> tuple | None:
    """How the slices of a stage are merged."""
    return merging_of(stage, stage.components, range(len(stage.columns)))


def lifted(rows: DataFrame, stage: PartialStage, delay: int) -> DataFrame:
    """Each judged row as a slice of its own: keys `k0 …`, `slice`, marks `m0 …`, what it brings, `p0 …`, and LETTER."""
    marked = passing(rows.withWatermark(TIME, f"{delay} milliseconds"), stage, [f"{LETTER} IS NOT NULL"])
    keys = [F.expr(key_of(sql, kind)).alias(f"k{i}")
            for i, (sql, kind) in enumerate(zip(stage.keys, stage.key_types, strict=True))]
    start = F.expr(slice_start(f"unix_micros({TIME})", stage.progressions)).alias(SLICE)
    values = [F.expr(column.lift).alias(f"p{i}") for i, column in enumerate(stage.columns)]
    return marked.select(*keys, start, *marks_of(stage), *values, LETTER)


def key_of(sql: str, kind: str) -> str:
    """Spark SQL for a key of which equal values have equal bytes: Spark groups -0.0 with 0.0, and every NaN."""
    if kind not in FRACTIONAL:
        return sql
    return f"CASE WHEN isnan({sql}) THEN {kind}('NaN') WHEN ({sql}) = 0 THEN {kind}(0) ELSE {sql} END"


def cut(rows: DataFrame, stage: PartialStage, delay: int, woven: Sequence[Woven], ansi: bool) -> DataFrame:
    """The slices that rows of a trigger make, packed by bucket and end; Spark leaves those out that end too early."""
    keys, marks = [f"k{i}" for i in range(len(stage.keys))], [f"m{i}" for i in range(stage.marks)]
    homes = [bucket_of([keys[k] for k in each.keys], each.buckets).alias(f"b{i}") for i, each in enumerate(woven)]
    lifts = [column.lift for column in stage.columns]
    sent = {lift: f"p{lifts.index(lift)}" for lift in lifts if lift != ONE}
    form = Form(len(woven) + len(keys), len(marks), stage.progressions, merging_in(stage), ansi)
    cutter = Cutter(tuple(woven), form, tuple(sent.get(lift) for lift in lifts))
    columns: list[Column | str] = [*homes, *keys, SLICE, *marks, *sent.values(), LETTER]
    made = rows.select(*columns).mapInArrow(sendable(rows.sparkSession, cutter), CUT)
    # Spark knows the event time of a row by this mark.
    end = F.expr(f"timestamp_micros({END})").alias(END, metadata={DELAY: delay})
    return made.select(BUCKET, end, SLICES)


@dataclass(frozen=True)
class Cutter:
    """Makes slices of the rows of a partition. Rows are slices of a form whose first keys are a bucket a grouping, or
    letters; `places` name the column that holds each value, None where it is one."""

    woven: tuple[Woven, ...]
    form: Form
    places: tuple[str | None, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of a bucket, an end, and the slices that have both as bytes; letters have a bucket for themselves."""
        for held in shares(batches):
            rows = pa.Table.from_batches(held) if held else EMPTY
            letters = rows.filter(pc.field(LETTER).is_valid())
            if letters.num_rows:
                yield enclosed(letters.select([LETTER]))
                rows = rows.filter(pc.field(LETTER).is_null())
            if rows.num_rows:
                slices = condensed(self.form, self.spread(rows))
                ends = self.form.ends(slices)
                yield from (packed(slices, f"b{i}", ends, each) for i, each in enumerate(self.woven))

    @property
    def sums(self) -> set[int]:
        """Which values are sums of floating numbers."""
        return {places[0] for c, places in self.form.merging or () if c.monoid == "add" and c.type == "double"}

    def spread(self, rows: pa.Table) -> pa.Table:
        """The rows with a column for each value; a sum of -0.0 alone is 0.0, as it is in Spark."""
        ones = pa.array(np.ones(rows.num_rows, np.int64))
        values = [ones if place is None else rows.column(place) for place in self.places]
        for i in self.sums:
            values[i] = pc.add(values[i], 0.0)
        head = rows.column_names[: self.form.head]
        return pa.table([*(rows.column(name) for name in head), *values],
                        names=[*head, *(f"p{i}" for i in range(len(values)))])


def enclosed(letters: pa.Table) -> pa.RecordBatch:
    """Letters as one row, without an end, so that they are never late."""
    home, data = pa.array([LETTERS], pa.int32()), pa.array([to_bytes(letters)], pa.binary())
    return pa.record_batch([home, pa.array([None], pa.int64()), data], names=[BUCKET, END, SLICES])


def packed(slices: pa.Table, bucket: str, ends: np.ndarray, woven: Woven) -> pa.RecordBatch:
    """The slices of a grouping, a row for each bucket and end."""
    home = slices.column(bucket).to_numpy()
    order = np.lexsort((ends, home))
    home, ends = home[order], ends[order]
    heads = np.flatnonzero(np.append(True, (np.diff(home) != 0) | (np.diff(ends) != 0)))
    table = chosen(slices, woven).take(pa.array(order)).combine_chunks()
    data = [to_bytes(table.slice(low, high - low)) for low, high in zip(heads, [*heads[1:], len(order)], strict=True)]
    return pa.record_batch([pa.array(home[heads], pa.int32()), pa.array(ends[heads]), pa.array(data, pa.binary())],
                           names=[BUCKET, END, SLICES])
