"""Which answer stages are covered, and the reason given for those that are not."""

from __future__ import annotations

import pytest

from tests.strategies.projections import stage_of
from weft.final.project import Projection
from weft.stages.project import NotCovered, compile_projection
from weft.stages.project.answers import simple_string

X, N = "__call_0", "__call_4"


@pytest.mark.parametrize(("sql", "kind", "reason"), [
    (f"round({X}, 2)", "double", "the function round of 2 arguments"),
    (f"pow({X}, 2)", "double", "the function pow of 2 arguments"),
    (f"sqrt({X}, 2)", "double", "the function sqrt of 2 arguments"),
    (f"{N} * 0.5", "decimal(22,1)", "'__call_4 * 0.5' of type decimal(22,1)"),
    (f"{N} / 0.5", "decimal(27,6)", "/ of types bigint, decimal(1,1)"),
    (f"CAST({X} AS INT)", "integer", "a cast from double to int"),
    (f"CAST({X} AS FLOAT)", "float", "a cast from double to float"),
    ("'text'", "string", "''text'' of type text, which Spark gives as string"),
    ("__key_0 = 'it''s'", "boolean", "a text with a quote or a backslash"),
    ("__key_0 = 'a\\nb'", "boolean", "'__key_0 = 'a\\nb'' has a backslash"),
    ("__key_0 < __key_0", "boolean", "< of types string"),
    (f"{X} = 'a'", "boolean", "a comparison of double with a text"),
    ("__key_0 IN ('a', 1)", "boolean", "= of types int, string"),
    (f"{X} IN ('a', 1)", "boolean", "a comparison of double with a text"),
    (f"shiftleft({N}, {N})", "long", "the places of a shift of type bigint"),
    (f"{X} & 1", "integer", "& of type double"),
    ("1 / 0", "double", "'1 / 0' raises an error"),
    (f"if({X} > 0, -0.0D, 0D)", "double", "the constant '-0.0D', which is -0.0"),
    (f"{X} + 0D * -3", "double", "the constant '0D * -3', which is -0.0"),
    (f"if(TRUE, 0D, {X})", "double", "a condition that is a constant"),
    ("2147483647 + 1", "integer", "several integer constants, which Spark computes first and may find too large"),
    ("-2147483648", "integer", "the literal -2147483648"),
    (f"{X} + NULL", "double", "+ of NULL"),
    ("__window.middle", "timestamp", "the column __window.middle"),
    ("__window.end > __window.start", "boolean", "> of types timestamp"),
    (f"{X} IN ({', '.join(map(str, range(33)))})", "boolean", "IN of anything but a short list"),
    (f"{X} LIKE 'a'", "boolean", "'__call_0 LIKE 'a'' is not among the expressions that workers evaluate"),
    (f"{N} + 1", "integer", "'__call_4 + 1' of type bigint, which Spark gives as int"),
    ("__key_0 > 1", "boolean", "> of types int, string"),
    ("NULL", "void", "'NULL' of type void"),
    (f"if({X}, 1, 2)", "integer", "a condition of type double"),
    (f"{X} IS TRUE", "boolean", "IS of what is not NULL"),
])
def test_what_is_not_covered_says_why(sql, kind, reason):
    found = compile_projection(stage_of([(sql, kind)]), ("string",), "timestamp", True)
    assert found == NotCovered(reason)


def test_what_is_grouped_otherwise_by_spark_is_not_covered():
    """Spark reads `a = b IS NULL` as `(a = b) IS NULL`."""
    for sql in (f"{X} = {X} IS NULL", f"({X} = {X}) IS NULL"):
        found = compile_projection(stage_of([(sql, "boolean")]), (), "timestamp", False)
        if isinstance(found, Projection):
            assert type(found.outputs[0].inner.inner).__name__ == "Compare"
        else:
            assert found.reason.endswith("needs parentheses")


def test_having_must_be_a_truth_value():
    found = compile_projection(stage_of([(X, "double")], N), (), "timestamp", True)
    assert found == NotCovered("HAVING of type bigint")


def test_equal_texts_are_one_expression():
    """Computed once, in HAVING and outputs."""
    half = f"({X} / {N})"
    found = compile_projection(stage_of([(f"{half} + 1", "double")], f"{half} > 1"), (), "timestamp", True)
    assert found.having.left is found.outputs[0].left


@pytest.mark.parametrize(("kind", "simple"), [
    ("long", "bigint"), ("decimal(10,2)", "decimal(10,2)"),
    ({"type": "array", "elementType": "short", "containsNull": False}, "array<smallint>"),
    ({"type": "map", "keyType": "string", "valueType": "byte", "valueContainsNull": True}, "map<string,tinyint>"),
    ({"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]},
     "struct<a:int>"),
])
def test_types_by_their_simple_names(kind, simple):
    assert simple_string(kind) == simple
