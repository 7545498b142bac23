"""What has changed between two states of a query's rows: those that came and those that went, as a change feed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.final.fold.partition import number_keys

# As in Delta's change data feed; a row that has changed is one that went and one that came.
CHANGE, INSERT, DELETE = "_change_type", "insert", "delete"


def read_rows(paths: Sequence[str], schema: pa.Schema) -> pa.Table:
    """The rows of some files, in the types of the query's columns, however its times are written."""
    found = [pq.read_table(path, partitioning=None, coerce_int96_timestamp_unit="us") for path in paths]
    columns = [pa.chunked_array([chunk.cast(field.type) for table in found for chunk in table.column(i).chunks],
                                field.type) for i, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def row_changes(old: pa.Table, new: pa.Table) -> pa.Table:
    """The rows that went, then those that came; a row that is there several times counts as often."""
    both = pa.concat_tables([old, new]).combine_chunks()
    number = number_rows(both)
    before, after = number[: old.num_rows], number[old.num_rows :]
    gone, come = surplus(before, after), old.num_rows + surplus(after, before)
    rows = both.take(pa.array(np.concatenate([gone, come])))
    kinds = pa.array([DELETE] * len(gone) + [INSERT] * len(come), pa.string())
    return rows.append_column(pa.field(CHANGE, pa.string(), nullable=False), kinds)


def number_rows(rows: pa.Table) -> np.ndarray:
    """A number for each distinct row."""
    flat = rows
    while any(pa.types.is_struct(kind) for kind in flat.schema.types):
        flat = flat.flatten()
    columns = [column.combine_chunks() for column in flat.columns]
    whole = [column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks) for column in columns]
    return np.unique(number_keys(whole, rows.num_rows), return_inverse=True)[1] if rows.num_rows else np.zeros(0, int)


def surplus(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The places of numbers that stand among some more often than among others, as many as there are more."""
    if not len(some):
        return np.zeros(0, np.int64)
    order = np.argsort(some, kind="stable")
    sorted_ = some[order]
    heads = np.searchsorted(sorted_, sorted_, side="left")
    rank = np.arange(len(sorted_)) - heads
    there = np.sort(others)
    count = np.searchsorted(there, sorted_, side="right") - np.searchsorted(there, sorted_, side="left")
    return np.sort(order[rank >= count])
