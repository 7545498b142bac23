"""A bucket of keys in a stream: new slices and the watermark in, new answers out, the past in a store of blobs.

Runs in a Spark worker, without Spark: the store is Spark's there, and a dictionary in tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from weft.aggregates.component import Component
from weft.final.merge import merge_columns
from weft.final.partition import fold_columns, number_keys, sort_order
from weft.final.past import Blob, Levels, readings
from weft.final.steps import Span, fold_steps
from weft.model.window import Window
from weft.stages.definition import FinalStage


@dataclass(frozen=True)
class Part:
    """An answer stage of a node: its number in the stream, what it folds, and the columns of a slice that it reads."""

    number: int
    final: FinalStage
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """What buckets of one grouping do: slices are `keys`, start, `marks` and values, in columns of this order.

    `merging` says which columns are a component's, so that slices can be merged; None where they cannot.
    """

    keys: int
    marks: int
    windows: tuple[Window, ...]
    levels: Levels
    parts: tuple[Part, ...]
    merging: tuple[tuple[Component, tuple[int, ...]], ...] | None
    ansi: bool


@dataclass(frozen=True)
class Kept:
    """What a bucket remembers besides blobs: the watermark it has answered up to, its last slice, and its timer."""

    until: int
    last: int
    timer: int


class Store(Protocol):
    """Where blobs are kept."""

    def get(self, blob: Blob) -> bytes | None:
        """A blob's bytes, if it is there."""

    def put(self, blob: Blob, data: bytes) -> None:
        """Keep a blob."""

    def remove(self, blob: Blob) -> None:
        """Forget a blob, if it is there."""

    def clear(self) -> None:
        """Forget all blobs."""


class Bucket:
    """One bucket in one trigger."""

    def __init__(self, node: Node, store: Store, kept: Kept | None):
        self.node, self.store, self.kept = node, store, kept
        self._held: dict[Blob, pa.Table | None] = {}

    def answers(self, new: pa.Table | None, until: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The answers of all windows that end now, each with the number of its part."""
        after = None if self.kept is None else self.kept.until
        tables = [] if new is None else [new]
        if after is not None:
            tables = [*self.past(after, until), *tables]
        if not tables:
            return
        columns = [c.combine_chunks() for c in pa.concat_tables(tables).columns]
        head = self.node.keys + 1 + self.node.marks
        folding = partial(fold_steps, span=Span(after, until))
        for part in self.node.parts:
            read = [*columns[:head], *(columns[head + i] for i in part.columns)]
            for batch in fold_columns(part.final, read, folding):
                yield part.number, batch

    def past(self, after: int, until: int) -> Iterator[pa.Table]:
        """The kept slices and totals that windows ending now read."""
        levels = self.node.levels
        for reading in readings(levels, after, until):
            table = self.table(reading.blob)
            if table is not None and reading.parts is not None:
                of = self.starts(table) // levels.sizes[reading.blob.level - 1]
                table = table.filter(pa.array(np.isin(of, reading.parts)))
            if table is not None and table.num_rows:
                yield table

    def starts(self, table: pa.Table) -> np.ndarray:
        """When slices start."""
        return table.column(self.node.keys).to_numpy()

    def table(self, blob: Blob) -> pa.Table | None:
        """The slices or totals of a blob."""
        if blob not in self._held:
            data = self.store.get(blob)
            self._held[blob] = None if data is None else from_bytes(data)
        return self._held[blob]

    def add(self, blob: Blob, table: pa.Table) -> None:
        """Put slices or totals into a blob."""
        held = self.table(blob)
        joined = table if held is None else pa.concat_tables([held, table])
        self._held[blob] = joined
        self.store.put(blob, to_bytes(joined, "lz4"))

    def keep(self, new: pa.Table | None, until: int) -> Kept | None:
        """Put away new slices, merge what is over, forget what no window reads; None where nothing is left."""
        levels, before = self.node.levels, self.kept
        if before is not None and until - before.until > levels.reach + levels.sizes[-1]:
            self.store.clear()
            self._held.clear()
        elif before is not None:
            self.forget(before.until, until)
        after = None if before is None else before.until
        touched = [*self.open(0, after), *([] if new is None else self.put_away(new, until))]
        self.merge(dict.fromkeys(touched), after, until)
        last = max(before.last if before else -(2**63), int(self.starts(new).max()) if new is not None else -(2**63))
        timer = next_end(self.node.windows, last, until)
        return None if timer is None else Kept(until, last, timer)

    def put_away(self, new: pa.Table, until: int) -> list[Blob]:
        """Add new slices to their blobs, except those that no later window reads; gives the blobs."""
        number = self.starts(new) // self.node.levels.sizes[0]
        found = [int(n) for n in np.unique(number) if n >= self.node.levels.forgotten(0, until)]
        for each in found:
            self.add(Blob(0, each), new.filter(pa.array(number == each)))
        return [Blob(0, each) for each in found]

    def merge(self, touched: dict[Blob, None], after: int | None, until: int) -> None:
        """Make totals of the blobs that are over now and were not before."""
        levels = self.node.levels
        for level in range(len(levels.sizes) - 1):
            above = dict.fromkeys(self.open(level + 1, after))
            for blob in touched:
                if not levels.is_over(blob, until) or (after is not None and levels.is_over(blob, after)):
                    continue
                table = self.table(blob)
                if table is not None:
                    target = Blob(level + 1, blob.number * levels.sizes[level] // levels.sizes[level + 1])
                    self.add(target, merged(self.node, table))
                    above[target] = None
            touched = above

    def open(self, level: int, after: int | None) -> list[Blob]:
        """The blobs of a level that were begun and not over at a time."""
        if after is None:
            return []
        low, high = (self.node.levels.number(level, t) for t in (after - self.node.levels.lag, after))
        return [Blob(level, number) for number in range(low, high + 1)]

    def forget(self, after: int, until: int) -> None:
        """Remove the blobs that windows ending after `after` read and those ending after `until` do not."""
        levels = self.node.levels
        for level in range(len(levels.sizes)):
            for number in range(levels.forgotten(level, after), levels.forgotten(level, until)):
                self.store.remove(Blob(level, number))
                self._held[Blob(level, number)] = None


def merged(node: Node, table: pa.Table) -> pa.Table:
    """The slices of a table merged into one for each key and set of marks, or as they are where a sum does not fit."""
    return merged_by(node, table, [i for i in range(node.keys + 1 + node.marks) if i != node.keys])


def condensed(node: Node, table: pa.Table) -> pa.Table:
    """The slices of a table with those of the same key, start and marks merged: finer groupings bring several."""
    return merged_by(node, table, range(node.keys + 1 + node.marks))


def merged_by(node: Node, table: pa.Table, by: Sequence[int]) -> pa.Table:
    """The slices of a table merged into one for each value of some columns, or as they are where a sum does not fit."""
    columns = [c.combine_chunks() for c in table.columns]
    start, head = columns[node.keys].to_numpy(), node.keys + 1 + node.marks
    number = number_keys([columns[i] for i in by], len(start))
    order = sort_order(number, start)
    first = np.flatnonzero(np.append(True, np.diff(number[order]) != 0))
    if len(first) == len(order) or node.merging is None:
        return table
    made: dict[int, pa.Array] = {}
    for component, places in node.merging:
        found = merge_columns(component, [columns[head + i] for i in places], order, first, node.ansi)
        if found is None:
            return table
        made |= dict(zip(places, found, strict=True))
    chosen = pa.array(order[first])
    named = [c.take(chosen) for c in columns[:head]]
    values = [made[i].cast(columns[head + i].type) for i in range(len(columns) - head)]
    return pa.Table.from_arrays([*named, *values], schema=table.schema)


def next_end(windows: Sequence[Window], last: int, until: int) -> int | None:
    """The next moment at which a window that may hold a slice ends, or None where none ever will."""
    ends = []
    for window in windows:
        phase = (window.phase + window.range) % window.slide
        end = ((until - phase) // window.slide + 1) * window.slide + phase
        if end - window.range <= last:
            ends.append(end)
    return min(ends, default=None)


def to_bytes(table: pa.Table | pa.RecordBatch, packing: str | None = None) -> bytes:
    """Slices or answers in Arrow's own format; packed where they go to the store, which is slower than packing."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


def from_bytes(data: bytes) -> pa.Table:
    """What `to_bytes` wrote."""
    return pa.ipc.open_stream(data).read_all()
