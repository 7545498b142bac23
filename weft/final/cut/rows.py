"""Rows to slices: each row brings a value to every column of its slice, and equal slices are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates.monoids.base import AS_IS
from weft.final.batches import hold_batches
from weft.final.cut.groupings import GroupingCut, give_up, pack_slices
from weft.final.fold.partition import compact_numbers, encode_key, order_by_digits, sort_order
from weft.final.memory import reuse_memory
from weft.final.project import AnswerColumns, AnswerValues, NeedsSpark, Projection, evaluate
from weft.final.project.tree import Node
from weft.final.state.form import SliceForm, slice_starts

MOST_BYTES = 1 << 28  # of rows that are cut together: fewer make more slices of the same start


@dataclass(frozen=True)
class RowColumns:
    """The columns of rows that a scan reads; a value that is None is one, and one that counts says whether it is there.

    Rows count where `keep` is true, or, of scans with marks that keep no row without, where there is a mark.
    """

    time: str
    keys: tuple[str, ...]
    marks: tuple[str, ...]
    values: tuple[tuple[str | None, bool], ...]
    keep: str | None = None
    marked_only: bool = False

    @property
    def names(self) -> set[str]:
        """All that it reads but the time."""
        named = (*self.keys, *self.marks, *(name for name, _ in self.values), self.keep)
        return {name for name in named if name is not None}


@dataclass(frozen=True)
class RowCut:
    """How the slices of one scan are made of a source's rows, and the groupings that read them."""

    form: SliceForm
    rows: RowColumns
    groupings: tuple[GroupingCut, ...]


@dataclass(frozen=True, eq=False)
class ComputedColumns:
    """Columns that workers compute of the rows: their names and expressions."""

    names: tuple[str, ...]
    nodes: tuple[Node, ...]

    def of(self, rows: pa.Table) -> dict[str, pa.Array]:
        """The columns; raises NeedsSpark where Spark raises an error, or might."""
        values = {name: AnswerValues(rows.column(name).chunk(0)) for name in rows.column_names}
        made = evaluate(Projection((), None, self.nodes), AnswerColumns(rows.num_rows, values))
        return dict(zip(self.names, made, strict=True))


@dataclass(frozen=True)
class RowCutter:
    """Makes the slices of all scans out of the rows of a partition."""

    cuts: tuple[RowCut, ...]
    computed: ComputedColumns

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of a bucket, a grouping, and the slices that have both as bytes."""
        reuse_memory()
        try:
            for held in hold_batches(batches, MOST_BYTES):
                yield from self.cut(in_one_piece(held))
        except (NeedsSpark, pa.ArrowException) as reason:
            yield give_up(str(reason))

    def cut(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """The slices of some rows; raises NeedsSpark, or what Arrow does, where only Spark can make them."""
        rows = HeldRows(table, self.computed.of(table))
        for cut in self.cuts:
            slices = cut_slices(rows, cut)
            if slices is not None:
                yield from (pack_slices(slices, cut.form, each) for each in cut.groupings)


def with_whole_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch without dictionaries, since only some files have them."""
    arrays = [array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array for array in batch.columns]
    return pa.record_batch(arrays, names=batch.schema.names)


def in_one_piece(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """The rows of batches, each column in one array; raises NeedsSpark where texts are too long for that."""
    alike = batches if len({batch.schema for batch in batches}) == 1 else [with_whole_texts(each) for each in batches]
    table = pa.Table.from_batches(alike).combine_chunks()
    if any(column.num_chunks > 1 for column in table.columns):
        raise NeedsSpark("texts are too long for one array")
    return table


@dataclass
class HeldRows:
    """Rows, and what several scans ask of them: codes of keys, and their order by keys and time."""

    table: pa.Table
    computed: Mapping[str, pa.Array]
    codes: dict[str, tuple[np.ndarray, int]] = field(default_factory=dict)
    orders: dict[tuple[str, ...], OrderedRows] = field(default_factory=dict)

    def column(self, name: str) -> pa.Array:
        """A column in one piece."""
        return self.computed[name] if name in self.computed else self.table.column(name).chunk(0)

    def code(self, name: str) -> tuple[np.ndarray, int]:
        """A number for each distinct value of a column, and how many there are."""
        if name not in self.codes:
            self.codes[name] = encode_key(self.column(name))
        return self.codes[name]

    def by_key(self, keys: tuple[str, ...], time: str) -> OrderedRows:
        """The rows by keys, then by time: the rows of a slice lie together, however time is cut."""
        if keys not in self.orders:
            times = self.column(time).to_numpy()
            number = number_groups([self.code(name) for name in keys], len(times))
            self.orders[keys] = OrderedRows(self, order_by_time(number, times), number, times)
        return self.orders[keys]


@dataclass
class OrderedRows:
    """Rows in an order; `number` tells their keys apart, and columns are taken once."""

    rows: HeldRows
    order: np.ndarray
    number: np.ndarray
    time: np.ndarray
    taken: dict[tuple[str | None, bool], pa.Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.number, self.time, self.places = self.number[self.order], self.time[self.order], pa.array(self.order)

    def value(self, name: str | None, counts: bool = False) -> pa.Array:
        """What rows bring to a column."""
        if (name, counts) not in self.taken:
            self.taken[name, counts] = self._take(name, counts)
        return self.taken[name, counts]

    def _take(self, name: str | None, counts: bool) -> pa.Array:
        if name is None:
            return pa.array(np.ones(len(self.order), np.int64))
        if counts:
            return self.value(name).is_valid().cast(pa.int64())
        return self.rows.column(name).take(self.places)


def order_by_time(number: np.ndarray, time: np.ndarray) -> np.ndarray:
    """The order by key and time; rows that come in the order of time are only sorted by key."""
    if (time[1:] < time[:-1]).any():
        before = np.argsort(time, kind="stable")
        return before[order_by_digits(number[before])]
    return order_by_digits(number)


def cut_slices(rows: HeldRows, cut: RowCut) -> pa.Table | None:
    """The slices of a scan's rows, None where it has none; they are left unmerged where a sum does not fit."""
    held = rows.by_key(cut.rows.keys, cut.rows.time)
    start = slice_starts(held.time, cut.form.cut)
    kept, number = kept_rows(held, cut), held.number
    if cut.rows.marks:
        number = number_groups([(number, int(number.max()) + 1), *(encode_key(held.value(m)) for m in cut.rows.marks)],
                               len(number))
        kept = by_mark(kept, number, start)
    if kept is not None:
        start, number = start[kept], number[kept]
    if not len(start):
        return None
    first = np.flatnonzero(np.append(True, (number[1:] != number[:-1]) | (start[1:] != start[:-1])))
    return merge_rows(held, cut, kept, first, start)


def kept_rows(held: OrderedRows, cut: RowCut) -> np.ndarray | None:
    """The places of the rows that count; None where all do."""
    if cut.rows.keep is not None:
        return np.flatnonzero(held.value(cut.rows.keep).fill_null(False).to_numpy(zero_copy_only=False))
    if cut.rows.marked_only:
        return np.flatnonzero(np.bitwise_or.reduce([held.value(name).to_numpy() for name in cut.rows.marks]))
    return None


def by_mark(kept: np.ndarray | None, number: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The places of the rows that count, those of a slice and the same marks together."""
    if kept is None:
        return sort_order(number, start)
    return kept[sort_order(number[kept], start[kept])] if len(kept) else kept


def number_groups(codes: Sequence[tuple[np.ndarray, int]], size: int) -> np.ndarray:
    """A number for each distinct combination of codes."""
    number, distinct = np.zeros(size, np.int64), 1
    for code, count in codes:
        if distinct * count > 2**62:
            number, distinct = compact_numbers(number)
        number, distinct = number * count + code, distinct * count
    return number


def merge_rows(held: OrderedRows, cut: RowCut, kept: np.ndarray | None, first: np.ndarray,
               start: np.ndarray) -> pa.Table:
    """The slices of rows that lie in the order of their slices; a run of rows is a slice."""
    form, chosen = cut.form, None if kept is None else pa.array(kept)
    taken: dict[tuple[str | None, bool], pa.Array] = {}
    for each in cut.rows.values:
        if each not in taken:
            taken[each] = held.value(*each) if chosen is None else held.value(*each).take(chosen)
    values = [taken[each] for each in cut.rows.values]
    for i in form.float_sums:
        values[i] = pc.add(values[i], 0.0)  # a sum of -0.0 alone is 0.0, as it is in Spark
    merged = merge_runs(form, values, first)
    heads = first if merged is not None else np.arange(len(start))
    place = held.places.take(pa.array(heads if kept is None else kept[heads]))
    head = [*(plain_texts(held.rows.column(name).take(place)) for name in cut.rows.keys), pa.array(start[heads]),
            *(held.rows.column(name).take(place) for name in cut.rows.marks)]
    return pa.table([*head, *(values if merged is None else merged)], names=list(form.names))


def plain_texts(key: pa.Array) -> pa.Array:
    """A key as slices have it, where rows have it as places in a dictionary."""
    return key.dictionary_decode() if isinstance(key, pa.DictionaryArray) else key


def merge_runs(form: SliceForm, values: Sequence[pa.Array], first: np.ndarray) -> list[pa.Array] | None:
    """The values of each run merged, None where a sum does not fit."""
    made: dict[int, pa.Array] = {}
    for component, places in form.merging or ():
        assert component.monoid.merge is not None
        found = component.monoid.merge([values[i] for i in places], AS_IS, first, form.ansi)
        if found is None:
            return None
        made |= dict(zip(places, found, strict=True))
    return [array if array.type == value.type else array.cast(value.type)
            for array, value in ((made[i], value) for i, value in enumerate(values))]
