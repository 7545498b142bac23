"""Numbering rows: what windows that count rows are cut by. Nothing else knows how a row gets its number."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from weft.stages.definition import PartialStage

NUMBER = "__weft_number"  # stands beside the source's own columns


def numbered(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """Rows that pass the only predicate, each with its number in its group, from 0 on, by the stage's order."""
    (predicate,) = stage.predicates
    passing = rows.where(f"({stage.order[0]}) IS NOT NULL")
    passing = passing.where(predicate) if predicate else passing
    before = Window.partitionBy(*map(F.expr, stage.keys)).orderBy(*map(F.expr, stage.order))
    # row_number() would end at 2^31 rows.
    number = F.count(F.lit(1)).over(before.rowsBetween(Window.unboundedPreceding, Window.currentRow)) - 1
    return passing.withColumn(NUMBER, number)
