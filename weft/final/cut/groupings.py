"""The slices of a scan for each grouping that reads them: fewer keys, time cut less finely, packed by bucket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.final.state.form import SliceForm, merge_equal_starts, slice_starts, to_bytes
from weft.final.state.hashing import hash_keys

BUCKET, GROUPING, SLICES = "bucket", "grouping", "slices"
NONE = -1  # the grouping of a reason why only Spark can cut the rows


@dataclass(frozen=True)
class GroupingCut:
    """A grouping of a scan: its number, the form of its slices, whose columns are among the scan's, and its buckets.
    It is `derived` where it has fewer keys or longer slices than the scan."""

    number: int
    form: SliceForm
    buckets: tuple[int, ...]
    derived: bool


def pack_slices(slices: pa.Table, scan: SliceForm, grouping: GroupingCut) -> pa.RecordBatch:
    """A row for each bucket of a grouping that gets slices."""
    table = select_slices(slices, scan, grouping)
    keys = [table.column(i).combine_chunks() for i in range(grouping.form.keys)]
    home = (hash_keys(keys, table.num_rows) % np.uint64(len(grouping.buckets))).astype(np.int64)
    order = np.argsort(home.astype(np.uint16), kind="stable")
    heads = np.flatnonzero(np.append(True, np.diff(home[order]) != 0))
    table = table.take(pa.array(order)).combine_chunks()
    data = [to_bytes(table.slice(low, high - low)) for low, high in zip(heads, [*heads[1:], len(order)], strict=True)]
    buckets = pa.array([grouping.buckets[home[order[head]]] for head in heads], pa.int32())
    numbers = pa.array([grouping.number] * len(heads), pa.int32())
    return pa.record_batch([buckets, numbers, pa.array(data, pa.binary())], names=[BUCKET, GROUPING, SLICES])


def select_slices(slices: pa.Table, scan: SliceForm, grouping: GroupingCut) -> pa.Table:
    """The slices of a grouping out of those of its scan."""
    form, table = grouping.form, slices.select(grouping.form.names)
    if not grouping.derived:
        return table
    start = pa.array(slice_starts(scan.starts(slices), form.cut))
    return merge_equal_starts(form, table.set_column(form.keys, form.names[form.keys], start))


def give_up(reason: str) -> pa.RecordBatch:
    """A row that says why only Spark can cut the rows."""
    columns = [pa.array([0], pa.int32()), pa.array([NONE], pa.int32()), pa.array([reason.encode()], pa.binary())]
    return pa.record_batch(columns, names=[BUCKET, GROUPING, SLICES])
