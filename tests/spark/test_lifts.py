"""Lifts: what a row brings to a column is what Spark's aggregate makes of that row alone."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

from tests.strategies.queries import folded, related_queries
from tests.strategies.tables import SCHEMA, Shape, rows_of
from weft import Loom
from weft.aggregates.component import Lift
from weft.spark.stream.partial import lift_sql


def test_a_row_brings_what_the_aggregate_of_it_alone_is(spark, interpreted):
    """Columns of many random queries, with filters and shared predicates, over rows with nulls, NaN and infinities."""
    table = spark.createDataFrame([(i, *row) for i, row in enumerate(rows_of(
        Shape(80, 90, 1_700_000_000, 3, 0.2, 0.2, False, 3)))], f"id bigint, {SCHEMA}").cache()
    pairs: dict[str, Lift] = {}

    @settings(max_examples=60, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(texts=st.lists(related_queries(folded()), min_size=2, max_size=2))
    def gather(texts):
        loom = Loom(spark)
        loom.source("t", table.drop("id"), time="ts")
        for i, text in enumerate(texts):
            loom.query(f"q{i}", text)
        pairs.update((c.sql, c.lift) for node in loom.plan().stages.roots for c in node.stage.columns)
        loom.close()

    gather()
    assert len(pairs) > 60 and all(pairs.values())
    whole = table.groupBy("id").agg(*(F.expr(sql).alias(f"c{i}") for i, sql in enumerate(pairs)))
    single = table.select("id", *(F.expr(lift_sql(lift)).alias(f"c{i}") for i, lift in enumerate(pairs.values())))
    assert [f.dataType for f in whole.schema] == [f.dataType for f in single.schema]
    ours, theirs = (sorted(map(tuple, frame.collect())) for frame in (single, whole))
    wrong = [(sql, a, b) for one, other in zip(ours, theirs, strict=True)
             for sql, a, b in zip(pairs, one[1:], other[1:], strict=True) if repr(a) != repr(b) and not a == b == 0]
    assert wrong == []
