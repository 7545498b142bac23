"""Verifying: every query natively as well, and the first rows that differ."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from weft.aggregates.alike import equal
from weft.model.query import Query

SHOWN = 5
# Double sums in another order differ in their last digits: relative to the value, and to the column's largest.
RELATIVE, ABSOLUTE = 1e-9, 1e-13


@dataclass(frozen=True)
class Verified:
    """How one query compares with Spark's own run."""

    query: str
    ok: bool
    rows: int
    native_rows: int
    differences: tuple[str, ...]
    seconds: float

    def to_dict(self) -> dict:
        """The comparison as plain values."""
        return {**self.__dict__, "differences": list(self.differences)}


@dataclass(frozen=True)
class Verification:
    """How all queries compare."""

    results: tuple[Verified, ...]

    @property
    def ok(self) -> bool:
        """Whether every query gave Spark's own rows."""
        return all(r.ok for r in self.results)

    def to_dict(self) -> dict:
        """The comparison as plain values."""
        return {"ok": self.ok, "results": [r.to_dict() for r in self.results]}

    def __str__(self) -> str:
        lines = [f"{r.query}: {'equal' if r.ok else 'DIFFERENT'}, {r.rows} rows" for r in self.results]
        return "\n".join(lines + [f"  {d}" for r in self.results for d in r.differences])


def verify(results: Mapping[str, DataFrame], queries: Sequence[Query], native: Callable[[Query], DataFrame],
           progress: Callable[[int, int, str], None]) -> Verification:
    """Compare each query's rows with Spark's own."""
    compared = []
    for i, query in enumerate(queries):
        progress(i, len(queries), query.name)
        compared.append(verify_one(query.name, results[query.name], native(query)))
    progress(len(queries), len(queries), "done")
    return Verification(tuple(compared))


def verify_one(name: str, ours: DataFrame, theirs: DataFrame) -> Verified:
    """Compare two results as sets of rows."""
    began = time.perf_counter()
    kinds = [(f.name, f.dataType.simpleString()) for f in ours.schema.fields]
    native_kinds = [(f.name, f.dataType.simpleString()) for f in theirs.schema.fields]
    if kinds != native_kinds:
        return Verified(name, False, 0, 0, (f"columns {kinds}, Spark's own {native_kinds}",), 0.0)
    left, right = (number_columns(frame).toArrow() for frame in (ours, theirs))
    differences = compare_tables(left, right)
    seconds = round(time.perf_counter() - began, 3)
    return Verified(name, not differences, left.num_rows, right.num_rows, tuple(differences), seconds)


def number_columns(frame: DataFrame) -> DataFrame:
    """The frame with columns named by place, since results may repeat names."""
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def compare_tables(left: pa.Table, right: pa.Table) -> list[str]:
    """Sentences on the first rows that differ; none when the tables hold the same rows."""
    left, right = sort_table(left), sort_table(right)
    size = min(left.num_rows, right.num_rows)
    bad = np.zeros(size, bool)
    for ours, theirs in zip(left.columns, right.columns, strict=True):
        bad |= ~equal_values(ours.slice(0, size).combine_chunks(), theirs.slice(0, size).combine_chunks())
    shown = [f"ours {row_values(left, i)}, Spark's own {row_values(right, i)}"
             for i in np.flatnonzero(bad)[:SHOWN].tolist()]
    if left.num_rows != right.num_rows:
        shown.insert(0, f"{left.num_rows} rows, Spark's own {right.num_rows}")
    return shown


def row_values(table: pa.Table, index: int) -> list:
    """One row as a list of values."""
    return [column[index].as_py() for column in table.columns]


def flatten_table(table: pa.Table) -> pa.Table:
    """The table with its structs as columns of their own."""
    while any(pa.types.is_struct(f.type) for f in table.schema):
        table = table.flatten()
    return table.rename_columns([f"c{i}" for i in range(table.num_columns)])


def sort_table(table: pa.Table) -> pa.Table:
    """The table flat and sorted by its exact columns, then by its floating ones, then by the text of nested ones."""
    table = flatten_table(table)
    texts = [nested_as_text(c) if pa.types.is_nested(c.type) else c for c in table.columns]
    sortable = pa.table(texts, names=table.column_names)
    names = sorted(table.column_names, key=lambda n: sort_rank(table.schema.field(n).type))
    return table.take(pc.sort_indices(sortable, [(n, "ascending") for n in names])) if names else table


def sort_rank(kind: pa.DataType) -> int:
    """Where a column of a type stands in the order: reals may differ in their last digits, and so may texts of them."""
    return 2 if pa.types.is_nested(kind) else int(pa.types.is_floating(kind))


def nested_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Nested values as texts to sort by."""
    return pa.chunked_array([[str(value) for value in column.to_pylist()]], pa.string())


def equal_values(ours: pa.Array, theirs: pa.Array) -> np.ndarray:
    """Where two columns agree: null with null, NaN with NaN, floats within rounding, all else exactly."""
    if pa.types.is_nested(ours.type):
        pairs = zip(ours.to_pylist(), theirs.to_pylist(), strict=True)
        return np.fromiter((equal(a, b, rounding=RELATIVE) for a, b in pairs), bool, len(ours))
    nulls = ours.is_null().to_numpy(zero_copy_only=False), theirs.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(ours.type):
        agree = close_floats(*(a.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
                               for a in (ours, theirs)))
    else:
        agree = pc.equal(ours, theirs).fill_null(False).to_numpy(zero_copy_only=False)
    return np.where(nulls[0] | nulls[1], nulls[0] & nulls[1], agree)


def close_floats(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Where two float columns agree within the rounding of sums."""
    finite = np.abs(theirs[np.isfinite(theirs)])
    return np.isclose(ours, theirs, rtol=RELATIVE, atol=ABSOLUTE * finite.max(initial=0.0), equal_nan=True)
