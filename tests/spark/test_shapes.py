"""Queries of one shape are analysed once: whatever came before, names and types are those Spark gives."""

from __future__ import annotations

import pytest

from tests.harness.differential import collect, compare
from weft import Loom

# In this order a looser shape gave the second of each group the first one's type or name.
OUTPUTS = (
    "max(g) + 1000000000 AS a", "max(g) + 9999999999 AS a", "max(g) + 2147483648 AS a", "max(g) + -2147483648 AS a",
    "max(big) * 9.05 AS a", "max(big) * 0.05 AS a",
    "sum(d) * 0.5 AS a", "sum(d) * 1.5 AS a", "sum(d) * 5 AS a", "sum(d) * 50 AS a",
    "max(g) * 1.5 * 7 AS a", "max(g) * 1.5 * 77 AS a", "max(g) + 1e3 AS a", "max(g) + 1.5 AS a", "max(g) + 10.5 AS a",
    "round(max(big), 1 + 1) AS a", "round(max(big), 1 + 2) AS a",
    "CASE WHEN max(g) > 1 THEN 5 ELSE 50 END AS a", "CASE WHEN max(g) > 1 THEN 5 ELSE 50000000000 END AS a",
    "max(g) AS a, a + 1", "max(g) AS b, b + 1", "max(G), min(g) AS G", "max(g), min(g) AS g", "k", "K",
)  # fmt: skip


@pytest.fixture(scope="module")
def shapes(spark):
    frame = spark.sql(
        "SELECT TIMESTAMP'2024-01-01' + make_interval(0, 0, 0, 0, 0, 0, id) AS ts, CAST(id % 3 AS INT) AS g, "
        "CAST(id % 2 AS STRING) AS k, CAST(id / 7 AS DECIMAL(38, 10)) AS big, CAST(id / 7 AS DECIMAL(12, 2)) AS d "
        "FROM range(40)")
    made = Loom(spark)
    made.source("t", frame, time="ts")
    for i, outputs in enumerate(OUTPUTS):
        text = f"SELECT {outputs} FROM t GROUP BY k, window(ts, '20 seconds', '10 seconds')"
        made.query(f"q{i}", text)
        made.query(f"h{i}", f"{text} HAVING max(big) > {i} AND max(g) < {i}.5")
    yield made
    made.close()


def test_names_and_types_are_sparks_own(shapes):
    for query in shapes.queries:
        theirs = [(field.name, field.dataType.json()) for field in shapes.native(query.name).schema.fields]
        assert [(output.name, output.type) for output in query.outputs] == theirs, query.text


def test_values_are_sparks_own(shapes, interpreted):
    with shapes.run(queries=["q0", "q1", "q4", "q5"]) as results:
        ours = collect({name: results[name] for name in ("q1", "q5")})
    theirs = collect({name: shapes.native(name) for name in ("q1", "q5")})
    assert [compare(name, ours[name], theirs[name]) for name in ours] == [[], []]
