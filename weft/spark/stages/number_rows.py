"""Numbering rows: what windows that count rows are cut by. Nothing else knows how a row gets its number."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from weft.final.rows.counting import FIRST, FRESH, LOW
from weft.model.stages import PartialStage

# These stand beside the source's own columns.
NUMBER, NEW = "__weft_number", "__weft_new"


def number_rows(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """Rows that pass the only predicate, each with its number in its group, from 0 on, by the stage's order."""
    return number_from(rows.where(f"({stage.order[0]}) IS NOT NULL").where(only_predicate(stage)), stage, F.lit(0))


def only_predicate(stage: PartialStage) -> str:
    """The only predicate of rows that are numbered: another one would number them otherwise."""
    (predicate,) = stage.predicates
    return predicate or "true"


def number_stream_rows(rows: DataFrame, stage: PartialStage) -> DataFrame:
    """Rows of a stream that bear the first number of their tie, each with its own, and whether it is new."""
    found = number_from(rows, stage, F.col(FIRST), FIRST).where(f"{NUMBER} >= {LOW}")
    return found.withColumn(NEW, F.expr(f"{NUMBER} >= {FRESH}"))


def number_from(rows: DataFrame, stage: PartialStage, first: Column, *within: str) -> DataFrame:
    """Rows numbered from `first` on by the stage's order, in their group or a part of it."""
    before = Window.partitionBy(*map(F.expr, stage.keys), *within).orderBy(*map(F.expr, stage.order))
    # row_number() would end at 2^31 rows.
    number = F.count(F.lit(1)).over(before.rowsBetween(Window.unboundedPreceding, Window.currentRow)) - 1
    return rows.withColumn(NUMBER, first + number)
