"""Counting rows in a stream as a stateful operator: rows that wait or are kept lie in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessorHandle

from weft.final.rows.chunks import join_tables
from weft.final.rows.counting import CountedRows, RowCounter
from weft.final.state.form import from_bytes
from weft.model.window import Window
from weft.spark.stream.answer_counts import CountTable
from weft.spark.stream.buckets import SLICES
from weft.spark.stream.state import COUNT_PART, FRAME, LATE_PART, Sent, StateBlobs, TableBytes, timer_millis, to_frame

ROWS_PART = "rows"  # stands for a part where rows are sent
UNSET = -1  # a timer; Spark's watermark begins at 0


@dataclass(frozen=True)
class CountPlan:
    """What is counted: how many keys rows have, all windows, by part the places among these of its windows, and how
    answers are."""

    keys: int
    windows: tuple[Window, ...]
    parts: tuple[tuple[str, tuple[int, ...]], ...]
    counts: CountTable


class RowCountHandler:
    """Counts rows as the watermark passes them, and sends those that windows end at."""

    def __init__(self, rota: CountPlan, handle: StatefulProcessorHandle, kept: Any, past: Any):
        self.rota, self.handle, self.kept, self.blobs = rota, handle, kept, StateBlobs(past)

    def take(self, bucket: int, rows: Iterator[Any], watermark: int) -> Iterator[Any]:
        """Take new rows and count what can be."""
        tables = [from_bytes(data) for part in rows for data in part[SLICES]]
        return self.advance(bucket, join_tables(tables), watermark)

    def advance(self, bucket: int, new: pa.Table | None, watermark: int, expired: int | None = None) -> Iterator[Any]:
        """Count up to the watermark."""
        until, _, timer, _ = self.kept.get() or (None, None, UNSET, None)
        counter = RowCounter(self.rota.keys, self.rota.windows, self.blobs, None if until is None else until * 1000)
        yield from row_frames(counter.advance(new, watermark * 1000), self.rota)
        # A row can be counted when no other of its time can come any more.
        due = UNSET if counter.waiting.low is None else timer_millis(counter.waiting.low + 1, watermark)
        self.call_at(due, timer, expired)
        self.kept.update((watermark, watermark, due, b""))

    def call_at(self, due: int, timer: int, expired: int | None) -> None:
        """Let Spark call at a moment instead of another; Spark itself ends an expired timer."""
        if timer not in (UNSET, due, expired):
            self.handle.deleteTimer(timer)
        if due != UNSET and (due != timer or timer == expired):
            self.handle.registerTimer(due)


def row_frames(found: CountedRows, rota: CountPlan) -> Iterator[pd.DataFrame]:
    """Rows, and the numbers of late ones and of answers, as rows for Spark."""
    sent: list[Sent] = []
    page = TableBytes()
    for piece in split_tables(found.rows):
        page.add(piece)
        sent.append((ROWS_PART, None))
        if page.size > FRAME:
            yield to_frame(sent, page)
            sent, page = [], TableBytes()
    counts = {(part, place, 0): found.ends[window] for part, windows in rota.parts
              for place, window in enumerate(windows) if found.ends[window]}
    if counts:
        page.write(rota.counts.write(counts).encode())
        sent.append((COUNT_PART, sum(counts.values())))
    if found.late:
        sent.append((LATE_PART, found.late))
    if sent:
        yield to_frame(sent, page)


def split_tables(tables: Sequence[pa.Table]) -> Iterator[pa.Table]:
    """The rows of tables in pieces that fit in a frame."""
    for table in tables:
        size = max(1, table.num_rows * FRAME // max(table.nbytes, 1))
        yield from (table.slice(low, size).combine_chunks() for low in range(0, table.num_rows, size))
