"""Each kind of expression on the values at which it is easily wrong, by hand."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from weft.aggregates.component import Component
from weft.aggregates.monoids import choices
from weft.final.project import AnswerColumns, AnswerValues, NeedsSpark, Projection, evaluate, valid_where
from weft.model.query import Output
from weft.model.stages import AnswerStage
from weft.stages.project import compile_projection

NAN, INF = math.nan, math.inf
LEAST, MOST = -(2**63), 2**63 - 1
ARROW = {"double": ("double", pa.float64()), "bigint": ("long", pa.int64()), "int": ("integer", pa.int32()),
         "boolean": ("boolean", pa.bool_())}


def run(sql: str, kinds: str, out: str, *columns: list, ansi: bool = False) -> list:
    """An expression over `__call_0 …`, columns of some types."""
    types = kinds.split()
    calls = tuple(f"c{i}_value" for i in range(len(types)))
    components = tuple(Component(choices.MAX, (f"max({i})",), kind) for i, kind in enumerate(types))
    stage = AnswerStage((), calls, components, None, (Output(sql, "o", f'"{ARROW[out][0]}"'),))
    projection = compile_projection(stage, (), "timestamp", ansi)
    assert isinstance(projection, Projection), projection
    values = {name: AnswerValues(pa.array(column, ARROW[kind][1]))
              for name, column, kind in zip(calls, columns, types, strict=True)}
    (found,) = evaluate(projection, AnswerColumns(len(columns[0]), values))
    assert found.type == ARROW[out][1]
    return [repr(value) for value in found.to_pylist()]


def words(*values) -> list[str]:
    """Values as texts, which tell -0.0 from 0.0, and NaN equals NaN."""
    return [repr(value) for value in values]


A, B, C = "__call_0", "__call_1", "__call_2"


@pytest.mark.parametrize(("sql", "left", "right", "wanted"), [
    ("/", [1.0, 0.0, -1.0, None, 1.0, INF, 1.0], [0.0, 0.0, -0.0, 0.0, None, INF, -INF],
     words(None, None, None, None, None, NAN, -0.0)),
    ("%", [-4.0, 5.5, INF, 3.0, 1.0], [2.0, -2.0, 2.0, INF, 0.0], words(-0.0, 1.5, NAN, 3.0, None)),
    ("+", [INF, -0.0, 1e308, None], [-INF, 0.0, 1e308, 1.0], words(NAN, 0.0, INF, None)),
    ("*", [INF, -0.0, 5e-324], [0.0, 3.0, 0.5], words(NAN, -0.0, 0.0)),
    ("=", [NAN, 0.0, NAN, None], [NAN, -0.0, 1.0, NAN], words(True, True, False, None)),
    ("<>", [NAN, 0.0, NAN], [NAN, -0.0, 1.0], words(False, False, True)),
    ("<", [INF, NAN, NAN, -0.0, 1.0], [NAN, INF, NAN, 0.0, NAN], words(True, False, False, False, True)),
    (">=", [INF, NAN, NAN, -0.0, 1.0], [NAN, INF, NAN, 0.0, NAN], words(False, True, True, True, False)),
    (">", [NAN, NAN, 1.0], [INF, NAN, NAN], words(True, False, False)),
    ("<=", [NAN, NAN, 1.0], [INF, NAN, NAN], words(False, True, True)),
    ("<=>", [NAN, None, None, 0.0], [NAN, None, 1.0, -0.0], words(True, True, False, True)),
])
def test_doubles(sql, left, right, wanted):
    out = "double" if sql in "+-*/%" else "boolean"
    assert run(f"{A} {sql} {B}", "double double", out, left, right) == wanted


@pytest.mark.parametrize(("sign", "left", "right", "wanted"), [
    ("+", [MOST, LEAST, 5], [1, -1, 2], words(LEAST, MOST, 7)),
    ("-", [LEAST, 5], [1, 7], words(MOST, -2)),
    ("*", [2**32, LEAST, 3], [2**31, -1, -3], words(LEAST, LEAST, -9)),
    ("%", [-7, 7, LEAST, 1], [2, -2, -1, 0], words(-1, 1, 0, None)),
])
def test_longs_wrap_around(sign, left, right, wanted):
    assert run(f"{A} {sign} {B}", "bigint bigint", "bigint", left, right) == wanted


@pytest.mark.parametrize(("sql", "kinds", "out", "columns"), [
    (f"{A} + {B}", "bigint bigint", "bigint", ([MOST], [1])), (f"{A} - {B}", "int int", "int", ([-(2**31)], [1])),
    (f"{A} * {B}", "bigint bigint", "bigint", ([2**32], [2**31])), (f"{A} * {B}", "int int", "int", ([2**16], [2**15])),
    (f"- {A}", "bigint", "bigint", ([LEAST],)), (f"abs({A})", "int", "int", ([-(2**31)],)),
    (f"{A} / {B}", "double double", "double", ([0.0], [-0.0])), (f"{A} % {B}", "int int", "int", ([1], [0])),
    (f"{A} > 0 OR 1 / {B} > 1", "int double", "boolean", ([1], [0.0])),  # Spark may compute the right side all the same
    (f"if({A} > 1, 1 / {B} > 1, FALSE)", "int double", "boolean", ([1], [0.0])),  # a filter makes AND of it
])
def test_ansi_needs_spark(sql, kinds, out, columns):
    with pytest.raises(NeedsSpark):
        run(sql, kinds, out, *columns, ansi=True)


@pytest.mark.parametrize(("sql", "kinds", "out", "columns", "wanted"), [
    (f"{A} / {B}", "double double", "double", ([None, 1.0], [0.0, None]), words(None, None)),
    (f"if({B} = 0, NULL, {A} / {B})", "double double", "double", ([1.0, 1.0], [0.0, 4.0]), words(None, 0.25)),
    (f"coalesce({A}, 1 / {B})", "double double", "double", ([1.0, None], [0.0, 4.0]), words(1.0, 0.25)),
    (f"CASE WHEN {B} <> 0 THEN {A} / {B} WHEN {A} <> 0 THEN {B} / {A} END", "double double", "double",
     ([1.0, 0.0, 2.0], [0.0, 0.0, 4.0]), words(0.0, None, 0.5)),
    (f"{A} + {B}", "bigint bigint", "bigint", ([MOST, None], [0, MOST]), words(MOST, None)),
    (f"{A} / nullif({B}, 0)", "double double", "double", ([1.0, 1.0], [0.0, -0.0]), words(None, None)),
])
def test_ansi_raises_nothing_for_what_is_not_reached(sql, kinds, out, columns, wanted):
    assert run(sql, kinds, out, *columns, ansi=True) == wanted


THREE = [True, True, True, False, False, False, None, None, None]
OTHER = [True, False, None] * 3


@pytest.mark.parametrize(("sql", "wanted"), [
    (f"{A} AND {B}", words(True, False, None, False, False, False, None, False, None)),
    (f"{A} OR {B}", words(True, True, True, True, False, None, True, None, None)),
    (f"NOT {A}", words(False, False, False, True, True, True, None, None, None)),
    (f"{A} IS NULL", words(*[False] * 6, *[True] * 3)),
    (f"{A} IS NOT NULL", words(*[True] * 6, *[False] * 3)),
    (f"if({A}, {B}, FALSE)", words(True, False, None, *[False] * 6)),
])
def test_three_values(sql, wanted):
    assert run(sql, "boolean boolean", "boolean", THREE, OTHER) == wanted


@pytest.mark.parametrize(("sql", "kinds", "out", "columns", "wanted"), [
    (f"sqrt({A})", "double", "double", ([4.0, -1.0, -0.0, None, INF],), words(2.0, NAN, -0.0, None, INF)),
    (f"abs({A})", "double", "double", ([-0.0, -INF, NAN],), words(0.0, INF, NAN)),
    (f"- {A}", "double", "double", ([0.0, NAN],), words(-0.0, NAN)),
    (f"abs({A})", "bigint", "bigint", ([LEAST, -3],), words(LEAST, 3)),
    (f"CAST({A} AS DOUBLE)", "bigint", "double", ([2**53 + 1, MOST],),
     words(9007199254740992.0, 9.223372036854775807e18)),
    (f"{A} * 1.1", "double", "double", ([3.0],), words(3.0 * 1.1)),
    (f"{A} + -0.0", "double", "double", ([-0.0],), words(0.0)),  # a decimal has no -0
    (f"CASE {A} WHEN 1 THEN {B} WHEN 2 THEN 7 END", "int bigint", "bigint", ([1, 2, 3, None], [5, 5, 5, 5]),
     words(5, 7, None, None)),
    (f"nullif({A}, {B})", "int double", "int", ([1, 2, None], [1.0, NAN, 1.0]), words(None, 2, None)),
    (f"nvl({A}, {B})", "int bigint", "bigint", ([1, None], [5, None]), words(1, None)),
    (f"{A} > 0.5 * {B}", "bigint bigint", "boolean", ([5, 6, None], [11, 11, 1]), words(False, True, None)),
    (f"{A} BETWEEN {B} AND 3", "double double", "boolean", ([1.0, NAN, None], [1.0, 0.0, 0.0]),
     words(True, False, None)),
    ("1 + 2", "int", "int", ([1, 2],), words(3, 3)),
])
def test_functions(sql, kinds, out, columns, wanted):
    assert run(sql, kinds, out, *columns) == wanted


def test_a_decimal_that_no_long_holds_needs_spark():
    """Spark's decimals have 38 digits."""
    with pytest.raises(NeedsSpark):
        run(f"{A} > 0.5 * {B}", "bigint bigint", "boolean", [1], [MOST])


def test_marks_say_what_is_there():
    """None where all is; overflow is left to Spark."""
    assert valid_where(None) is None and valid_where(np.ones(3, np.int8)) is None
    assert valid_where(np.array([1, 0], np.int8)).tolist() == [True, False]
    with pytest.raises(NeedsSpark):
        valid_where(np.array([1, 2], np.int8))
