"""min, max, min_by and max_by: a slice lends its value, chosen by its own order or by another column's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.aggregates import operation
from weft.aggregates.monoids.base import Encode, Merge, Monoid, Order
from weft.aggregates.monoids.lanes import Lane, numpy_type, plain_lane, ranked_lane
from weft.aggregates.monoids.merge import merge_values
from weft.aggregates.monoids.sums import sum_types
from weft.aggregates.operation import Operation


def encode_extremum(chooses: Operation) -> Encode:
    """min or max: of the values where NumPy orders them as Spark does, else by rank."""

    def encode(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        column = columns[0]
        if pa.types.is_boolean(column.type) or numpy_type(column.type) is not None:
            return plain_lane(column, chooses)
        return ranked_lane(column, column, chooses)

    return encode


def encode_by(chooses: Operation) -> Encode:
    """min_by or max_by: the second column chooses."""

    def encode(columns: Sequence[pa.Array], answer: pa.DataType, ansi: bool) -> Lane:
        return ranked_lane(columns[0], columns[1], chooses)

    return encode


def merge_by(chooses: Operation) -> Merge:
    """The rows that min_by and max_by choose."""

    def merge(columns: Sequence[pa.Array], order: Order, first: np.ndarray, ansi: bool) -> list[pa.Array]:
        find = choose_by_rank if numpy_type(columns[1].type) is None else choose_by_value
        found = find(columns[1], chooses, order, first)
        chosen = pa.array(found if isinstance(order, slice) else order[found])
        return [column.take(chosen) for column in columns]

    return merge


def choose_by_rank(by: pa.Array, chooses: Operation, order: Order, first: np.ndarray) -> np.ndarray:
    """The place in the order of the row that each run chooses, of any type that sorts."""
    ranks = pc.rank(by, sort_keys="ascending", tiebreaker="dense").cast(pa.int64())
    return choose_by_value(pc.if_else(by.is_valid(), ranks, None), chooses, order, first)


def choose_by_value(by: pa.Array, chooses: Operation, order: Order, first: np.ndarray) -> np.ndarray:
    """The same of numbers: the first that is the least, the last that is the greatest."""
    lane = plain_lane(by, chooses).ordered(order)
    values, runs = lane.state[0], np.diff(np.append(first, len(by)))
    best = np.repeat(chooses.reduce_runs((values,), first)[0], runs)
    there = (values == best) | ((values != values) & (best != best))  # NaN is a value like others
    if lane.valid is not None:
        there &= lane.valid
    hits = np.flatnonzero(there)
    run = np.repeat(np.arange(len(first)), runs)[hits]
    turns = run[1:] != run[:-1]
    heads = np.append(True, turns) if chooses is operation.MIN else np.append(turns, True)
    chosen = first.copy()  # a run without a value: any row serves
    chosen[run[heads[: len(run)]]] = hits[heads[: len(hits)]]
    return chosen


def extremum(name: str, chooses: Operation) -> Monoid:
    """min or max."""
    encode = encode_extremum(chooses)
    return Monoid(name, chooses, encode, sum_types, (f"{name}({{0}})",), merge_values(encode), lends=True)


def extremum_by(name: str, chooses: Operation) -> Monoid:
    """min_by or max_by."""
    merges = (f"{name}_by({{0}}, {{1}})", f"{name}({{1}})")
    return Monoid(f"{name}_by", chooses, encode_by(chooses), merges=merges, merge=merge_by(chooses), lends=True)


MIN = extremum("min", operation.MIN)
MAX = extremum("max", operation.MAX)
MIN_BY = extremum_by("min", operation.MIN)
MAX_BY = extremum_by("max", operation.MAX)
