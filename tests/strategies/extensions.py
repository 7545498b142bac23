"""What somebody outside adds to Weft by `weft.extend` alone: an algorithm, an aggregate, a monoid."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from weft.extend import (
    Aggregate,
    Bulk,
    Card,
    CombineBound,
    Component,
    Lowered,
    Monoid,
    UnsupportedType,
    find_monoid,
    lifted,
    merge_values,
    plain_lane,
    ufunc_operation,
)


def pairwise_tree(name: str = "pairwise_tree") -> Bulk:
    """An algorithm that folds neighbours of every window in pairs, until one value is left."""

    def fold(operation, rows):
        while (width := rows[0].shape[1]) > 1:
            even = width - width % 2
            pairs = operation.combine(tuple(a[:, 0:even:2] for a in rows), tuple(a[:, 1:even:2] for a in rows))
            rows = tuple(np.concatenate((p, a[:, even:]), 1) for p, a in zip(pairs, rows, strict=True))
        return tuple(a[:, 0] for a in rows)

    def slide(operation, cells, lengths, size):
        for length in lengths:
            yield fold(operation, tuple(np.lib.stride_tricks.sliding_window_view(a, length)[:size] for a in cells))

    bound = CombineBound("n", lambda n: n)
    return Bulk(Card(name, "pairwise tree", "Folds neighbours in pairs.", "nobody's", bound, bound,
                     CombineBound("n²", lambda n: n * n), bound, depth="log", ragged=True), slide)


def regr_slope() -> Aggregate:
    """Spark's regr_slope over the comoments that corr and covar_pop have too."""

    def lower(args, only):
        y, x = (f"CAST({arg.sql} AS DOUBLE)" for arg in args)
        both = f"({x}) IS NOT NULL AND ({y}) IS NOT NULL"
        where = f" FILTER (WHERE ({both}) AND ({only.removeprefix(' FILTER (WHERE ')})" if only else (
            f" FILTER (WHERE {both})")
        columns = (f"count({x}){where}", f"avg({x}){where}", f"avg({y}){where}", f"regr_sxy({y}, {x}){only}",
                   f"regr_sxx({y}, {x}){only}", f"regr_syy({y}, {x}){only}")
        component = Component(find_monoid("comoments"), columns, "double", ("sxy", "sxx", "syy"))
        return Lowered((component,), "CASE WHEN {0.sxx} <> 0 THEN {0.sxy} / {0.sxx} END")

    return Aggregate("regr_slope", lower, arity=(2, 2))


def regr_count() -> Aggregate:
    """Spark's regr_count over counts, as docs/aggregates.md shows it."""

    def lower(args, only):
        y, x = args
        pairs = Component(find_monoid("count"), (f"count({y.sql}, {x.sql}){only}",), "bigint")
        return Lowered((pairs,), "{0}")

    return Aggregate("regr_count", lower, arity=(2, 2))


def product() -> Aggregate:
    """The product of doubles: an operation and a monoid that Weft does not have."""
    multiply = ufunc_operation("product", np.multiply, lambda kind: 1)

    def encode(columns, answer, ansi):
        return plain_lane(columns[0], multiply)

    def lower(args, only):
        if args[0].type != "double":
            raise UnsupportedType(args[0].type, "Cast it to double.")
        values = f"collect_list({args[0].sql}){only}"
        column = f"IF(size({values}) = 0, NULL, aggregate({values}, 1D, (p, v) -> p * v))"
        label, lifts = f"product({args[0].sql}){only}", (lifted(only, args[0].sql),)
        return Lowered((Component(monoid, (column,), "double", label=label, lifts=lifts),))

    merged = "IF(size(collect_list({0})) = 0, NULL, aggregate(collect_list({0}), 1D, (p, v) -> p * v))"
    monoid = Monoid("product", multiply, encode, lambda kind, columns: (np.dtype(np.float64),), (merged,),
                    merge_values(encode))
    return Aggregate("product", lower)


def multiplied(values: pa.Array) -> float | None:
    """The product as Spark calls it: the oracle."""
    there = values.drop_null()
    return float(np.prod(there.to_numpy())) if len(there) else None
