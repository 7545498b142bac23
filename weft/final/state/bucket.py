"""A bucket of keys in a stream: new slices and the watermark in, new answers out, the past in a store of blobs.

Runs in a Spark worker, without Spark: the store is Spark's there, and a dictionary in tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256

import numpy as np
import pyarrow as pa

from weft.final.fold.middle import fold_latest
from weft.final.fold.partition import Folding, fold_columns
from weft.final.fold.ragged import Span, fold_ragged
from weft.final.state.form import SliceForm, merge_all
from weft.final.state.history import Blob, BlobStore, HistoryLevels, readings
from weft.final.state.open_slices import BucketLayout, OpenSlices, SlicePiece
from weft.final.state.tables import BlobTables, HeldTables
from weft.model.stages import FinalStage
from weft.model.window import Window

NEVER = -(2**63)


@dataclass(frozen=True)
class BucketPart:
    """An answer stage: its id, what it folds, and the places of the columns of a slice that it reads."""

    id: str
    final: FinalStage
    columns: tuple[int, ...]


@dataclass(frozen=True)
class BucketGrouping:
    """What buckets of one grouping do with slices of a form."""

    form: SliceForm
    windows: tuple[Window, ...]
    levels: HistoryLevels
    parts: tuple[BucketPart, ...]

    @cached_property
    def layout(self) -> BucketLayout:
        """How the blobs of a bucket lie: another layout is another set of columns, levels or reach."""
        levels = self.levels
        text = repr((sorted(self.form.names), levels.sizes, levels.reach))
        return BucketLayout(len(levels.sizes), int(sha256(text.encode()).hexdigest()[:15], 16))


@dataclass(frozen=True)
class BucketMemory:
    """What a bucket remembers besides blobs: the watermark it has answered up to, its last slice, when it wants to be
    called, which pieces of slices wait, the marks of blobs, and how they are laid out, if an older version did not."""

    until: int
    last: int
    timer: int
    waiting: tuple[SlicePiece, ...] = ()
    marks: Mapping[Blob, int] = field(default_factory=dict)
    layout: BucketLayout | None = None


class Bucket:
    """One bucket in one trigger: new slices, which need not be over, and the watermark."""

    def __init__(self, node: BucketGrouping, store: BlobStore, kept: BucketMemory | None, new: pa.Table | None,
                 until: int, held: HeldTables | None = None):
        self.node, self.kept, self.until = node, kept, until
        self.tables = BlobTables(node.form, store, kept.marks if kept else {}, held or HeldTables())
        self._held: dict[Blob, pa.Table | None] = {}
        if kept is not None and kept.layout not in (None, node.layout):
            self.lay_out_anew(kept)
        self.waiting = OpenSlices(node.form, self.tables, kept.waiting if kept else ())
        self.over = self.waiting.advance(new, until)

    def lay_out_anew(self, kept: BucketMemory) -> None:
        """Bring blobs of a plan before into the layout of this one: what nobody reads goes, new levels are filled.

        All slices that a window may read lie in level 0, so totals are made of them as if they had always been.
        """
        levels, before = self.node.levels, kept.layout.levels if kept.layout else 0
        for blob in list(self.tables.marks):
            old = blob.level >= 0 and blob.number < levels.forgotten(min(blob.level, len(levels.sizes) - 1), kept.until)
            if blob.level >= len(levels.sizes) or old:
                self.tables.remove(blob)
            else:
                self.tables.narrow(blob)
        for level in range(before - 1, len(levels.sizes) - 1):
            there = [blob for blob in self.tables.marks if blob.level == level]
            self.merge_into_next(level, [blob for blob in there if levels.is_over(blob, kept.until)])

    def answers(self) -> Iterator[tuple[str, pa.RecordBatch]]:
        """The answers of all windows that end now, each with the id of its part."""
        for part in self.node.parts:
            for batch in self.fold(part):
                yield part.id, batch

    def fold(self, part: BucketPart) -> Iterator[pa.RecordBatch]:
        """The answers of a part as arrays."""
        if self.slices:
            yield from fold_columns(part.final, self.columns(part), self.folding(part))

    def folding(self, part: BucketPart) -> Folding:
        """What folds the windows of a part that end now; where users name an algorithm, nothing but that."""
        span = Span(None if self.kept is None else self.kept.until, self.until)
        return partial(fold_ragged if part.final.forced else fold_latest, span=span)

    def columns(self, part: BucketPart) -> list[pa.Array]:
        """The columns that a part reads of the slices."""
        head = self.node.form.head
        return [*self.slices[:head], *(self.slices[head + i] for i in part.columns)]

    @cached_property
    def slices(self) -> list[pa.Array]:
        """The columns of all slices and totals that windows ending now read; none where there is no slice."""
        tables = [] if self.over is None else [self.over]
        if self.kept is not None:
            tables = [*self.past(self.kept.until, self.until), *tables]
        return [c.combine_chunks() for c in pa.concat_tables(tables).columns] if tables else []

    def past(self, after: int, until: int) -> Iterator[pa.Table]:
        """The kept slices and totals that windows ending now read."""
        levels = self.node.levels
        for reading in readings(levels, after, until):
            table = self.table(reading.blob)
            if table is not None and reading.parts is not None:
                of = self.node.form.starts(table) // levels.sizes[reading.blob.level - 1]
                table = table.filter(pa.array(np.isin(of, reading.parts)))
            if table is not None and table.num_rows:
                yield table

    def table(self, blob: Blob) -> pa.Table | None:
        """The slices or totals of a blob."""
        if blob not in self._held:
            there = self.kept is not None and blob.number <= self.node.levels.number(blob.level, self.kept.last)
            self._held[blob] = self.tables.get(blob) if there else None
        return self._held[blob]

    def add(self, blob: Blob, table: pa.Table) -> None:
        """Put slices or totals into a blob."""
        held = self.table(blob)
        joined = table if held is None else pa.concat_tables([held, table])
        self._held[blob] = joined
        self.tables.put(blob, joined)

    def keep(self) -> BucketMemory | None:
        """Put away the slices that are over, forget what no window reads; None where nothing is left or waits."""
        before, until = self.kept, self.until
        last = NEVER
        if before is not None:
            self.forget(before, until)
            last = before.last
        after = None if before is None else before.until
        touched = self.open(0, after)
        if self.over is not None:
            touched += self.put_away(self.over, until)
            last = max(last, int(self.node.form.starts(self.over).max()))
        self.merge(dict.fromkeys(touched), after, until)
        ends = [end for end in (next_window_end(self.node.windows, last, until), self.waiting.low) if end is not None]
        if not ends and last >= until - self.node.levels.reach:
            ends = [last + self.node.levels.reach + 1]  # a window that is added meanwhile may begin before it
        if not ends:
            return None
        return BucketMemory(until, last, min(ends), tuple(self.waiting.pieces), self.tables.marks, self.node.layout)

    def put_away(self, new: pa.Table, until: int) -> list[Blob]:
        """Add new slices to their blobs, except those that no later window reads; gives the blobs."""
        number = self.node.form.starts(new) // self.node.levels.sizes[0]
        found = [int(n) for n in np.unique(number) if n >= self.node.levels.forgotten(0, until)]
        for each in found:
            self.add(Blob(0, each), new.filter(pa.array(number == each)))
        return [Blob(0, each) for each in found]

    def merge(self, touched: dict[Blob, None], after: int | None, until: int) -> None:
        """Make totals of the blobs that are over now and were not before."""
        levels = self.node.levels
        for level in range(len(levels.sizes) - 1):
            above = dict.fromkeys(self.open(level + 1, after))
            over = [blob for blob in touched if levels.is_over(blob, until)
                    and (after is None or not levels.is_over(blob, after))]
            touched = above | dict.fromkeys(self.merge_into_next(level, over))

    def merge_into_next(self, level: int, blobs: Iterable[Blob]) -> list[Blob]:
        """Make totals of blobs of a level that are over; gives the blobs that got them."""
        levels, found = self.node.levels, []
        for blob in blobs:
            table = self.table(blob)
            if table is not None:
                target = Blob(level + 1, blob.number * levels.sizes[level] // levels.sizes[level + 1])
                self.add(target, merge_all(self.node.form, table))
                found.append(target)
        return found

    def open(self, level: int, after: int | None) -> list[Blob]:
        """The blobs of a level that were begun and not over at a time."""
        if after is None:
            return []
        low, high = (self.node.levels.number(level, t) for t in (after - self.node.levels.lag, after))
        return [Blob(level, number) for number in range(low, high + 1)]

    def forget(self, before: BucketMemory, until: int) -> None:
        """Remove the blobs that windows ending after an earlier watermark read and those ending after `until` do not.
        """
        levels = self.node.levels
        for level in range(len(levels.sizes)):
            there = levels.number(level, before.last) + 1
            for number in range(levels.forgotten(level, before.until), min(levels.forgotten(level, until), there)):
                self.tables.remove(Blob(level, number))
                self._held[Blob(level, number)] = None


def next_window_end(windows: Sequence[Window], last: int, until: int) -> int | None:
    """The next moment at which a window that may hold a slice ends, or None where none ever will."""
    ends = []
    for window in windows:
        phase = (window.phase + window.range) % window.slide
        end = ((until - phase) // window.slide + 1) * window.slide + phase
        if end - window.range <= last:
            ends.append(end)
    return min(ends, default=None)
