"""Random SQL over answers: typed expressions of every kind that workers evaluate, and columns of awkward values."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from weft.aggregates.component import Component
from weft.aggregates.monoids import choices, sums
from weft.final.project import AnswerColumns, AnswerValues
from weft.model.query import Output
from weft.model.stages import AnswerStage

LEAST, MOST = -(2**63), 2**63 - 1
DOUBLES = (None, float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 1.5, -2.0, 5e-324, 1.7976931348623157e308,
           1e-200, 0.1, 3.0, 9007199254740993.0, -7.25)
INTS = (None, 0, 1, -1, 7, 2**31 - 1, -(2**31), 100, -3)
LONGS = (None, 0, 1, -1, 2**53 + 1, MOST, LEAST, 10, -12345678901, 3037000500)
BOOLEANS = (None, True, False)
# The columns in order: their types in Spark, how Arrow has them, and what they may hold.
COLUMNS = {"x": ("double", pa.float64(), DOUBLES), "y": ("double", pa.float64(), DOUBLES),
           "i": ("int", pa.int32(), INTS), "j": ("int", pa.int32(), INTS),
           "n": ("bigint", pa.int64(), LONGS), "m": ("bigint", pa.int64(), LONGS),
           "b": ("boolean", pa.bool_(), BOOLEANS), "c": ("boolean", pa.bool_(), BOOLEANS)}
CALLED = {name: f"__call_{place}" for place, name in enumerate(COLUMNS)}
SIGNS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>")
LITERALS = ("0", "1", "2", "7", "-3", "1.5", "0.002", "-2.5", "0.0", "3D", "0D", "-0.0D", "5L", "6e7", "100")


def awkward_rows(size: int, seed: int = 7) -> pa.Table:
    """Rows of awkward values in random pairs, with their number as `id`."""
    draw = np.random.default_rng(seed)
    columns = {CALLED[name]: pa.array([held[k] for k in draw.integers(0, len(held), size)], kind)
               for name, (_, kind, held) in COLUMNS.items()}
    return pa.table({"id": pa.array(range(size), pa.int64()), **columns})


def components() -> tuple[Component, ...]:
    """Components whose answers have the columns' types."""
    monoid = {"double": sums.SUM, "bigint": sums.SUM}
    return tuple(Component(monoid.get(kind, choices.MAX), (f"any({name})",), kind)
                 for name, (kind, _, _) in COLUMNS.items())


def stage_of(outputs: list[tuple[str, object]], having: str | None = None) -> AnswerStage:
    """The answer stage of some expressions with their types in Spark's JSON, whose calls are the columns."""
    made = tuple(Output(sql, f"o{i}", json.dumps(kind)) for i, (sql, kind) in enumerate(outputs))
    return AnswerStage((), tuple(f"c{i}_value" for i in range(len(COLUMNS))), components(), having, made)


def answers_of(rows: pa.Table) -> AnswerColumns:
    """The rows as answers."""
    values = {f"c{i}_value": AnswerValues(rows[name].combine_chunks()) for i, name in enumerate(CALLED.values())}
    return AnswerColumns(rows.num_rows, values)


@cache
def numbers(depth: int) -> st.SearchStrategy[str]:
    """Expressions that are numbers."""
    leaf = st.sampled_from([CALLED[name] for name in "xyijnm"]) | st.sampled_from(LITERALS)
    if depth == 0:
        return leaf
    part, test = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, part, st.sampled_from("+-*/%"), part),
        st.builds("({} {} {})".format, part, st.sampled_from("+-*/%"), part),
        st.builds("(- {})".format, part),
        st.builds("{}({})".format, st.sampled_from(("abs", "sqrt")), part),
        st.builds("CAST({} AS DOUBLE)".format, part),
        st.builds("{}({}, {})".format, st.sampled_from(("coalesce", "nvl", "ifnull", "nullif")), part, part),
        st.builds("if({}, {}, {})".format, test, part, part),
        st.builds("CASE WHEN {} THEN {} WHEN {} THEN {} END".format, test, part, test, part),
        st.builds("CASE {} WHEN {} THEN {} ELSE {} END".format, part, part, part, part),
        st.builds("if({}, NULL, {})".format, test, part),
    )


@cache
def truths(depth: int) -> st.SearchStrategy[str]:
    """Expressions that are booleans."""
    leaf = st.sampled_from([CALLED["b"], CALLED["c"], "TRUE", "FALSE"])
    if depth == 0:
        return leaf
    part, test = numbers(depth - 1), truths(depth - 1)
    return st.one_of(
        leaf,
        st.builds("({} {} {})".format, part, st.sampled_from(SIGNS), part),
        st.builds("({} {} {})".format, part, st.sampled_from(("=", "<", ">=")), part),
        st.builds("({} {} {})".format, test, st.sampled_from(("AND", "OR", "=", "<", "<=>")), test),
        st.builds("(NOT {})".format, test),
        st.builds("({} IS {})".format, part | test, st.sampled_from(("NULL", "NOT NULL"))),
        st.builds("({} BETWEEN {} AND {})".format, part, part, part),
        st.builds("if({}, {}, {})".format, test, test, test),
        st.builds("coalesce({}, {})".format, test, test),
    )
