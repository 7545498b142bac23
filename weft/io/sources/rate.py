"""Spark's own counter as a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.io.row_source import NamedSource, RowSource, SourceFacts, Spelling

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Rate(RowSource):
    """Spark's own counter: rows of `timestamp` and `value`, so many a second, to try things out."""

    options: Mapping[str, str] = field(default_factory=dict)
    facts = SourceFacts("rate", batch=False)

    def read_stream(self, spark: SparkSession) -> DataFrame:
        """The counter from now on."""
        return spark.readStream.format("rate").options(**self.options).load()


def open_rate(spelled: Spelling) -> Rate:
    """A counter; it has no place."""
    return Rate(spelled.options)


rate = NamedSource(Rate.facts, open_rate)
