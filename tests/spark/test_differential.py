"""Weft against Spark: random tables and random queries must give Spark's own rows.

`make test ARGS="--cases 2000 --random"` draws as many as one likes.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.fixtures.sessions import COMPILED, INTERPRETED
from tests.harness.differential import require_equal
from tests.strategies.queries import queries, related_queries
from tests.strategies.tables import SCHEMA, Shape, rows_of, shapes
from weft import Loom
from weft.optimize.groupings import may_derive
from weft.spark.session.session import temporary_settings

BATCH = 6


# Compiling the JVM code of a query takes far longer than running it on a small table, so most cases are interpreted.
MODES = {
    "interpreted": (INTERPRETED, 0.12),
    "compiled": (COMPILED, 0.04),
}


@pytest.fixture(params=MODES)
def tables(request, spark):
    """How many tables to draw, each asked several queries, with Spark's code generation off or on."""
    options, share = MODES[request.param]
    with temporary_settings(spark, options):
        yield max(1, round(request.config.getoption("--cases") * share))


@pytest.fixture(params=["filters", "shards"])
def sharing(request, monkeypatch):
    """Everything is shared that may be: predicates however windows cut time, groupings whatever they cost."""
    monkeypatch.setattr("weft.optimize.predicates.FINER", 1000)
    most = 10_000 if request.param == "filters" else 0
    monkeypatch.setattr("weft.optimize.predicates.most_filtered", lambda *_: most)
    monkeypatch.setattr("weft.optimize.groupings.pays", may_derive)
    return max(1, round(request.config.getoption("--cases") * 0.04))


def test_random_queries_give_sparks_own_rows(spark, tables):
    """Every random query over every random table gives the rows, names and types that Spark gives."""
    differential(spark, tables, queries())


@pytest.mark.usefixtures("interpreted")
def test_random_queries_that_share_all_they_may_give_sparks_own_rows(spark, sharing):
    """Queries of one source that differ in WHERE, keys, functions and windows are woven together as far as they go."""
    differential(spark, sharing, related_queries())


def differential(spark, examples: int, texts: st.SearchStrategy[str]) -> None:
    """Draw tables and queries over them, and compare each with Spark's own."""

    # Shrinking runs Spark hundreds of times; the failing table and queries are printed as they are.
    @settings(max_examples=examples, phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(shape=shapes(), texts=st.lists(texts, min_size=BATCH, max_size=BATCH, unique=True))
    def check(shape: Shape, texts: list[str]) -> None:
        loom = Loom(spark)
        loom.source("t", spark.createDataFrame(rows_of(shape), SCHEMA), time="ts")
        require_equal(loom, texts, shape)

    check()
