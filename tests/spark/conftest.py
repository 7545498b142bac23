"""What the Spark tests share: a loom over the trades of the module that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

from weft import Loom


@pytest.fixture
def loom(spark: SparkSession, trades: DataFrame) -> Iterator[Loom]:
    """A loom whose only source is the module's `trades`."""
    made = Loom(spark)
    made.source("trades", trades, time="ts")
    yield made
    made.close()


@pytest.fixture
def interpreted(spark):
    """Spark without code generation: compiling a query takes far longer than running it on a small table."""
    options = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for key, value in options.items():
        spark.conf.set(key, value)
    yield
    for key in options:
        spark.conf.unset(key)
