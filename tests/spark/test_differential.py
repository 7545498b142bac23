"""Weft against Spark: random tables and random queries must give Spark's own rows.

`make test ARGS="--cases 2000 --random"` draws as many as one likes.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from weft import Loom
from weft.spark.differential import differences
from weft.testing.queries import queries
from weft.testing.tables import SCHEMA, Shape, rows_of, shapes

BATCH = 6


@pytest.fixture(scope="module")
def spread(request: pytest.FixtureRequest) -> int:
    """How many tables to draw: every one is asked several queries."""
    return max(1, request.config.getoption("--cases") // 2)


def test_random_queries_give_sparks_own_rows(spark, spread):
    """Every random query over every random table gives the rows, names and types that Spark gives."""

    # Shrinking runs Spark hundreds of times; the failing table and queries are printed as they are.
    @settings(max_examples=spread, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(shape=shapes(), texts=st.lists(queries(), min_size=BATCH, max_size=BATCH, unique=True))
    def check(shape: Shape, texts: list[str]) -> None:
        loom = Loom(spark)
        loom.source("t", spark.createDataFrame(rows_of(shape), SCHEMA), time="ts")
        try:
            for i, text in enumerate(texts):
                loom.query(f"q{i}", text)
            found = differences(loom)
        finally:
            loom.close()
        assert not found, "\n".join([str(shape), *texts, *found])

    check()
