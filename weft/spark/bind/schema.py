"""What the SQL reader knows of a source, as Spark tells it."""

from __future__ import annotations

from difflib import get_close_matches

from pyspark.sql import DataFrame

from weft.errors import SourceError
from weft.sql import SourceSchema

TIMES = ("timestamp", "timestamp_ntz", "date", "string")


def schema_of(name: str, frame: DataFrame, time: str | None, case_sensitive: bool) -> SourceSchema:
    """What the SQL reader needs to know of a source; the event time must be one of its columns."""
    columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema.fields)
    schema = SourceSchema(name, columns, time, case_sensitive)
    if time is not None:
        require_time(schema, time)
    return schema


def require_time(schema: SourceSchema, time: str) -> None:
    """Raise unless the name means one column of the source, and that column a time."""
    found, names = schema.called(time), [column for column, _ in schema.columns]
    if not found:
        near = get_close_matches(time, names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"its columns are {', '.join(names)}."
        raise SourceError(f"source '{schema.name}' has no column '{time}' to be its event time: {hint}")
    if len(found) > 1:
        raise SourceError(f"the event time '{time}' of source '{schema.name}' could be any of the columns "
                          f"{', '.join(found)}: rename them first.")
    kind = schema.types[found[0]]
    if kind not in TIMES:
        raise SourceError(f"column '{time}' of source '{schema.name}' is {kind}, not a time: cast it to a timestamp "
                          "first.")
