"""What the Spark tests share: a loom over the trades of the module that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fixtures.sessions import COMPILED, INTERPRETED
from weft import Loom
from weft.spark.session.session import temporary_settings


@pytest.fixture
def loom(spark: SparkSession, trades: DataFrame) -> Iterator[Loom]:
    """A loom whose only source is the module's `trades`."""
    made = Loom(spark)
    made.source("trades", trades, time="ts")
    yield made
    made.close()


@pytest.fixture
def interpreted(spark):
    """Spark without code generation in the stock session too: Weft's own of the tests has none."""
    with temporary_settings(spark, INTERPRETED):
        yield


@pytest.fixture
def compiled(spark):
    """Spark with code generation, as users have it."""
    with temporary_settings(spark, COMPILED):
        yield
