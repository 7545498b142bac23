"""Projections in the worker: every function, and random expressions of them, bit for bit as Spark computes them."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame

from examples.demo.run import weave
from tests.strategies.projections import CALLED, SIGNS, answers_of, awkward_rows, conditions, expressions, stage_of
from weft.cli.sample_trades import Trades, make
from weft.final.project import NeedsSpark, Projection, evaluate
from weft.model.stages import AnswerStage
from weft.stages.project import compile_projection

ROWS = awkward_rows(120)
# Every function and operator over every type that it takes.
COVERED = (
    *(f"{a} {sign} {b}" for sign in "+-*/%" for a, b in ("xy", "ij", "nm", "xi", "ix", "xn", "ny", "in")),
    *(f"{a} {sign} {b}" for sign in SIGNS for a, b in ("xy", "ij", "nm", "xi", "nx", "in", "bc")),
    *(f"{f}({a})" for f in ("abs", "sqrt", "-") for a in "xin"),
    *(f"CAST({a} AS {kind})" for a, kind in (("i", "INT"), ("i", "BIGINT"), ("i", "DOUBLE"), ("n", "BIGINT"),
                                             ("n", "DOUBLE"), ("x", "DOUBLE"))),
    *(f"x {sign} {literal}" for sign in ("+", "-", "*", "/", "%", ">", "=")
      for literal in ("1.03", "0.002", "2.5", "-1.5", "-0.0", "0.0", "2", "5L", "3D", "6e7", "123456789.123456789")),
    "b AND c", "b OR c", "NOT b", "b IS NULL", "x IS NULL", "x IS NOT NULL", "i IS NOT NULL", "NOT (b AND NOT c) OR b",
    "x BETWEEN y AND 3", "i BETWEEN -1 AND n", "x IS DISTINCT FROM y", "x = NULL", "b AND NULL",
    "if(b, x, y)", "if(b, i, n)", "if(b, i, x)", "if(b, NULL, n)", "if(x > 1.5, 1.5, y)", "if(b, c, NULL)",
    "CASE WHEN b THEN x WHEN c THEN y END", "CASE WHEN i > 1 THEN x / (i - 1) END",
    "CASE i WHEN 1 THEN x WHEN j THEN 2 END", "CASE x WHEN y THEN 1 ELSE 0 END", "CASE WHEN b THEN i ELSE n END",
    "coalesce(x, y)", "coalesce(i, n, 7)", "coalesce(x, 0)", "coalesce(x, 1.5)", "coalesce(b, c, FALSE)", "coalesce(n)",
    "nullif(x, y)", "nullif(x, 0)", "nullif(n, 0)", "nullif(i, x)", "nullif(b, c)", "nvl(x, n)", "ifnull(i, j)",
    "if(n = 0, NULL, x / n)", "sqrt(CASE WHEN n > 0 THEN x / n END)", "100 * (x / y - 1)", "x / nullif(y, 0)",
    "CASE WHEN n > 0 AND x <> 0 THEN sqrt(n) * y / sqrt(x * x * x) END", "abs(x - y) > 2.5 * x",
    *(f"{a} {sign} {b}" for sign in SIGNS[:-1] for a in "ni" for b in ("1.5", "-0.25", "0.5 * j", "m + 0.5 - j")),
    "CASE WHEN n > 0 AND x <> 0 THEN n * y / (x * x) - 3D END",
    *(f"s {sign} '{text}'" for sign in SIGNS[:-1] for text in ("a", "", "é", "aaa")), "'b' > s", "s IS NULL",
    "s IN ('a', 'A', '')", "s NOT IN ('a', 'z')", "if(s = 'a', x, n)", "CASE s WHEN 'a' THEN 1 WHEN 'b' THEN 2 END",
    "x IN (1.5, 3, NULL)", "i IN (1, 7)", "n NOT IN (0, 1, 10)", "i IN (1.5, 7)", "n IN (1, 2D)", "n IN (i, m)",
    *(f"{a} {sign} {b}" for sign in "&|^" for a, b in ("ij", "nm", "in")), "~ i", "~ n",
    *(f"{f}({a}, {b})" for f in ("shiftleft", "shiftright") for a in "in" for b in ("j", "33", "-1")),
)  # fmt: skip


def over_calls(sql: str) -> str:
    """The expression with the names of calls for the letters that stand alone."""
    return " ".join("".join(CALLED.get(part, part) for part in split_words(word)) for word in sql.split(" "))


def split_words(text: str) -> list[str]:
    """Runs of letters and digits, and what stands between them."""
    parts = [""]
    for sign in text:
        if parts[-1] and (sign.isalnum() != parts[-1][-1].isalnum()):
            parts.append("")
        parts[-1] += sign
    return parts


@pytest.fixture(scope="module")
def frame(spark):
    """The awkward rows in Spark, not as a local relation, which the optimizer would evaluate itself."""
    return spark.createDataFrame(ROWS).repartition(1).cache()


@pytest.fixture(params=[True, False], ids=["ansi", "not ansi"])
def ansi(spark, request):
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(request.param).lower())
    yield request.param
    spark.conf.set("spark.sql.ansi.enabled", before)


def typed(frame, texts):
    """Expressions with the types that Spark gives them."""
    return [(sql, json.loads(field.dataType.json()))
            for sql, field in zip(texts, frame.selectExpr(*texts).schema.fields, strict=True)]


def projected(projection, rows=ROWS):
    """The outputs of a projection with nothing where it needs Spark, and where that is not."""
    try:
        return evaluate(projection, answers_of(rows))[0], np.ones(rows.num_rows, bool)
    except NeedsSpark:
        assert rows.num_rows > 0
    if rows.num_rows == 1:
        return None, np.zeros(1, bool)
    found = [projected(projection, rows.slice(i, 1)) for i in range(rows.num_rows)]
    filler = next((array for array, _ in found if array is not None), None)
    if filler is None:
        return None, np.zeros(rows.num_rows, bool)
    arrays = [pa.nulls(1, filler.type) if array is None else array for array, _ in found]
    return pa.concat_arrays(arrays), np.concatenate([mask for _, mask in found])


def bits(array):
    """Values that are equal only if they are so bit by bit; every NaN is one, and so is every null."""
    if not pa.types.is_floating(array.type):
        return array.to_pylist()
    values = array.fill_null(0.0).to_numpy(zero_copy_only=False).copy()
    values[np.isnan(values)] = np.nan
    return [bit if there else None for bit, there in zip(values.view(np.int64).tolist(), array.is_valid().to_pylist(),
                                                         strict=True)]


def require_equal(frame, texts, ansi):
    """Those of the expressions that are covered, computed by both; how many there are."""
    outputs = typed(frame, texts)
    compiled = [(sql, compile_projection(stage_of([(sql, kind)]), (), "timestamp", ansi)) for sql, kind in outputs]
    covered = [(sql, *projected(projection)) for sql, projection in compiled if isinstance(projection, Projection)]
    covered = [(sql, array, mask) for sql, array, mask in covered if array is not None]
    asked = [f"IF(id IN ({', '.join(map(str, np.flatnonzero(mask)))}), {sql}, NULL) AS o{i}"
             for i, (sql, _, mask) in enumerate(covered)]
    found = frame.selectExpr("id", *asked).orderBy("id").toArrow()
    theirs = [found[f"o{i}"].combine_chunks() for i in range(len(covered))]
    assert [sql for (sql, array, _), other in zip(covered, theirs, strict=True)
            if bits(array) != bits(other) or array.type != other.type] == []
    return covered


@pytest.mark.parametrize("part", range(4))
def test_each_function_equals_spark(frame, ansi, compiled, part):
    """In generated code, over every type."""
    texts = [over_calls(sql) for sql in COVERED[part::4]]
    found = require_equal(frame, texts, ansi)
    assert {sql for sql, _, _ in found} == set(texts)
    assert ansi or all(mask.all() for sql, _, mask in found if "." not in sql)


@settings(max_examples=6)
@given(texts=st.lists(expressions(), min_size=60, max_size=60, unique=True))
def test_random_expressions_equal_spark(frame, ansi, interpreted, texts):
    """Many of those that are drawn are covered; the others mix decimals in, or leave constants to the optimizer."""
    assert len(require_equal(frame, texts, ansi)) > 15


@pytest.mark.parametrize("sql", ["x / y", "i / j", "n + m", "i - j", "n % m", "x % y", "i * j", "- i", "abs(n)"])
def test_spark_raises_where_it_is_needed(spark, frame, sql):
    """Under ANSI, and for no other answers: an operator alone leaves to Spark just what Spark refuses."""
    spark.conf.set("spark.sql.ansi.enabled", "true")
    text = over_calls(sql)
    projection = compile_projection(stage_of(typed(frame, [text])), (), "timestamp", True)
    _, sound = projected(projection)
    for row in np.flatnonzero(~sound)[:3]:
        with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|REMAINDER_BY_ZERO|OVERFLOW"):
            frame.where(f"id = {row}").selectExpr(text).collect()
    assert not sound.all() and sound.any()


HAVING = ("b", "NOT b", "x > y", "x > 1.03 * y", "i >= 1 AND x < y", "n > 0 OR b", "abs(x - y) > 2.5 * x AND i <> 7",
          "if(b, x > 1, c)", "CASE WHEN n > 0 THEN x / n END > 0.5", "x / nullif(y, 0) > 1", "x IS NULL OR y = x",
          "coalesce(b, TRUE)", "NULL AND b", "x BETWEEN 0 AND y", "TRUE")


def test_the_same_answers_pass(frame, ansi):
    """HAVING keeps what Spark's filter keeps, and outputs are computed of that alone."""
    for sql in map(over_calls, HAVING):
        stage = stage_of([(CALLED["n"], "long"), (over_calls("x + i"), "double")], sql)
        projection = compile_projection(stage, (), "timestamp", ansi)
        found = frame.where(sql).orderBy("id").selectExpr(CALLED["n"], over_calls("x + i")).toArrow()
        mine = evaluate(projection, answers_of(ROWS))
        assert [bits(column.combine_chunks()) for column in found.columns] == [bits(array) for array in mine], sql


@settings(max_examples=4)
@given(texts=st.lists(conditions(), min_size=20, max_size=20, unique=True))
def test_random_filters_equal_spark(frame, ansi, interpreted, texts):
    """Where a worker needs no Spark, Spark's filter raises nothing either, however it reorders the condition."""
    kept = []
    for sql in texts:
        projection = compile_projection(stage_of([(CALLED["n"], "long")], sql), (), "timestamp", ansi)
        with suppress(NeedsSpark):
            if isinstance(projection, Projection):
                kept.append((sql, evaluate(projection, answers_of(ROWS))[0].to_pylist()))
    asked = [frame.where(sql).selectExpr(f"{i} AS filter", "id", CALLED["n"]) for i, (sql, _) in enumerate(kept)]
    found = reduce(DataFrame.unionAll, asked).orderBy("filter", "id").toArrow()
    for i, (sql, wanted) in enumerate(kept):
        assert found.filter(pc.equal(found["filter"], i))[CALLED["n"]].to_pylist() == wanted, sql


def test_the_demo_is_covered(spark, tmp_path):
    """Every one of its projections."""
    loom = weave(spark, make(tmp_path / "trades", Trades(rows=1000)))
    graph = loom.plan().stages
    for node in graph.of(AnswerStage):
        slices = graph.slices_of(node).stage
        assert isinstance(compile_projection(node.stage, slices.key_types, slices.time_type, True), Projection)
    assert sum(len(node.stage.queries) for node in graph.of(AnswerStage)) == 51
    loom.close()
