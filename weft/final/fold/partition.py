"""One partition of slices, Arrow batches in and Arrow batches of answers out. Runs in a Spark worker, without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.aggregates.component import ROWS, Component, columns_of
from weft.aggregates.monoids.lanes import Decoded, Lane
from weft.final.algorithms import ALGORITHMS
from weft.final.bags import Bag, BagLane, find_kernel
from weft.final.bags.bag import check_size
from weft.final.fold.dense import Slices, WindowAnswers, fold_dense
from weft.final.fold.layout import algorithms_on
from weft.model.marks import Test
from weft.model.stages import FinalStage

BATCH_BYTES = 1 << 18
NAMED = {a.card.name: a for a in ALGORITHMS}
# The types of the values of each component, by its place.
ValueTypes = Mapping[int, list[pa.DataType]]
# Slices, windows, lanes and the algorithms of each grid in; answers out.
Folding = Callable[..., Iterator[WindowAnswers]]


def fold_partition(stage: FinalStage, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers of one partition: columns keys, slice start and components in, answers as arrays out."""
    columns = receive_columns(batches)
    if columns:
        yield from fold_columns(stage, columns, fold_dense)


def receive_columns(batches: Iterable[pa.RecordBatch]) -> list[pa.Array]:
    """The columns of all slices of a partition, none where it has no slice."""
    received = list(batches)
    if sum(b.num_rows for b in received) == 0:
        return []
    return [c.combine_chunks() for c in pa.Table.from_batches(received).columns]


def fold_columns(stage: FinalStage, columns: Sequence[pa.Array], folding: Folding) -> Iterator[pa.RecordBatch]:
    """The answers that a way of folding finds in slices: columns keys, slice start, marks and components."""
    keys, types = columns[: stage.keys], value_types(stage, columns[stage.keys + 1 :]) if stage.asked else {}
    yield from join_batches(to_batch(stage, found, keys, types) for found in fold_windows(stage, columns, folding))


@dataclass(frozen=True)
class FoldedWindow:
    """Answers of a window, under a predicate if there are several: row i is of the key of slice `slices[i]` as it was
    received; `lanes` are their values by the places of the components, and a count that is left out equals `rows`."""

    predicate: int | None
    answers: WindowAnswers
    slices: np.ndarray
    lanes: Mapping[int, Decoded]


def fold_windows(stage: FinalStage, columns: Sequence[pa.Array], folding: Folding) -> Iterator[FoldedWindow]:
    """The answers that a way of folding finds in slices, window by window, each in some pieces."""
    keys, start = columns[: stage.keys], columns[stage.keys].to_numpy()
    number = number_keys(keys, len(start))
    for chosen in choose_slices(stage, sort_order(number, start), columns[stage.keys + 1 :]):
        yield from fold_slices(stage, chosen, number, start, folding)


class PredicateChoice(NamedTuple):
    """What is folded for one predicate, if there are several: at which windows, which slices in order, and of what; a
    lane that it does not ask for is None."""

    predicate: int | None
    places: Sequence[int]
    order: np.ndarray
    lanes: list[Lane | UnorderedBag | None]


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
        begin = 0
        for number, places in stage.predicates:
            width = len(columns_for(stage, number))
            rows, *mine = columns[begin : begin + width]
            begin += width
            yield PredicateChoice(number, places, order[rows.to_numpy()[order] > 0], encode_lanes(stage, mine, number))


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


def columns_for(stage: FinalStage, number: int | None = None) -> tuple[str, ...]:
    """The columns of a slice, or of a predicate where each has its own: then its number of rows comes first."""
    return ((ROWS.columns[0],) if number is not None else ()) + columns_of(components_for(stage, number))


def columns_read(stage: FinalStage) -> list[tuple[str, int | None]]:
    """The columns of slices that a final stage reads, in its order: what each is, and for which predicate."""
    numbers = [number for number, _ in stage.predicates] if stage.predicates and not stage.marks else [None]
    return [(sql, number) for number in numbers for sql in columns_for(stage, number)]


def components_for(stage: FinalStage, number: int | None) -> list[Component]:
    """The components that are asked for under a predicate, or under any."""
    return [c for i, c in enumerate(stage.components) if number is None or stage.windows_asking(i, number)]


def fold_slices(stage: FinalStage, chosen: PredicateChoice, number: np.ndarray, start: np.ndarray,
                folding: Folding) -> Iterator[FoldedWindow]:
    """The answers of one choice."""
    predicate, places, order, lanes = chosen
    asking = [stage.windows_asking(i, predicate or 0) for i in range(len(stage.components))]
    rows = rows_of(stage, lanes, asking, len(start))
    elided = {i for i, c in enumerate(stage.components) if asking[i] and c != ROWS and is_rows(c, lanes[i], rows)}
    kept = [i for i, c in enumerate(stage.components) if asking[i] and c != ROWS and i not in elided]
    slices = Slices(number[order], start[order], rows[order])
    windows = [stage.windows[place] for place in places]
    names_of = algorithms_on(windows, stage.windows, stage.algorithms)
    named = NAMED | {a.card.name: a for _, a in stage.forced if not isinstance(a, str)}
    algorithms = [[named.get(names[i]) for i in kept] for names in names_of]
    ordered = order_lanes(stage, [lane for i in kept if (lane := lanes[i]) is not None], order)
    if stage.asked:
        local = [{at for at, place in enumerate(places) if place in asking[i]} for i in kept]
        folding = partial(folding, asking=local)
    if stage.first:
        begins = {place: start for number, place, start in stage.first if number == (predicate or 0)}
        folding = partial(folding, first=[begins.get(place) for place in places])
    for answers in folding(slices, windows, ordered, algorithms):
        placed = replace(answers, window=places[answers.window])
        found = {i: lane for i, lane in zip(kept, answers.lanes, strict=True) if lane is not None}
        yield FoldedWindow(predicate, placed, order[answers.row], found)


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
    """A code per distinct value of one key column, null being a value; nested types go by their text. The values of a
    dictionary are distinct."""
    if isinstance(column, pa.DictionaryArray):
        size = len(column.dictionary)
        return column.indices.fill_null(size).to_numpy().astype(np.int64), size + 1
    try:
        encoded = column.dictionary_encode(null_encoding="encode")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        encoded = pa.array([repr(v) for v in column.to_pylist()], pa.string()).dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), max(len(encoded.dictionary), 1)


def sort_order(number: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The order by key, then by slice start, of equal ones as they are: by digits where both fit into 48 bits."""
    low = int(start.min())
    apart = start - low
    step = max(int(np.gcd.reduce(apart)), 1)  # slices are seconds apart, not microseconds
    count = int(apart.max()) // step + 1
    if (int(number.max()) + 1) * count < 2**48:
        return order_by_digits(number * count + apart // step)
    return np.lexsort((start, number))


def order_by_digits(keys: np.ndarray) -> np.ndarray:
    """The stable order of keys that are not negative, by 16 bits at a time, which NumPy sorts without comparing."""
    if not (keys[1:] < keys[:-1]).any():
        return np.arange(len(keys))
    order = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    for shift in range(16, int(keys.max()).bit_length(), 16):
        digit = (keys >> shift & 0xFFFF).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
    return order


def value_types(stage: FinalStage, columns: Sequence[pa.Array]) -> dict[int, list[pa.DataType]]:
    """The types of each component's values, for windows that do not ask for it."""
    found: dict[int, list[pa.DataType]] = {}
    read = columns_read(stage)
    for number in dict.fromkeys(number for _, number in read):
        mine = {sql: column.slice(0, 0) for (sql, of), column in zip(read, columns[stage.marks :], strict=True)
                if of == number}
        for i, component in enumerate(stage.components):
            if i not in found and component != ROWS and (number is None or stage.windows_asking(i, number)):
                found[i] = [values.type for values in decode_nothing(stage, component, mine)]
    return found


def decode_nothing(stage: FinalStage, component: Component, columns: Mapping[str, pa.Array]) -> Sequence[pa.Array]:
    """The values of no answers of a component, out of its empty columns."""
    nothing = np.zeros(0, np.int64)
    (lane,) = order_lanes(stage, [encode_component(stage, component, columns)], nothing)
    values, _ = (lane.over(slice(0, 0))(nothing, nothing) if isinstance(lane, BagLane) else lane.decode(lane.state))
    return values


def encode_lanes(stage: FinalStage, columns: Sequence[pa.Array],
                 number: int | None = None) -> list[Lane | UnorderedBag | None]:
    """A lane per component, none for those that nobody asks for under a predicate."""
    wanted = components_for(stage, number)
    received = dict(zip(columns_of(wanted), columns, strict=True))
    return [encode_component(stage, c, received) if c in wanted else None for c in stage.components]


def encode_component(stage: FinalStage, component: Component, columns: Mapping[str, pa.Array]) -> Lane | UnorderedBag:
    """The lane of a component, out of its columns."""
    if component.monoid.bag:
        return UnorderedBag(component, columns[component.columns[0]])
    return encode_lane(component, [columns[sql] for sql in component.columns], stage.ansi)


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


def rows_of(stage: FinalStage, lanes: Sequence[Lane | UnorderedBag | None], asking: Sequence[frozenset[int]],
            size: int) -> np.ndarray:
    """How many rows each slice holds, or one where nobody asks: the column then need not count the predicate's rows."""
    place = stage.components.index(ROWS) if stage.sends_rows else None
    counts = lanes[place] if place is not None and asking[place] else None
    return counts.state[0] if isinstance(counts, Lane) else np.ones(size, np.int64)


def is_rows(component: Component, lane: Lane | UnorderedBag | None, rows: np.ndarray) -> bool:
    """Whether a count equals the number of rows in every slice, so that it need not be folded or sent."""
    return component.monoid.counts and isinstance(lane, Lane) and np.array_equal(lane.state[0], rows)


def to_batch(stage: FinalStage, folded: FoldedWindow, keys: Sequence[pa.Array], types: ValueTypes) -> pa.RecordBatch:
    """One batch of the wire format: a row per key and window, values as arrays along time, nulls for what the window
    does not ask for."""
    answers, lanes = folded.answers, folded.lanes
    size, window = len(answers.row), stage.windows[answers.window]
    offsets = pa.array(answers.offsets, pa.int32())
    taken = pa.array(folded.slices)
    columns: list[pa.Array] = [pa.array(np.full(size, answers.window, np.int32)), *(k.take(taken) for k in keys)]
    if folded.predicate is not None:
        columns += [pa.array(np.full(size, folded.predicate, np.int32))]
    columns += [pa.array(answers.first)]
    columns += [pa.array(np.full(size, v, np.int64)) for v in (window.slide, window.range)]
    columns.append(to_lists(offsets, None if answers.starts is None else pa.array(answers.starts), pa.int64()))
    for i, component in enumerate(stage.components):
        if component == ROWS:
            columns.append(to_lists(offsets, pa.array(answers.rows), pa.int64()))
        elif i in lanes or i not in types:
            columns += component_columns(component, lanes.get(i), offsets)
        else:
            columns += [to_lists(offsets, None, kind) for kind in types[i]]
            columns += [pa.array(np.zeros(size, np.int8))] if component.nullable else []
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
