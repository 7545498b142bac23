"""A bucket's blobs as tables, some of which a worker still holds from an earlier trigger.

Reading and unpacking what was kept takes longer than folding it, and a blob of the past changes in few triggers. So a
worker keeps the tables that it has read or written, each under a mark: a number drawn whenever a blob is written. The
marks of a bucket's blobs are kept with its state, and committed with the blobs themselves. A table is the blob's as the
state has it if it is held under the mark that the state names; after a crash, in another process, or when a trigger is
repeated no table has that mark, and the blob is read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from secrets import randbits

import pyarrow as pa

from weft.final.state.form import SliceForm, from_bytes, to_store
from weft.final.state.history import Blob, BlobStore

# How many bytes of tables a worker holds.
MOST_HELD = 1 << 28


class HeldTables:
    """Tables by their marks, those used last; the rest is let go."""

    def __init__(self, most: int = MOST_HELD):
        self.most, self.size = most, 0
        self.tables: OrderedDict[int, pa.Table] = OrderedDict()

    def get(self, mark: int | None) -> pa.Table | None:
        """The table of a mark, if it is held."""
        if mark is None or mark not in self.tables:
            return None
        self.tables.move_to_end(mark)
        return self.tables[mark]

    def put(self, mark: int, table: pa.Table) -> None:
        """Hold a table, and no more than fits of those before."""
        self.remove(mark)
        self.tables[mark] = table
        self.size += table.nbytes
        while self.size > self.most:
            self.remove(next(iter(self.tables)))

    def remove(self, mark: int | None) -> None:
        """Let a table go."""
        table = None if mark is None else self.tables.pop(mark, None)
        self.size -= 0 if table is None else table.nbytes


class BlobTables:
    """The blobs of a bucket in one trigger; what has no mark, as in state of an older version, is read."""

    def __init__(self, form: SliceForm, store: BlobStore, marks: Mapping[Blob, int], held: HeldTables):
        self.form, self.store, self.marks, self.held = form, store, dict(marks), held

    def get(self, blob: Blob) -> pa.Table | None:
        """A blob's slices or totals, if it is there."""
        mark = self.marks.get(blob)
        found = self.held.get(mark)
        if found is not None:
            return self.form.align(found)
        data = self.store.get(blob)
        if data is None:
            return None
        table = self.form.load(data)
        if mark is not None:
            self.held.put(mark, table)
        return table

    def put(self, blob: Blob, table: pa.Table) -> None:
        """Keep a blob."""
        self.held.remove(self.marks.get(blob))
        whole = table.combine_chunks()
        self.store.put(blob, to_store(whole))
        self.marks[blob] = randbits(63)
        self.held.put(self.marks[blob], whole)

    def remove(self, blob: Blob) -> None:
        """Forget a blob, if it is there."""
        self.held.remove(self.marks.pop(blob, None))
        self.store.remove(blob)

    def narrow(self, blob: Blob) -> None:
        """Write a blob once more where it has columns that nobody reads."""
        data = self.store.get(blob)
        if data is not None and not set(from_bytes(data).column_names) <= set(self.form.names):
            self.put(blob, self.form.load(data))
