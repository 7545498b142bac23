"""The history of a source that comes with a query of a running stream: which table it is, and whether it can serve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING

from weft.errors import QueryError, SourceError
from weft.io.arrivals import CORRUPT, with_corrupt
from weft.io.formats import absolute
from weft.io.row_source import History, RowSource, Table
from weft.io.sources.files import require_path
from weft.io.sources.open import require_frame
from weft.loom.context import Context
from weft.loom.sources import Source
from weft.model.query import Query
from weft.spark.session.settings import is_on
from weft.spark.stream.backfill import align_history

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def find_history(context: Context, query: Query, given: History) -> DataFrame:
    """The past of a query's source, with the columns of that one; raises where it cannot be put before its rows."""
    if query.join:
        raise QueryError(query.name, "it joins sources, and what a join has kept cannot be begun with a history.",
                         hint="Leave out history, or start a stream of its own that reads all of it.")
    if query.window.counts_rows:
        raise QueryError(query.name, "its windows count rows, which a history does not go before.",
                         hint="Leave out history: it counts from the first row that its source has.")
    source = context.sources[query.source]
    require_past(source)
    table = choose_table(query, given)
    rows = read_table(context, source, table) if isinstance(table, str | PathLike) else table
    require_frame(f"{source.name} (history)", rows)
    return align_history(source.name, rows, context.sources.frames[source.name].schema,
                         is_on(context.spark, "spark.sql.caseSensitive"))


def require_past(source: Source) -> None:
    """Raise where a scan that starts now would miss the rows that came after the history."""
    if not keeps_past(source):
        raise SourceError(f"source '{source.name}' begins with the rows that come next, so those that came between its "
                          "history and now would be missed: a history needs a source that is read from its beginning, "
                          "such as files, or a topic with starting='earliest'.")


def keeps_past(source: Source) -> bool:
    """Whether a scan that starts now reads rows that came before; of a user's own DataFrame that is taken on trust."""
    return not isinstance(source.origin, RowSource) or source.origin.keeps_past


def choose_table(query: Query, given: History) -> Table:
    """What was given for the source of a query."""
    if not isinstance(given, Mapping):
        return given
    if query.source not in given:
        raise QueryError(query.name, f"it reads '{query.source}', and the history is of {', '.join(map(repr, given))}.",
                         hint=f"Write history={{'{query.source}': ...}}.")
    return given[query.source]


def read_table(context: Context, source: Source, path: str | PathLike[str]) -> DataFrame:
    """The files at a path, in the format and with the options of the source's; of texts, those that do not fit its
    columns are dead letters, as they are in the stream."""
    files, place = source.files, fspath(path)
    if files is None:
        raise SourceError(f"source '{source.name}' is not of files, so that the format of '{place}' is not known: give "
                          f"its history as a DataFrame, such as spark.read.parquet('{place}').")
    require_path(place)
    there = replace(files, path=absolute(place))
    if not files.facts.text:
        return there.read(context.spark)
    kept = {**dict(files.options), "columnNameOfCorruptRecord": CORRUPT, "mode": "PERMISSIVE"}
    schema = context.sources.frames[source.name].schema
    return replace(there, options=tuple(sorted(kept.items()))).read(context.spark, with_corrupt(schema))


def never_null(context: Context, source: str) -> list[str]:
    """The columns of a source that are declared without nulls."""
    return [field.name for field in context.sources.frames[source].schema.fields
            if not field.nullable and field.name != CORRUPT]
