"""The form of slices: which of their columns are what, so that several of them can be made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.aggregates.component import Component
from weft.final.fold.partition import number_keys, sort_order
from weft.model.edges import Progression


@dataclass(frozen=True)
class SliceForm:
    """Slices are `keys`, start, `marks` and values, in columns of this order, and time is `cut` at progressions.

    `merging` says which values are a component's, so that slices can be merged; None where they cannot. `names` are
    the columns' names, by which they are found again in what was kept; they tell what a column holds. `types` are
    theirs, for slices that were kept before a column was asked for.
    """

    keys: int
    marks: int
    cut: tuple[Progression, ...]
    merging: tuple[tuple[Component, tuple[int, ...]], ...] | None
    ansi: bool
    names: tuple[str, ...] = ()
    types: tuple[pa.DataType, ...] = ()

    def load(self, data: bytes) -> pa.Table:
        """Slices that were kept, in the order of this form's columns."""
        return self.align(from_bytes(data))

    def align(self, table: pa.Table) -> pa.Table:
        """Slices with this form's columns in its order: what they do not have is what no row brings, and what the form
        does not have is left out."""
        if not self.names or table.column_names == list(self.names):
            return table
        there = set(table.column_names)
        if there.issuperset(self.names):
            return table.select(self.names)
        return pa.table([table.column(name) if name in there else self.nothing(place, table.num_rows)
                         for place, name in enumerate(self.names)], names=list(self.names))

    def nothing(self, place: int, size: int) -> pa.Array:
        """What a column holds where no row came: zeros where it counts, else nulls."""
        kind = self.types[place]
        return pa.array(np.zeros(size, np.int64)).cast(kind) if place in self.counts else pa.nulls(size, kind)

    @property
    def counts(self) -> set[int]:
        """The places of the columns that count, and so are never null."""
        return {self.head + place for component, places in self.merging or ()
                for place, lift in zip(places, component.lifts, strict=False) if lift.counts}

    @property
    def head(self) -> int:
        """How many columns come before the values."""
        return self.keys + 1 + self.marks

    @property
    def float_sums(self) -> set[int]:
        """Which values are sums of floating numbers."""
        return {places[0] for c, places in self.merging or () if c.monoid.starts_at_zero and c.type == "double"}

    def starts(self, table: pa.Table) -> np.ndarray:
        """When slices start."""
        return table.column(self.keys).to_numpy()

    def ends(self, table: pa.Table) -> np.ndarray:
        """When slices end: at the first cut after their start."""
        start = self.starts(table)
        return np.minimum.reduce([start - (start - phase) % period + period for phase, period in self.cut])


def slice_starts(time: np.ndarray, cut: Sequence[Progression]) -> np.ndarray:
    """Where the slice of each time starts: the latest cut that is not after it."""
    return np.maximum.reduce([time - (time - phase) % period for phase, period in cut])


def merge_all(form: SliceForm, table: pa.Table) -> pa.Table:
    """The slices of a table merged into one for each key and set of marks, or as they are where a sum does not fit."""
    return merge_by(form, table, [i for i in range(form.head) if i != form.keys])


def merge_equal_starts(form: SliceForm, table: pa.Table) -> pa.Table:
    """The slices of a table with those of the same key, start and marks merged."""
    return merge_by(form, table, range(form.head))


def merge_by(form: SliceForm, table: pa.Table, by: Sequence[int]) -> pa.Table:
    """The slices of a table merged into one for each value of some columns, or as they are where a sum does not fit."""
    if form.merging is None or not table.num_rows:
        return table
    columns = [c.combine_chunks() for c in table.columns]
    number = number_keys([columns[i] for i in by], table.num_rows)
    order = sort_order(number, columns[form.keys].to_numpy())
    first = np.flatnonzero(np.append(True, np.diff(number[order]) != 0))
    if len(first) == len(order):
        return table
    made: dict[int, pa.Array] = {}
    for component, places in form.merging:
        assert component.monoid.merge is not None
        found = component.monoid.merge([columns[form.head + i] for i in places], order, first, form.ansi)
        if found is None:
            return table
        made |= dict(zip(places, found, strict=True))
    chosen = pa.array(order[first])
    named = [c.take(chosen) for c in columns[: form.head]]
    values = [made[i].cast(columns[form.head + i].type) for i in range(len(columns) - form.head)]
    return pa.Table.from_arrays([*named, *values], schema=table.schema)


def to_bytes(table: pa.Table | pa.RecordBatch, packing: str | None = None) -> bytes:
    """Slices or answers in Arrow's own format, compressed if so wanted."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=packing)) as writer:
        writer.write(table)
    return sink.getvalue().to_pybytes()


def to_store(table: pa.Table) -> bytes:
    """Slices as bytes for a store, which takes and gives back some 40 MB a second: packing them well is faster."""
    return to_bytes(table.combine_chunks(), "zstd")


def from_bytes(data: bytes) -> pa.Table:
    """What `to_bytes` wrote."""
    return pa.ipc.open_stream(data).read_all()
