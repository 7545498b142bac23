"""How rows are shared out to partitions, those for workers and those that are kept."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from weft.spark.session.session import temporary_settings
from weft.spark.session.workers import count_cores, is_local

PARTITIONS = "spark.sql.shuffle.partitions"
# Whether Spark may join small partitions of rows that it keeps. By itself it keeps two hundred of a few rows, and each
# reader that moves them by key writes two hundred files for each of these.
JOINS_KEPT = {"spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true"}
# Partitions that are few: so many a core of this machine, so many in all of a cluster whose cores nobody knows.
FEW_A_CORE, FEW = 4, 32


def shuffle_partitions(spark: SparkSession) -> int:
    """How many partitions a session makes of rows that it moves."""
    return int(str(spark.conf.get(PARTITIONS)))


def keep_rows(rows: DataFrame) -> DataFrame:
    """Have Spark keep rows that are read several times, in as few partitions as it likes."""
    with temporary_settings(rows.sparkSession, JOINS_KEPT):
        return rows.persist()


def repartition_evenly(rows: DataFrame, *columns: str) -> DataFrame:
    """The rows by some columns, for workers that do much with few bytes. Spark joins partitions that are small, so that
    of four one task gets two; where they are few, each stays as it is. Of many it may join some."""
    spark = rows.sparkSession
    count = shuffle_partitions(spark)
    few = FEW_A_CORE * count_cores(str(spark.conf.get("spark.master"))) if is_local(spark) else FEW
    return rows.repartition(count, *columns) if count <= few else rows.repartition(*columns)
