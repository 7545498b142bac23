"""Chunks: rows of a stream in a store of blobs, added to without moving those that are there.

A chunk is merged with the one before it where that is at most twice as large, so that a place has few of them and a row
is moved seldom: as often as the number of rows has binary digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.errors import RunError
from weft.final.state.form import from_bytes, to_store
from weft.final.state.history import Blob, BlobStore

INDEX = 99  # the level of the blobs that list chunks
UNIT = 1_000_000  # microseconds; rows that are nearer to the watermark lie together
Trim = Callable[[pa.Table], pa.Table]


class Chunk(NamedTuple):
    """Rows that lie together: where they belong, the blob that holds them, how many, and the time of the first."""

    place: int
    number: int
    rows: int
    low: int


def keep_all_rows(table: pa.Table) -> pa.Table:
    """All rows."""
    return table


class Chunks:
    """The chunks of one level of a store; `time` is the column of their rows' times."""

    def __init__(self, store: BlobStore, level: int, time: str):
        self.store, self.level, self.time = store, level, time
        self.index = Blob(INDEX, level)
        self.before = store.get(self.index) or b""
        self.listed = [Chunk(*row) for row in np.frombuffer(self.before, np.int64).reshape(-1, 4).tolist()]

    def save(self) -> None:
        """Put down which chunks there are, if that has changed."""
        now = np.array(self.listed, np.int64).tobytes()
        if now != self.before:
            self.store.put(self.index, now)

    @property
    def low(self) -> int | None:
        """The time of the first row, if there is one."""
        return min((chunk.low for chunk in self.listed), default=None)

    def add(self, place: int, table: pa.Table, trim: Trim = keep_all_rows) -> None:
        """Put rows at a place; where chunks are merged, `trim` leaves out what is not needed any more."""
        older = self.last(place)
        while older is not None and older.rows <= 2 * table.num_rows:
            table = trim(join_tables([self.taken(older), table]))
            older = self.last(place)
        if table.num_rows:
            number = 1 + max((chunk.number for chunk in self.listed), default=-1)
            low = int(table.column(self.time).to_numpy().min())
            self.listed.append(Chunk(place, number, table.num_rows, low))
            self.store.put(Blob(self.level, number), to_store(table))

    def last(self, place: int) -> Chunk | None:
        """The chunk that was added last to a place."""
        return max((chunk for chunk in self.listed if chunk.place == place), key=lambda c: c.number, default=None)

    def read(self, place: int) -> list[pa.Table]:
        """The rows at a place."""
        return [self.rows(chunk) for chunk in self.listed if chunk.place == place]

    def rows(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk."""
        data = self.store.get(Blob(self.level, chunk.number))
        if data is None:
            raise RunError("a stream's state lacks rows that it lists: start with a new checkpoint.")
        return from_bytes(data)

    def taken(self, chunk: Chunk) -> pa.Table:
        """The rows of a chunk, which is then no more."""
        found = self.rows(chunk)
        self.listed.remove(chunk)
        self.store.remove(Blob(self.level, chunk.number))
        return found


class PendingRows(Chunks):
    """Rows that the watermark has not passed.

    Rows lie by how far they are from the watermark, in powers of two: each time the watermark comes to a chunk, what is
    left of it is spread again, and has come at least twice as near.
    """

    def wait(self, table: pa.Table, until: int) -> None:
        """Put away rows from the watermark `until` on."""
        away = (table.column(self.time).to_numpy() - until) // UNIT
        place = np.frexp(away.astype(np.float64))[1]  # how many binary digits
        for each in np.unique(place).tolist():
            self.add(each, table.filter(pa.array(place == each)))

    def passed(self, until: int) -> list[pa.Table]:
        """The rows before the watermark, which wait no more."""
        found = []
        for table in [self.taken(chunk) for chunk in list(self.listed) if chunk.low < until]:
            over = table.column(self.time).to_numpy() < until
            found.append(table.filter(pa.array(over)))
            self.wait(table.filter(pa.array(~over)), until)
        return found


def join_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of the same columns as one."""
    if any(table.schema != tables[0].schema for table in tables):
        raise RunError("the source has other columns or types than the rows that a stream's state holds: start with a "
                       "new checkpoint.")
    return pa.concat_tables(tables)
