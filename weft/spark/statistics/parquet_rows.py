"""Counting keys in the first rows of local Parquet files without Spark, whose first job takes seconds to start.

How many rows there are in a second the footers say, of all rows: the first ones may be those of a busy hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.model.statistics import Statistics

BATCH = 1 << 16
MOST_FOOTERS = 64


def count_parquet_keys(paths: Sequence[str], time: str, key_sets: Sequence[tuple[str, ...]],
                       rows: int) -> tuple[Statistics, ...] | None:
    """The statistics of groupings of the first rows of some files; None where Spark must read them: what is asked is no
    column of the files, or its values are none that Arrow compares."""
    columns = {key: key.strip("`") for key in (time, *(key for keys in key_sets for key in keys))}
    try:
        table = read_first(paths, list(dict.fromkeys(columns.values())), rows)
        span = time_span(table[columns[time]])
        rate = rows_per_microsecond(paths, columns[time])
        codes = {key: code_values(table[columns[key]]) for key in {key for keys in key_sets for key in keys}}
    except (OSError, KeyError, pa.ArrowException):
        return None
    if span is None:
        return None
    count, over = max(float(len(table)), 1.0), max(len(table) / rate if rate else span, 1.0)
    return tuple(Statistics(count, count_distinct([codes[key] for key in keys]), over) for keys in key_sets)


def read_first(paths: Sequence[str], columns: Sequence[str], rows: int) -> pa.Table:
    """Columns of the first rows of files, in their order; raises where a file has not all of them."""
    batches = list(first_batches(paths, columns, rows))
    return pa.Table.from_batches(batches) if batches else pa.table({column: pa.nulls(0) for column in columns})


def first_batches(paths: Sequence[str], columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """So many rows of files, and no more files than these rows are in."""
    left = rows
    for path in paths:
        with pq.ParquetFile(path) as file:
            if missing := set(columns) - set(file.schema_arrow.names):
                raise KeyError(*missing)
            for batch in file.iter_batches(min(BATCH, left), columns=list(columns)):
                yield batch[:left].select(list(columns))
                left -= min(left, len(batch))
                if not left:
                    return


def time_span(column: pa.ChunkedArray) -> float | None:
    """Microseconds from the first to the last time; None where the column holds no times."""
    if len(column) and not pa.types.is_timestamp(column.type):
        return None
    ends = pc.min_max(column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    return float(last - first) if first is not None else 0.0


def rows_per_microsecond(paths: Sequence[str], time: str) -> float | None:
    """How many rows there are for each microsecond by the footers of files, of many those of some that lie evenly among
    them; None where they do not tell the first and last time."""
    step = max((len(paths) - 1) / (MOST_FOOTERS - 1), 1.0)
    some = [paths[int(i * step)] for i in range(min(len(paths), MOST_FOOTERS))]
    count, ends = 0, []
    for path in some:
        footer = pq.read_metadata(path)
        count += footer.num_rows
        ends += [found for group in range(footer.num_row_groups) for found in group_ends(footer.row_group(group), time)]
    span = (max(ends) - min(ends)) / timedelta(microseconds=1) if ends else 0.0
    return count * len(paths) / len(some) / span if span else None


def group_ends(group: pq.RowGroupMetaData, time: str) -> Iterator[datetime]:
    """The first and last time of a row group, as far as its statistics tell them."""
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == time and column.statistics is not None and column.statistics.has_min_max:
            yield from (end for end in (column.statistics.min, column.statistics.max) if isinstance(end, datetime))


def code_values(column: pa.ChunkedArray) -> np.ndarray:
    """A number for every value of a column, and one for null."""
    return column.combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)


def count_distinct(codes: Sequence[np.ndarray]) -> float:
    """How many different keys there are; without any column there is one."""
    together: np.ndarray | None = None
    for column in codes:
        pairs = column if together is None else together * (column.max(initial=0) + 2) + column
        together = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return float(together.max(initial=0) + 1) if together is not None else 1.0
