"""The change feed of a refresh: for each query the rows that came and went, in numbered files, each exactly once.

What changes is written beside its place before a query's folder is swapped, and put there afterwards. The mark of the
folder has the number of its last changes: whoever was killed in between left a file that either belongs to what is in
place, and is put there, or to nothing, and is removed (decision 0037).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField

from weft.errors import RunError
from weft.final.outputs.changes import CHANGE, INSERT, read_rows, row_changes
from weft.io.sinks import Receiver
from weft.model.graph import digest
from weft.model.stages import AnswerStage
from weft.spark.refresh.kept_answers import file_facts
from weft.spark.write.owned import read_mark
from weft.spark.write.worker_jobs import fits, output_schema, output_struct

# Where changes wait for a function to take them.
OUTBOX = "_weft_changes"
PENDING = re.compile(r"_pending-([0-9a-f]{32})-(changes-\d{12}(?:-all)?\.parquet)")
NUMBERED = re.compile(r"changes-(\d{12})(-all)?\.parquet")


@dataclass(frozen=True)
class QueryChanges:
    """What has changed of a query's rows: the number of the changes and how many rows came and went; `whole` where all
    rows are given, since nobody knows which were given before."""

    number: int
    inserts: int
    deletes: int
    whole: bool

    def to_dict(self) -> dict:
        """What the report says."""
        return {"number": self.number, "inserts": self.inserts, "deletes": self.deletes, "all": self.whole}


@dataclass
class ChangeFeed:
    """The changes of one run: a folder with one folder a query, and the function that takes them, if any."""

    spark: SparkSession
    folder: str
    receiver: Receiver | None = None
    found: dict[str, QueryChanges] = field(default_factory=dict)

    def settle(self, files: fs.FileSystem, place: Callable[[str], str], queries: Iterable[str]) -> None:
        """Put in place what a killed run had published and not told yet, and remove what it had not published."""
        for query in queries:
            for name in self._names(query):
                pending = PENDING.fullmatch(name)
                if pending and read_mark(files, place(query)).get("run") == pending[1]:
                    os.replace(f"{self.folder}/{query}/{name}", f"{self.folder}/{query}/{pending[2]}")
                elif pending or PENDING.fullmatch(name.removeprefix("_writing-")):
                    os.remove(f"{self.folder}/{query}/{name}")

    def is_followed(self, mark: Mapping) -> bool:
        """Whether the changes that led to a query's rows were all told here."""
        return (mark.get("changes") or {}).get("place") == self.folder

    def add(self, query: str, run: str, mark: Mapping, stage: AnswerStage, old: Sequence[str],
            new: Sequence[str], whole: bool = False) -> dict:
        """Keep the changes between the rows of some files and those of others, or the `whole` of the others where the
        old ones are not what was told; what the query's next mark says."""
        whole, schema = whole or not self.is_followed(mark), output_schema(stage)
        made = row_changes(read_rows([] if whole else old, schema), read_rows(new, schema))
        number = self._last(query, mark) + 1
        if not made.num_rows and not whole:
            return {**mark["changes"], "columns": columns_of(stage)}
        inserts = sum(1 for kind in made[CHANGE].to_pylist() if kind == INSERT)
        self.found[query] = QueryChanges(number, inserts, made.num_rows - inserts, whole)
        self._write(query, f"_pending-{run}-changes-{number:012}{'-all' if whole else ''}.parquet", made, stage)
        return {"place": self.folder, "number": number, "columns": columns_of(stage)}

    def publish(self, run: str) -> None:
        """Put the changes of queries in place whose rows are."""
        for query in self.found:
            for name in self._names(query):
                pending = PENDING.fullmatch(name)
                if pending and pending[1] == run:
                    os.replace(f"{self.folder}/{query}/{name}", f"{self.folder}/{query}/{pending[2]}")

    def deliver(self, queries: Iterable[str]) -> None:
        """Give the function all changes that wait, in their order; each is gone when it has returned."""
        for query in queries if self.receiver else ():
            for name in sorted(filter(NUMBERED.fullmatch, self._names(query))):
                path, number = f"{self.folder}/{query}/{name}", int(NUMBERED.fullmatch(name)[1])  # type: ignore[index]
                self.receiver(query, self.spark.read.parquet(path), number)  # type: ignore[misc]
                os.remove(path)

    def _last(self, query: str, mark: Mapping) -> int:
        """The number of the last changes of a query."""
        there = [int(found[1]) for name in self._names(query) if (found := NUMBERED.fullmatch(name))]
        return max([*there, int((mark.get("changes") or {}).get("number", 0))])

    def _names(self, query: str) -> list[str]:
        folder = f"{self.folder}/{query}"
        return os.listdir(folder) if os.path.isdir(folder) else []

    def _write(self, query: str, name: str, rows: pa.Table, stage: AnswerStage) -> None:
        """Write rows to a file that is there once it is whole and on the disk."""
        folder, kinds = f"{self.folder}/{query}", output_struct(stage).add(StructField(CHANGE, StringType(), False))
        os.makedirs(folder, exist_ok=True)
        with pq.ParquetWriter(f"{folder}/_writing-{name}", rows.schema, store_schema=False) as writer:
            writer.add_key_value_metadata({b"org.apache.spark.version": self.spark.version.encode(),
                                           b"org.apache.spark.sql.parquet.row.metadata": kinds.json().encode()})
            writer.write_table(rows)
        os.replace(f"{folder}/_writing-{name}", f"{folder}/{name}")


def result_paths(place: str, mark: Mapping, without: Iterable[str] = ()) -> list[str]:
    """The files of a query's rows, by its mark, but for some."""
    names = set(mark.get("files", ())) - set(without)
    return [f"{place}/{name}" for name in sorted(names) if name.endswith(".parquet")]


def columns_of(stage: AnswerStage) -> str:
    """A digest of the names and types of a query's columns."""
    return digest(output_struct(stage).json())


def is_as_told(place: str, mark: Mapping, stage: AnswerStage) -> bool:
    """Whether a folder has the columns of a query, and its files are those that were written when its changes were
    told, by what its mark says of them."""
    told = mark.get("changes") or {}
    files = (mark.get("kept") or told).get("files") or {}
    names = [name for name in mark.get("files", ()) if name.endswith(".parquet")]
    same = all(file_facts(f"{place}/{name}") == tuple(files.get(name, ())) for name in names)
    return same and told.get("columns") == columns_of(stage)


def require_told(stages: Iterable[AnswerStage]) -> None:
    """Raise where the changes of a query cannot be found."""
    for stage in stages:
        names = [output.name for output in stage.outputs]
        if not fits(stage, None):
            raise RunError(f"changes of query '{stage.queries[0].name}' cannot be told: its columns have types that "
                           "rows are not compared by. Leave changes out, or cast lists and maps to text.")
        if CHANGE in names:
            raise RunError(f"query '{stage.queries[0].name}' has a column {CHANGE}, which changes are told by: give it "
                           "another name.")
