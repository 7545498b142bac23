"""Which slices are new since a query's rows were written, by where in time they start, for each predicate."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from weft.aggregates.component import ROWS
from weft.catalog.database import Catalog
from weft.catalog.slice_caches import spans_since
from weft.final.fold.partition import passing_slices
from weft.model.spans import Spans, join_spans, spans_over
from weft.model.stages import FinalStage, PartialStage
from weft.spark.incremental.kept_slices import KeptSlices, generations_after
from weft.spark.incremental.slice_cache import cached_name
from weft.spark.stages.partial import SLICE


class NewSlices:
    """The slices of a node that came after some version; those of few slices are looked at for each predicate."""

    def __init__(self, catalog: Catalog, kept: KeptSlices):
        self._catalog, self._kept = catalog, kept
        self._tables: dict[int, pa.Table | None] = {}
        self._spans: dict[tuple[str, int], Spans | None] = {}
        self._found: dict[tuple[int, int], Spans] = {}

    def spans(self, epoch: str, version: int, final: FinalStage, predicate: int) -> Spans | None:
        """Where new slices with rows of a predicate start; None where nobody knows what is new."""
        if (epoch, version) not in self._spans:
            self._spans[epoch, version] = spans_since(self._catalog, self._kept.cache, epoch, version)
        whole = self._spans[epoch, version]
        if not whole or not final.predicates:
            return whole
        table = self._table(version)
        if table is None:
            return whole
        if (version, predicate) not in self._found:
            there = passing(table, self._kept.stage, final, predicate)
            self._found[version, predicate] = spans_over(np.unique(table[SLICE].to_numpy()[there]).tolist())
        return self._found[version, predicate]

    def _table(self, version: int) -> pa.Table | None:
        """The new slices, None where they were joined with older ones."""
        if version not in self._tables:
            generations = self._kept.cache.generations
            joined = any(g.first <= version < g.last for g in generations)
            folders = [self._kept.home / g.id for g in generations_after(self._kept.cache, version)]
            self._tables[version] = None if joined else read_new(folders, self._kept.stage)
        return self._tables[version]


def read_new(folders: Sequence[Path], stage: PartialStage) -> pa.Table:
    """What tells the predicates of slices apart: their marks, or the numbers of rows of each predicate."""
    rows = [cached_name(column.sql) for column in stage.columns if is_row_count(column.plain)]
    names = [SLICE, *stage.mark_names, *dict.fromkeys(rows)]
    files = [path for folder in folders for path in sorted(folder.rglob("*.parquet"))]
    return pa.concat_tables(pq.read_table(path, columns=names) for path in files)


def is_row_count(plain: str) -> bool:
    """Whether a column counts rows."""
    return plain == ROWS.columns[0]


def passing(table: pa.Table, stage: PartialStage, final: FinalStage, predicate: int) -> np.ndarray:
    """Which slices have rows of a predicate."""
    if final.marks:
        marks = [table[name].to_numpy() for name in stage.mark_names[: final.marks]]
        return passing_slices(final.tests[predicate], marks, {})
    sql = {(column.plain, column.predicate): column.sql for column in stage.columns}[ROWS.columns[0], predicate]
    return table[cached_name(sql)].to_numpy() > 0


def history_of(kept: KeptSlices) -> tuple[int, int] | None:
    """When the first and the last slice start, by what Parquet says of their files; None where there is none."""
    ends = [ends for folder in kept.folders for path in folder.rglob("*.parquet") if (ends := file_span(path))]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None


@lru_cache(4096)
def slice_metadata(path: Path) -> pq.FileMetaData:
    """What Parquet says of a file of slices, which never changes under its name."""
    return pq.read_metadata(path)


def file_span(path: Path) -> tuple[int, int] | None:
    """The first and last start of the slices in a file, None where it has none."""
    metadata = slice_metadata(path)
    at = [metadata.schema.column(i).path for i in range(metadata.num_columns)].index(SLICE)
    groups = [metadata.row_group(i).column(at).statistics for i in range(metadata.num_row_groups)
              if metadata.row_group(i).num_rows]
    if not groups:
        return None
    return min(int(g.min) for g in groups), max(int(g.max) for g in groups)


def values_within(kept: KeptSlices, columns: Collection[str], spans: Spans | None) -> int:
    """How many values have to be read to have some columns of the slices that start within spans, or of all; each value
    of a list counts."""
    return sum(values_of(path, columns, spans) for folder in kept.folders for path in folder.rglob("*.parquet"))


def values_of(path: Path, columns: Collection[str], spans: Spans | None) -> int:
    """How many values of some columns lie in the row groups of a file that reach into spans, or in all."""
    metadata, count = slice_metadata(path), 0
    leaves = [metadata.schema.column(i).path.split(".")[0] for i in range(metadata.num_columns)]
    at, read = leaves.index(SLICE), [i for i, name in enumerate(leaves) if name in columns]
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        found = group.column(at).statistics
        if group.num_rows and (spans is None or overlaps(spans, int(found.min), int(found.max))):
            count += sum(group.column(i).num_values for i in read)
    return count


def overlaps(spans: Spans, low: int, high: int) -> bool:
    """Whether some moment from low to high lies in a span."""
    return len(join_spans((*spans, (low, high + 1)))) <= len(spans)
