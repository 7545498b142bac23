"""Rows of a few new files to slices in the store: one worker cuts them for all groupings and writes a file of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.final.batches import hold_batches
from weft.final.cut.groupings import NONE, select_slices
from weft.final.cut.rows import MOST_BYTES, ComputedColumns, HeldRows, RowCut, cut_slices, in_one_piece
from weft.final.memory import reuse_memory
from weft.final.project import NeedsSpark
from weft.final.state.form import SliceForm, merge_equal_starts

# How many slices a worker sends to Spark at a time.
SENT_SLICES = 50_000
# What a worker says of each grouping: its slices, or, under no grouping, why only Spark can make them.
STORED = pa.schema([("grouping", pa.int32()), ("rows", pa.int64()), ("reason", pa.string())])


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A file of slices in the store: its columns under the names and types that the store has them, what its footer
    says to Spark, and how many slices lie together."""

    path: str
    schema: pa.Schema
    metadata: tuple[tuple[bytes, bytes], ...]
    group: int

    @contextmanager
    def open(self) -> Iterator[pq.ParquetWriter]:
        """What writes the file, which is there once it is whole: another attempt at the task may write it too."""
        folder = os.path.dirname(self.path)
        os.makedirs(folder, exist_ok=True)
        hidden = f"{folder}/.{uuid4().hex}"
        with pq.ParquetWriter(hidden, self.schema, compression="snappy", store_schema=False,
                              store_decimal_as_integer=True) as writer:
            writer.add_key_value_metadata(dict(self.metadata))
            yield writer
        os.replace(hidden, self.path)

    def fit(self, slices: pa.Table, start: int) -> pa.Table:
        """Slices as the store has them, by time; `start` is the place of that column."""
        order = pa.array(np.argsort(slices.column(start).to_numpy(), kind="stable"))
        columns = [column.take(order).cast(field.type)
                   for column, field in zip(slices.columns, self.schema, strict=True)]
        return pa.Table.from_arrays(columns, schema=self.schema)


def merge_partition(form: SliceForm, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The slices of a partition with those of one key, start and marks made one, as far as a worker holds them at once;
    those that it cannot make one stay as they are, for whoever folds them."""
    reuse_memory()
    for held in hold_batches(batches, MOST_BYTES):
        table = pa.Table.from_batches(held)
        with suppress(NeedsSpark, pa.ArrowInvalid, pa.ArrowNotImplementedError):  # a sum that its type cannot hold
            table = merge_equal_starts(form, table)
        yield from table.combine_chunks().to_batches(SENT_SLICES)


@dataclass(frozen=True)
class StoreCutter:
    """Makes the slices of all scans out of the rows of the only partition, and writes them, by grouping."""

    cuts: tuple[RowCut, ...]
    computed: ComputedColumns
    files: Mapping[int, StoredFile]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all slices; how many there are of each grouping, or why only Spark can make them."""
        reuse_memory()
        try:
            counts = self.write(batches)
        except (NeedsSpark, pa.ArrowException) as reason:
            yield pa.record_batch([[NONE], [0], [str(reason)]], schema=STORED)
            return
        yield pa.record_batch([list(counts), list(counts.values()), [None] * len(counts)], schema=STORED)

    def write(self, batches: Iterable[pa.RecordBatch]) -> dict[int, int]:
        """The number of slices of each grouping, after they are written."""
        counts = dict.fromkeys(self.files, 0)
        with ExitStack() as open_files:
            writers = {number: open_files.enter_context(file.open()) for number, file in self.files.items()}
            for held in hold_batches(batches, MOST_BYTES):
                table = in_one_piece(held)
                rows = HeldRows(table, self.computed.of(table))
                for number, slices in self.slices_of(rows):
                    writers[number].write_table(slices, self.files[number].group)
                    counts[number] += slices.num_rows
        return counts

    def slices_of(self, rows: HeldRows) -> Iterator[tuple[int, pa.Table]]:
        """The slices of each grouping that has some."""
        for cut in self.cuts:
            slices = cut_slices(rows, cut)
            for each in cut.groupings if slices is not None else ():
                yield each.number, self.files[each.number].fit(select_slices(slices, cut.form, each), each.form.keys)
