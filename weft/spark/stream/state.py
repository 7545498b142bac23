"""The final stage of a stream as a stateful operator: each bucket's past lies in Spark's state store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StatefulProcessorHandle

from weft.final import prompt
from weft.final.outputs.trigger import MadeRows, TriggerOutputs, make_rows
from weft.final.state.bucket import Bucket, BucketMemory
from weft.final.state.form import from_bytes
from weft.final.state.history import Blob
from weft.final.state.open_slices import pack_pieces, unpack_pieces
from weft.final.state.tables import HeldTables
from weft.spark.session.connect import prepare_callback
from weft.spark.session.package_zip import pickle_by_value, pickle_function
from weft.spark.stream import processor as shell
from weft.spark.stream.answer_counts import Counted, CountTable
from weft.spark.stream.buckets import BUCKET, LETTERS, SLICES
from weft.spark.stream.worker_plans import WorkerPlans

# What the operator sends: answers as bytes with the id of their part, and how many rows stand for something else.
PART, COUNT, ANSWERS = "part", "count", "answers"
WIRE = f"{PART} string, {COUNT} bigint, {ANSWERS} binary"
FRAME = 1 << 25  # bytes of answers in a frame
# Stand for a part where dead letters are, late rows are counted, a worker's file is named, or answers are counted.
DEAD_PART, LATE_PART, FILE_PART, COUNT_PART = "dead", "late", "file", "count"
Sent = tuple[str, int | None]
HELD = HeldTables()  # of this worker, whichever buckets and streams it works for


def fold_buckets(packed: DataFrame, plans: WorkerPlans) -> DataFrame:
    """The answers of every window as the watermark closes it; of some, the output rows are made right there."""
    return apply_processor(packed, partial(BucketHandler, plans))


def apply_processor(packed: DataFrame, inside: Callable[..., Any]) -> DataFrame:
    """What each bucket sends; `inside` makes, of the handle and its state, what takes packed rows and the watermark."""
    pickle_by_value(shell)
    pickle_by_value(prompt)
    pickled = pickle_function(prepare_callback(packed.sparkSession, inside))
    processor = shell.BucketProcessor(pickled, prompt.confirm_at_once)
    return packed.groupBy(BUCKET).transformWithStateInPandas(processor, WIRE, "append", "EventTime")


class BucketHandler:
    """Answers windows as slices come and as the watermark rises."""

    def __init__(self, plans: WorkerPlans, handle: StatefulProcessorHandle, kept: Any, past: Any):
        self.plan, self.handle, self.kept, self.blobs = plans.current(), handle, kept, StateBlobs(past)
        self.home = {bucket: each.node for each in self.plan.plans for bucket in each.buckets}

    def take(self, bucket: int, rows: Iterator[Any], watermark: int) -> Iterator[Any]:
        """Take new slices and answer."""
        tables = [from_bytes(data) for frame in rows for data in frame[SLICES] if data]  # none where it is only called
        if bucket == LETTERS:
            return dead_letter_frame(pa.concat_tables(tables).column(0))
        if bucket not in self.home:
            return self.retire()
        return self.advance(bucket, pa.concat_tables(tables) if tables else None, watermark)

    def retire(self) -> Iterator[Any]:
        """Forget a bucket whose grouping nobody asks for any more."""
        if (found := self.kept.get()) is not None:
            self.handle.deleteTimer(found[2])
        self.blobs.clear()
        self.kept.clear()
        return iter(())

    def advance(self, bucket: int, new: pa.Table | None, watermark: int, expired: int | None = None) -> Iterator[Any]:
        """Answer up to the watermark and keep what later answers need."""
        if bucket not in self.home:
            self.blobs.clear()
            self.kept.clear()
            return
        node, found = self.home[bucket], self.kept.get()
        kept = None if found is None else load_memory(*found)
        if kept is None and new is None:
            return
        work = Bucket(node, self.blobs, kept, new, watermark * 1000, HELD)
        yield from answer_frames(answer_parts(work, self.plan.outputs),
                                 {part.id: part.final.keys for part in node.parts},
                                 {part.id for part in node.parts if part.final.predicates}, self.plan.counts)
        self.remember(work.keep(), kept, watermark, expired)

    def remember(self, now: BucketMemory | None, before: BucketMemory | None, watermark: int,
                 expired: int | None) -> None:
        """Keep what the bucket knows, and let Spark call at its next end; Spark itself ends an expired timer."""
        due = None if now is None else timer_millis(now.timer, watermark)
        old = before.timer if before else None
        if old is not None and old not in (due, expired):
            self.handle.deleteTimer(old)
        if now is None or due is None:
            self.blobs.clear()
            self.kept.clear()
            return
        if due != old or old == expired:
            self.handle.registerTimer(due)
        self.kept.update((now.until, now.last, due, pack_pieces(now.waiting, now.marks, now.layout)))


def load_memory(until: int, last: int, timer: int, waiting: bytes) -> BucketMemory:
    """What a bucket knew, out of Spark's state."""
    pieces, marks, layout = unpack_pieces(bytes(waiting))
    return BucketMemory(until, last, timer, tuple(pieces), marks, layout)


def timer_millis(end: int, watermark: int) -> int:
    """The millisecond to be called at for an end in microseconds: Spark calls when the watermark is past it."""
    due = -(-end // 1000)
    return due - 1 if due - 1 > watermark else due


class StateBlobs:
    """A bucket's blobs in Spark's map state."""

    def __init__(self, state: Any):
        self.state = state

    def get(self, blob: Blob) -> bytes | None:
        """A blob's bytes, if it is there."""
        found = self.state.getValue((blob.level, blob.number))
        return None if found is None else bytes(found[0])

    def put(self, blob: Blob, data: bytes) -> None:
        """Keep a blob."""
        self.state.updateValue((blob.level, blob.number), (data,))

    def remove(self, blob: Blob) -> None:
        """Forget a blob, if it is there."""
        self.state.removeKey((blob.level, blob.number))

    def clear(self) -> None:
        """Forget all blobs."""
        self.state.clear()


def answer_parts(work: Bucket, outputs: TriggerOutputs) -> Iterator[tuple[str, pa.RecordBatch | MadeRows]]:
    """What a bucket answers now, by the id of the part: rows that were made of it, or arrays for Spark to project."""
    for part in work.node.parts if work.slices else ():
        made = None
        if part.id in outputs.projections:
            made = make_rows(part.final, outputs.projections[part.id], outputs.format, work.columns(part),
                             work.folding(part))
        yield from ((part.id, found) for found in (work.fold(part) if made is None else [made]))


def answer_frames(answers: Iterable[tuple[str, pa.RecordBatch | MadeRows]], keys: dict[str, int],
                  numbered: set[str], table: CountTable) -> Iterator[pd.DataFrame]:
    """The answers as rows for Spark, and their numbers; many at a time, for each frame costs milliseconds."""
    counts: Counter[Counted] = Counter()
    sent: list[Sent] = []
    page = TableBytes()
    for part, found in answers:
        if isinstance(found, MadeRows):
            counts.update({(part, *at): size for at, size in found.counts.items()})
            for written in found.files:
                page.write(json.dumps(written).encode())
                sent.append((FILE_PART, None))
            continue
        add_counts(counts, part, found, keys[part], part in numbered)
        page.add(found)
        sent.append((part, None))
        if page.size > FRAME:
            yield to_frame(sent, page)
            sent, page = [], TableBytes()
    if counts:
        page.write(table.write(counts).encode())
        sent.append((COUNT_PART, counts.total()))
    if sent:
        yield to_frame(sent, page)


def add_counts(counts: Counter[Counted], part: str, batch: pa.RecordBatch, keys: int,
               numbered: bool) -> None:
    """Add the answers of a batch to those of their window and predicate."""
    window = batch.column(0).to_numpy()
    predicate = batch.column(1 + keys).to_numpy() if numbered else np.zeros(len(window), np.int64)
    sizes = pc.list_value_length(batch.column(5 + keys + numbered)).to_numpy(zero_copy_only=False)
    width = int(predicate.max()) + 1
    totals = np.bincount(window * width + predicate, sizes)
    for place in np.flatnonzero(totals).tolist():
        counts[part, *divmod(place, width)] += int(totals[place])


def dead_letter_frame(letters: pa.ChunkedArray) -> Iterator[pd.DataFrame]:
    """Rows that cannot be used as rows for Spark."""
    page, held = TableBytes(), 0
    for place, letter in enumerate(letters, 1):
        page.write(letter.as_py().encode())
        if page.size > FRAME or place == len(letters):
            yield to_frame([(DEAD_PART, 1)] * (place - held), page)
            page, held = TableBytes(), place


class TableBytes:
    """The bytes of several tables one after another."""

    def __init__(self) -> None:
        self.sink, self.ends = pa.BufferOutputStream(), [0]

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.ends[-1]

    def add(self, table: pa.Table | pa.RecordBatch) -> None:
        """Write a table."""
        with pa.ipc.new_stream(self.sink, table.schema) as writer:
            writer.write(table)
        self.ends.append(self.sink.tell())

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.sink.write(data)
        self.ends.append(self.sink.tell())

    def column(self, size: int) -> pa.Array:
        """The bytes of each table, and nulls up to a size."""
        tables = len(self.ends) - 1
        there = pa.array([True] * tables + [False] * (size - tables)).buffers()[1]
        ends = pa.array(self.ends + self.ends[-1:] * (size - tables), pa.int32()).buffers()[1]
        return pa.Array.from_buffers(pa.binary(), size, [there, ends, self.sink.getvalue()])


def to_frame(rows: list[Sent], page: TableBytes) -> pd.DataFrame:
    """Rows as Spark takes them from a stateful operator, with types that pandas would guess otherwise; the tables of a
    page belong to the first of them."""
    columns = list(zip(*rows, strict=True))
    types = [pa.string(), pa.int64()]
    arrays = [*map(pa.array, columns, types), page.column(len(rows))]
    return pd.DataFrame({name: pd.Series(pd.arrays.ArrowExtensionArray(array))
                         for name, array in zip((PART, COUNT, ANSWERS), arrays, strict=True)})
