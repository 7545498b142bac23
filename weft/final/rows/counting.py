"""Counting the rows of a stream: rows and the watermark in, out come those that windows of rows now end at.

Runs in a Spark worker, without Spark: the store is Spark's there, and a dictionary in tests. Rows of one key and time
are a *tie*. Who is first among them Spark says, for only Spark compares all types as Spark does. So a row gets the
numbers that its tie begins and ends with. They hold once the watermark is past: a tie is counted whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from weft.final.fold.partition import number_keys
from weft.final.rows.chunks import Chunks, PendingRows, join_tables
from weft.final.state.form import from_bytes, to_store
from weft.final.state.history import Blob, BlobStore
from weft.model.window import Window

# Columns beside the source's own: keys, the group that a key belongs to, event time in microseconds; a tie's numbers;
# and in what is sent the first row that a window needs, and the first that is new.
KEY, KEY_GROUP, AT, FIRST, LAST = "__weft_key_{}", "__weft_key_group", "__weft_at", "__weft_first", "__weft_last"
LOW, FRESH = "__weft_low", "__weft_fresh"
WAITING, KEPT, TOTALS = 0, 1, 2  # levels of blobs
COUNT = "count"
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class CountedRows:
    """What a trigger found: rows to be sent, how many came too late, and of each window how many end now."""

    rows: tuple[pa.Table, ...]
    late: int
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """Rows of one group with their numbers, and of each key, by its id, how many rows it had before and has now."""

    rows: pa.Table
    names: tuple[pa.Array, ...]
    before: np.ndarray
    after: np.ndarray


class RowCounter:
    """One bucket of keys in one trigger; `until` is the watermark up to which it has counted, None at first."""

    def __init__(self, keys: int, windows: Sequence[Window], store: BlobStore, until: int | None):
        self.keys, self.windows, self.store, self.until = keys, tuple(windows), store, until
        self.waiting, self.kept = PendingRows(store, WAITING, AT), Chunks(store, KEPT, AT)

    def advance(self, new: pa.Table | None, until: int) -> CountedRows:
        """Count all rows before the watermark `until`, and keep what later windows need."""
        timely, late = (new, 0) if new is None else self.in_time(new)
        ready = self.waiting.passed(until)
        if timely is not None:
            over = timely.column(AT).to_numpy() < until
            ready.append(timely.filter(pa.array(over)))
            self.waiting.wait(timely.filter(pa.array(~over)), until)
        found = [self.count(group, rows) for group, rows in split_by_key_group(ready)]
        self.waiting.save()
        self.kept.save()
        ends = [sum(int((told.after // w.slide - told.before // w.slide).sum()) for told, _ in found)
                for w in self.windows]
        return CountedRows(tuple(sent for _, sent in found if sent is not None), late, tuple(ends))

    def in_time(self, new: pa.Table) -> tuple[pa.Table, int]:
        """The rows that come before the bucket has counted beyond them, and how many do not."""
        if self.until is None:
            return new, 0
        timely = new.column(AT).to_numpy() >= self.until
        return (new if timely.all() else new.filter(pa.array(timely))), int((~timely).sum())

    def count(self, group: int, rows: pa.Table) -> tuple[Tally, pa.Table | None]:
        """Count the rows of a group; gives what windows that end now need, if one does."""
        data = self.store.get(Blob(TOTALS, group))
        told = number_rows(rows, None if data is None else from_bytes(data), self.keys)
        low = first_needed(self.windows, told.before, told.after)
        sent = self.sent(group, told, low) if (low < NEVER).any() else None
        trim = partial(trim_rows, names=told.names, low=next_needed(self.windows, told.after))
        self.kept.add(group, trim(told.rows), trim)
        totals = pa.table([*told.names, pa.array(told.after)], [*map(KEY.format, range(self.keys)), COUNT])
        self.store.put(Blob(TOTALS, group), to_store(totals))
        return told, sent

    def sent(self, group: int, told: Tally, low: np.ndarray) -> pa.Table:
        """The kept and new rows from `low` on of the keys at which a window ends."""
        tables = [trim_rows(table, told.names, low) for table in (*self.kept.read(group), told.rows)]
        rows = join_tables(tables)
        ids = find_ids(told.names, rows)
        columns = [pa.array(values[ids]) for values in (np.maximum(low, 0), told.before)]
        named = rows.append_column(LOW, columns[0]).append_column(FRESH, columns[1])
        return named.drop_columns([*map(KEY.format, range(self.keys)), KEY_GROUP, AT, LAST])


def split_by_key_group(tables: Sequence[pa.Table]) -> list[tuple[int, pa.Table]]:
    """Rows by their group."""
    filled = [table for table in tables if table.num_rows]
    if not filled:
        return []
    rows = join_tables(filled)
    group = rows.column(KEY_GROUP).to_numpy()
    return [(each, rows.filter(pa.array(group == each))) for each in np.unique(group).tolist()]


def number_rows(rows: pa.Table, totals: pa.Table | None, keys: int) -> Tally:
    """The rows of some keys in the order of key and time, with the numbers of their ties."""
    mine = key_columns(rows, keys)
    known = key_columns(totals, keys) if totals is not None else tuple(column[:0] for column in mine)
    size = totals.num_rows if totals is not None else 0
    names = tuple(pa.concat_arrays(pair) for pair in zip(known, mine, strict=True))
    ids, heads = identify_keys(names, size + rows.num_rows)
    before = np.zeros(len(heads), np.int64)
    if totals is not None:
        before[:size] = totals.column(COUNT).to_numpy()
    here, at = ids[size:], rows.column(AT).to_numpy()
    order = np.lexsort((at, here))
    after = before + np.bincount(here, minlength=len(heads))
    first, last = find_ties(here[order], at[order], before)
    numbered = rows.take(pa.array(order)).append_column(FIRST, pa.array(first)).append_column(LAST, pa.array(last))
    return Tally(numbered, tuple(name.take(pa.array(heads)) for name in names), before, after)


def find_ties(ids: np.ndarray, at: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row, sorted by key and time, the first and the last number of the rows of its key and time."""
    key = np.append(True, ids[1:] != ids[:-1])
    tie = key | np.append(True, at[1:] != at[:-1])
    place = np.arange(len(ids))
    number = place - np.repeat(np.flatnonzero(key), run_lengths(key)) + before[ids]
    heads, sizes = np.flatnonzero(tie), run_lengths(tie)
    first = np.repeat(number[heads], sizes)
    return first, first + np.repeat(sizes, sizes) - 1


def run_lengths(head: np.ndarray) -> np.ndarray:
    """How long the runs are that begin at the heads."""
    return np.diff(np.append(np.flatnonzero(head), len(head)))


def key_columns(table: pa.Table, keys: int) -> tuple[pa.Array, ...]:
    """The key columns of rows or totals."""
    return tuple(one_chunk(table.column(KEY.format(i))) for i in range(keys))


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def identify_keys(names: Sequence[pa.Array], size: int) -> tuple[np.ndarray, np.ndarray]:
    """An id for every row, the same for the same key, by the place of its first row; and these places."""
    _, heads, place = np.unique(number_keys(names, size), return_index=True, return_inverse=True)
    order = np.argsort(heads)
    ids = np.empty_like(order)
    ids[order] = np.arange(len(order))
    return ids[place], heads[order]


def find_ids(names: tuple[pa.Array, ...], rows: pa.Table) -> np.ndarray:
    """The ids of rows whose keys are among the names: the id of a key is its place there."""
    if not names:
        return np.zeros(rows.num_rows, np.int64)
    mine = key_columns(rows, len(names))
    both = [pa.concat_arrays(pair) for pair in zip(names, mine, strict=True)]
    return identify_keys(both, len(names[0]) + rows.num_rows)[0][len(names[0]) :]


def trim_rows(rows: pa.Table, names: tuple[pa.Array, ...], low: np.ndarray) -> pa.Table:
    """The rows from the number `low` of their key on, with all of a tie that reaches there."""
    needed = rows.column(LAST).to_numpy() >= low[find_ids(names, rows)]
    return rows if needed.all() else rows.filter(pa.array(needed))


def first_needed(windows: Sequence[Window], before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """For each key the first number in a window that ends after row `before` and not after row `after`, or NEVER."""
    low = np.full(len(before), NEVER)
    for window in windows:
        end = (before // window.slide + 1) * window.slide
        low = np.minimum(low, np.where(end <= after, end - window.range, NEVER))
    return low


def next_needed(windows: Sequence[Window], after: np.ndarray) -> np.ndarray:
    """For each key the first number in a window that ends after row `after`."""
    return first_needed(windows, after, np.full(len(after), NEVER))
