"""One partition of slices, Arrow batches in and Arrow batches of answers out. Runs in a Spark worker, without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.aggregates.component import ROWS, Component, columns_of
from weft.aggregates.monoids.lanes import Decoded, Lane
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.base import Algorithm
from weft.final.bags import Bag, BagLane, find_kernel
from weft.final.bags.bag import check_size
from weft.final.fold.dense import Slices, WindowAnswers, fold_dense
from weft.final.fold.layout import algorithms_on
from weft.model.marks import Test
from weft.model.stages import FinalStage
from weft.model.window import Window

BATCH_BYTES = 1 << 18
NAMED = {a.card.name: a for a in ALGORITHMS}
# Slices, windows, lanes and the algorithms of each grid in; answers out.
Folding = Callable[[Slices, Sequence[Window], Sequence[Lane | BagLane], Sequence[Sequence[Algorithm | None]]],
                   Iterator[WindowAnswers]]


def fold_partition(stage: FinalStage, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers of one partition: columns keys, slice start and components in, answers as arrays out."""
    received = list(batches)
    if sum(b.num_rows for b in received) == 0:
        return
    columns = [c.combine_chunks() for c in pa.Table.from_batches(received).columns]
    yield from fold_columns(stage, columns, fold_dense)


def fold_columns(stage: FinalStage, columns: Sequence[pa.Array], folding: Folding) -> Iterator[pa.RecordBatch]:
    """The answers that a way of folding finds in slices: columns keys, slice start, marks and components."""
    keys, start = columns[: stage.keys], columns[stage.keys].to_numpy()
    number = number_keys(keys, len(start))
    for chosen in choose_slices(stage, sort_order(number, start), columns[stage.keys + 1 :]):
        named = keys
        if chosen.predicate is not None:
            named = [*keys, pa.array(np.full(len(start), chosen.predicate, np.int32))]
        yield from join_batches(fold_slices(stage, chosen, named, number, start, folding))


class PredicateChoice(NamedTuple):
    """What is folded for one predicate, if there are several: at which windows, which slices in order, and of what."""

    predicate: int | None
    places: Sequence[int]
    order: np.ndarray
    lanes: list[Lane | UnorderedBag]


def choose_slices(stage: FinalStage, order: np.ndarray, columns: Sequence[pa.Array]) -> Iterator[PredicateChoice]:
    """What is folded for each predicate: the slices that its mark is on, or columns of its own that hold a row."""
    if not stage.predicates:
        yield PredicateChoice(None, range(len(stage.windows)), order, encode_lanes(stage, columns))
    elif stage.marks:
        marks = [column.to_numpy()[order] for column in columns[: stage.marks]]
        lanes = encode_lanes(stage, columns[stage.marks :])
        fields: dict[tuple[int, int], np.ndarray] = {}
        for number, places in stage.predicates:
            there = passing_slices(stage.tests[number], marks, fields)
            yield PredicateChoice(number, places, order[there], lanes)
    else:
        width = len(columns_for(stage))
        for i, (number, places) in enumerate(stage.predicates):
            rows, *mine = columns[i * width : (i + 1) * width]
            yield PredicateChoice(number, places, order[rows.to_numpy()[order] > 0], encode_lanes(stage, mine))


def passing_slices(tests: Sequence[Test], marks: Sequence[np.ndarray], fields: dict) -> np.ndarray:
    """Which slices meet all tests; `fields` keeps the bits of marks that were looked at before."""
    there = np.ones(len(marks[0]), bool)
    for found, shift, width, low, high in tests:
        if (found, shift) not in fields:
            fields[found, shift] = (marks[found] >> shift & ((1 << width) - 1)).astype(np.int32)
        value = fields[found, shift]
        there &= value >= low
        if high < (1 << width) - 1:
            there &= value <= high
    return there


def columns_for(stage: FinalStage) -> tuple[str, ...]:
    """The columns of a slice, or of each predicate where each has its own: then its number of rows comes first."""
    return ((ROWS.columns[0],) if stage.predicates and not stage.marks else ()) + columns_of(stage.components)


def fold_slices(stage: FinalStage, chosen: PredicateChoice, keys: Sequence[pa.Array], number: np.ndarray,
                start: np.ndarray, folding: Folding) -> Iterator[pa.RecordBatch]:
    """The answers of one choice."""
    _, places, order, lanes = chosen
    rows = rows_of(stage, lanes, len(start))
    elided = {i for i, c in enumerate(stage.components) if c != ROWS and is_rows(c, lanes[i], rows)}
    kept = [i for i, c in enumerate(stage.components) if c != ROWS and i not in elided]
    slices = Slices(number[order], start[order], rows[order])
    windows = [stage.windows[place] for place in places]
    names_of = algorithms_on(windows, stage.windows, stage.algorithms)
    named = NAMED | {a.card.name: a for _, a in stage.forced if not isinstance(a, str)}
    algorithms = [[named.get(names[i]) for i in kept] for names in names_of]
    for answers in folding(slices, windows, order_lanes(stage, [lanes[i] for i in kept], order), algorithms):
        placed = replace(answers, window=places[answers.window])
        yield to_batch(stage, placed, dict(zip(kept, answers.lanes, strict=True)), keys, order)


def number_keys(keys: Sequence[pa.Array], size: int) -> np.ndarray:
    """A number per distinct key."""
    number, distinct = np.zeros(size, np.int64), 1
    for column in keys:
        codes, count = encode_key(column)
        if distinct * count > 2**62:
            number, distinct = compact_numbers(number)
        number, distinct = number * count + codes, distinct * count
    return number


def compact_numbers(number: np.ndarray) -> tuple[np.ndarray, int]:
    """The same numbering without holes."""
    distinct, dense = np.unique(number, return_inverse=True)
    return dense.astype(np.int64), len(distinct)


def encode_key(column: pa.Array) -> tuple[np.ndarray, int]:
    """A code per distinct value of one key column, null being a value; nested types go by their text."""
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        encoded = pa.array([repr(v) for v in column.to_pylist()], pa.string()).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(len(encoded.dictionary), 1)


def sort_order(number: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The order by key, then by slice start; one integer sort where both fit into 63 bits."""
    low = int(start.min())
    span = int(start.max()) - low + 1
    if (int(number.max()) + 1) * span < 2**63:
        return np.argsort(number * span + (start - low), kind="stable")
    return np.lexsort((start, number))


def encode_lanes(stage: FinalStage, columns: Sequence[pa.Array]) -> list[Lane | UnorderedBag]:
    """A lane per component."""
    received = dict(zip(columns_of(stage.components), columns, strict=True))
    return [UnorderedBag(c, received[c.columns[0]]) if c.monoid.bag
            else encode_lane(c, [received[sql] for sql in c.columns], stage.ansi)
            for c in stage.components]


def encode_lane(component: Component, columns: Sequence[pa.Array], ansi: bool) -> Lane:
    """The lane of a component that folds."""
    assert component.monoid.encode is not None
    return component.monoid.encode(columns, decimal_of(component), ansi)


@dataclass(frozen=True)
class UnorderedBag:
    """A component that keeps bags, and its lists as they came."""

    component: Component
    column: pa.Array


def order_lanes(stage: FinalStage, lanes: Sequence[Lane | UnorderedBag], order: np.ndarray) -> list[Lane | BagLane]:
    """The lanes with their slices in order; components of the same column have one bag."""
    bags: dict[str, Bag] = {}
    made: list[Lane | BagLane] = []
    for lane in lanes:
        if isinstance(lane, Lane):
            made.append(lane.ordered(order))
            continue
        component, name = lane.component, lane.component.columns[0]
        if name not in bags:
            column = lane.column.take(pa.array(order))
            check_size(str(component), column, stage.max_bag_values)
            bags[name] = Bag.of(column)
        made.append(BagLane(find_kernel(component.monoid), component.parameters, bags[name]))
    return made


def decimal_of(component: Component) -> pa.DataType:
    """The Arrow type of a decimal component's answers."""
    found = re.fullmatch(r"decimal\((\d+),(\d+)\)", component.type)
    return pa.decimal128(int(found[1]), int(found[2])) if found else pa.null()


def rows_of(stage: FinalStage, lanes: Sequence[Lane | UnorderedBag], size: int) -> np.ndarray:
    """How many rows each slice holds, or one where nobody asks."""
    counts = lanes[stage.components.index(ROWS)] if stage.sends_rows else None
    return counts.state[0] if isinstance(counts, Lane) else np.ones(size, np.int64)


def is_rows(component: Component, lane: Lane | UnorderedBag, rows: np.ndarray) -> bool:
    """Whether a count equals the number of rows in every slice, so that it need not be folded or sent."""
    return component.monoid.counts and isinstance(lane, Lane) and np.array_equal(lane.state[0], rows)


def to_batch(stage: FinalStage, answers: WindowAnswers, lanes: dict[int, Decoded], keys: Sequence[pa.Array],
             order: np.ndarray) -> pa.RecordBatch:
    """One batch of the wire format: a row per key and window, values as arrays along time."""
    size, window = len(answers.row), stage.windows[answers.window]
    offsets = pa.array(answers.offsets, pa.int32())
    taken = pa.array(order[answers.row])
    columns: list[pa.Array] = [pa.array(np.full(size, answers.window, np.int32)), *(k.take(taken) for k in keys)]
    columns += [pa.array(answers.first)]
    columns += [pa.array(np.full(size, v, np.int64)) for v in (window.slide, window.range)]
    columns.append(to_lists(offsets, None if answers.starts is None else pa.array(answers.starts), pa.int64()))
    for i, component in enumerate(stage.components):
        if component == ROWS:
            columns.append(to_lists(offsets, pa.array(answers.rows), pa.int64()))
        else:
            columns += component_columns(component, lanes.get(i), offsets)
    return pa.record_batch(columns, names=[f"_{i}" for i in range(len(columns))])


def component_columns(component: Component, decoded: Decoded | None, offsets: pa.Array) -> list[pa.Array]:
    """A component's values, one array a row and field, and the row's mark if it may be null."""
    if decoded is None:
        return [to_lists(offsets, None, pa.int64())]
    values, marks = decoded
    if component.fixed_width:
        values = [without_nulls(v) for v in values]
    columns = [to_lists(offsets, v, v.type) for v in values]
    if component.nullable:
        columns.append(pa.array(np.ones(len(offsets) - 1, np.int8) if marks is None else marks))
    return columns


def without_nulls(values: pa.Array) -> pa.Array:
    """The values with anything where there is none: Java raises where an array declared without nulls holds one."""
    if values.null_count == 0:
        return values
    buffers = [None, *values.buffers()[1:]]
    return pa.Array.from_buffers(values.type, len(values), buffers, 0, values.offset)


def to_lists(offsets: pa.Array, values: pa.Array | None, kind: pa.DataType) -> pa.Array:
    """Values cut into lists, or as many nulls."""
    if values is None:
        return pa.nulls(len(offsets) - 1, pa.list_(kind))
    return pa.ListArray.from_arrays(offsets, values)


def join_batches(pieces: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Small batches joined until they are worth sending."""
    held: list[pa.RecordBatch] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += piece.nbytes
        if size >= BATCH_BYTES:
            yield concat_batches(held)
            held, size = [], 0
    if held:
        yield concat_batches(held)


def concat_batches(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Several batches as one."""
    return pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
