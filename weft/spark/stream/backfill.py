"""The past of a source out of a table that the user gives: a scan of its own reads a copy of it before the source.

A row is the table's where its event time is before a cut, and the source's from there on, so none counts twice. The
copy lies in the checkpoint before the page names it. Spark reads it as a second source of the scan, all of it in the
first trigger, so that none of its rows is late, and knows after a crash what it has read of both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from weft.errors import SourceError
from weft.io.arrivals import CORRUPT, find_faults, keep_usable, quoted
from weft.io.files import list_entries, open_filesystem
from weft.io.sources.files import translate_reading
from weft.model.stages import PartialStage
from weft.spark.session.session import temporary_settings
from weft.spark.stream.checkpoint import BACKFILL, Checkpoint
from weft.spark.stream.flow import event_time_sql

# How the folders in a checkpoint begin that hold copies.
HISTORY = "history-"
OURS = re.compile(rf"{HISTORY}[0-9a-f]{{32}}")
# How times are copied, whatever the session says of files that others read.
EXACTLY = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
           "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED"}


def align_history(source: str, given: DataFrame, known: StructType, case_sensitive: bool) -> DataFrame:
    """What a user gave as the past of a source, with that one's columns; raises where it has not all of them."""
    if given.isStreaming:
        raise SourceError(f"the history of source '{source}' is a stream, which has no end: give a table, made with "
                          "spark.read.")
    fields = [field for field in known.fields if field.name != CORRUPT]
    there = {name_key(field.name, case_sensitive): field for field in given.schema.fields}
    missing = [field.name for field in fields if name_key(field.name, case_sensitive) not in there]
    if missing:
        raise SourceError(f"the history of source '{source}' has no column {' and no column '.join(missing)}: give it "
                          "all columns of the source, as queries that come later may read any of them.")
    pairs = [(field, there[name_key(field.name, case_sensitive)]) for field in fields]
    for ours, theirs in pairs:
        if not has_type(ours, theirs):
            raise SourceError(f"column '{ours.name}' of the history of source '{source}' is "
                              f"{theirs.dataType.simpleString()}, and of the source {ours.dataType.simpleString()}: "
                              "cast it first.")
    kept = [F.col(quoted(theirs.name)).alias(ours.name) for ours, theirs in pairs]
    return given.select(*kept, *([CORRUPT] if CORRUPT in given.columns else []))


def name_key(name: str, case_sensitive: bool) -> str:
    """What a column is found by."""
    return name if case_sensitive else name.lower()


def has_type(ours: StructField, theirs: StructField) -> bool:
    """Whether a column holds values of another's type, and no nulls deep within where that one has none."""
    if ours.dataType == theirs.dataType:
        return True
    nullable = '":false' not in ours.dataType.json()
    return nullable and ours.dataType.simpleString() == theirs.dataType.simpleString()


def find_cut(source: str, rows: DataFrame, stage: PartialStage, max_clock_skew: int | None, settled: int | None,
             never_null: Sequence[str]) -> int:
    """The event time, in microseconds, before which rows are the history's: after its last row, or earlier where the
    stream has closed windows only up to then, for a row that is not late may come until then."""
    time = event_time_sql(stage)
    usable = keep_usable(rows, find_faults(rows.columns, time, max_clock_skew))
    nulls = [F.count_if(F.col(quoted(name)).isNull()) for name in never_null]
    with translate_reading(f"cannot read the history of source '{source}', so nothing is changed"):
        found = usable.agg(F.expr(f"max(unix_micros({time}))"), *nulls).first()
    assert found is not None
    last, *empty = found
    if last is None:
        raise SourceError(f"the history of source '{source}' has no row with an event time that can be used: give one "
                          "that has, or leave it out.")
    for name, count in zip(never_null, empty, strict=True):
        if count:
            raise SourceError(f"column '{name}' of the history of source '{source}' has nulls, and the source's has "
                              "none, ever: leave out those rows, or fill them.")
    return last + 1 if settled is None else min(last + 1, settled)


def copy_history(source: str, rows: DataFrame, stage: PartialStage, cut: int, checkpoint: str) -> str:
    """Copy the rows before a cut into a checkpoint, and those that have no time, which are dead letters; gives the
    folder's name."""
    folder = f"{HISTORY}{uuid4().hex}"
    time = event_time_sql(stage)
    past = rows.where(f"coalesce(({time}) < timestamp_micros({cut}), true)")
    failed = f"cannot copy the history of source '{source}' into the checkpoint, so nothing is changed"
    with translate_reading(failed), temporary_settings(rows.sparkSession, EXACTLY):
        past.write.parquet(f"{checkpoint.rstrip('/')}/{folder}")
    return folder


def read_backfilled(live: DataFrame, stage: PartialStage, state: Mapping[str, Any], checkpoint: str) -> DataFrame:
    """The rows of a source as a stream, after those of its history where a page says that its scan has one."""
    found = state.get(BACKFILL)
    if found is None:
        return live
    time = event_time_sql(stage)
    past = f"({time}) >= timestamp_seconds(0) AND ({time}) < timestamp_micros({found['cut']})"
    reader = live.sparkSession.readStream.schema(live.schema)
    history = reader.parquet(f"{checkpoint.rstrip('/')}/{found['folder']}")
    return live.where(f"coalesce(NOT ({past}), true)").union(history)


def remove_histories(path: str, page: Checkpoint) -> None:
    """Remove copies that no scan of a page reads; a crash may have left one that none ever did."""
    read = {state[BACKFILL]["folder"] for state in page.state.values() if BACKFILL in state}
    files, root = open_filesystem(path)
    for info in list_entries(files, root):
        if OURS.fullmatch(info.base_name) and info.base_name not in read:
            files.delete_dir(info.path)
