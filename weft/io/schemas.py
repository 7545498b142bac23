"""Schemas as users write them: `ts timestamp, price double`."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from weft.errors import SourceError
from weft.io.java import spark_reason


def parse_schema(name: str, text: str) -> StructType:
    """The columns that a text such as `ts timestamp, price double` names."""
    try:
        found = StructType.fromDDL(text)
    except PySparkException as error:
        raise SourceError(f"the schema of source '{name}' cannot be read: {spark_reason(error)}") from error
    if not isinstance(found, StructType):
        raise SourceError(f"the schema of source '{name}' names no columns: write 'ts timestamp, price double'.")
    return found
