"""Spark is asked about many queries in one text, in halves where that fails, and about no expression twice."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import BooleanType, DecimalType, DoubleType, LongType, StringType, StructField, StructType

from weft.spark.bind.known_types import MOST, KnownTypes
from weft.sql import SourceSchema, parse_query

SOURCES = {"t": SourceSchema("t", (("ts", "timestamp"), ("k", "string"), ("x", "double"), ("d", "decimal(9,2)")), "ts")}
NAMED = '"{}"'.format


class Analyser:
    """Knows few types, and fails on whatever is called bad."""

    def __init__(self):
        self.texts = []

    def __call__(self, source, text):
        self.texts.append(text)
        if "bad" in text:
            raise AnalysisException("this is bad")
        asked = text.removeprefix("SELECT ").split(" FROM ")[0].split(", ")
        return StructType([StructField(each.split("(")[0], self.kind(each)) for each in asked])

    @staticmethod
    def kind(text):
        """The type of an expression."""
        inner = text.removeprefix("first(").removesuffix(")")
        known = {"d": DecimalType(9, 2), "k": StringType(), "ts": StringType()}
        return BooleanType() if ">" in text else known.get(inner, LongType() if "count" in text else DoubleType())


@pytest.fixture
def analyser():
    return Analyser()


@pytest.fixture
def types(analyser):
    return KnownTypes(analyser)


def query(outputs, where="", having=""):
    """A parsed query."""
    text = f"SELECT {outputs} FROM t {where} GROUP BY k, window(ts, '10 minutes') {having}"
    return parse_query("q", text, SOURCES)


def test_one_text_for_all_and_none_for_what_is_known(analyser, types):
    batch = [query("k, sum(x) AS s"), query("avg(x) AS a, sum(x) AS other", "WHERE x > 1"), query("sum(x) AS s")]
    types.learn(batch)
    assert analyser.texts == ["SELECT k, sum(x) AS _, avg(x) AS _, first(ts), first(k), first(x), first(x > 1) "
                           "FROM __weft_source__ GROUP BY k, window(ts, '1 second')"]
    assert types.outputs(batch[0]) == (("k", NAMED("string")), ("sum", NAMED("double")))
    assert types.types("t", ["k", "x", "y"]) == {"k": "string", "x": "double"}
    types.learn([query("sum(x) AS s, k", "WHERE x > 77")])
    assert len(analyser.texts) == 1


def test_numbers_count_only_beside_decimals(analyser, types):
    plain = [query(f"sum(x) - {i} AS s") for i in range(5)]
    types.learn(plain)
    assert len(analyser.texts) == 1 and analyser.texts[0].count("sum(x)") == 1 and all(map(types.outputs, plain))
    beside = [query(f"sum(d) - {i} AS s") for i in range(5)]
    types.learn(beside)
    assert [text.count("sum(d)") for text in analyser.texts[1:]] == [1, 4] and all(map(types.outputs, beside))


def test_what_fails_is_found_by_halves_and_not_asked_again(analyser, types):
    batch = [query(f"sum(x) / count({'bad' if i == 5 else 'x'}) AS s, count(*) + {i}.5 AS n" if i != 5 else
                   "sum(upper('bad')) AS s") for i in range(8)]
    types.learn(batch)
    assert [types.outputs(each) is None for each in batch] == [i == 5 for i in range(8)]
    asked = len(analyser.texts)
    assert asked <= 1 + 2 * 3
    types.learn(batch)
    assert len(analyser.texts) == asked


def test_predicates_must_be_boolean(types):
    batch = [query("sum(x) AS s", "WHERE x"), query("sum(x) AS s", having="HAVING count(*)"), query("sum(x) AS s")]
    types.learn(batch)
    assert [types.outputs(each) is None for each in batch] == [True, True, False]


def test_a_key_is_known_once_it_was_grouped_by(analyser, types):
    types.learn([query("max(d) AS m")])
    other = parse_query("q", "SELECT max(d) AS m FROM t GROUP BY d, window(ts, '10 minutes')", SOURCES)
    assert types.outputs(other) is None
    types.learn([other])
    assert types.outputs(other) and analyser.texts[-1].endswith("GROUP BY d, window(ts, '1 second')")


def test_very_many_expressions_are_asked_in_several_texts(analyser, types):
    batch = [query(f"sum(x) * {i}.{i} AS s") for i in range(MOST + 50)]
    types.learn(batch)
    assert len(analyser.texts) == 2 and all(map(types.outputs, batch))


def test_a_source_that_is_replaced_is_forgotten(analyser, types):
    types.learn([query("sum(x) AS s")])
    types.forget("t")
    assert types.outputs(query("sum(x) AS s")) is None and types.types("t", ["k"]) == {}
