"""Output rows out of files of slices: a worker reads what it folds by itself, where Spark would only pass it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.compute import Expression

from weft.final.outputs.buckets import TimeBuckets
from weft.final.outputs.files import FileFormat
from weft.final.outputs.partition import WorkerProjection, adding_to_buckets, project_columns, report
from weft.model.spans import Spans
from weft.model.stages import FinalStage


@dataclass(frozen=True, eq=False)
class SliceFiles:
    """Slices in Parquet files: `columns` are keys, start, marks and what is folded, in the order that a final stage
    takes them; those are read that by the column `start` begin within the spans, all where these are None."""

    files: tuple[str, ...]
    columns: tuple[str, ...]
    start: str
    spans: Spans | None

    def read(self) -> list[pa.Array]:
        """The columns of the slices."""
        only = None if self.spans is None else reduce(or_, (self._within(*span) for span in self.spans))
        table = ds.dataset(list(self.files), format="parquet").to_table(list(dict.fromkeys(self.columns)), only)
        return [whole(table[name]) for name in self.columns]

    def _within(self, low: int, high: int) -> Expression:
        return (ds.field(self.start) >= low) & (ds.field(self.start) < high)


@dataclass(frozen=True, eq=False)
class SliceFilesJob:
    """Some projections of a tree, the buckets that are made of their queries, and the files to read and write."""

    slices: SliceFiles
    final: FinalStage
    projections: Sequence[WorkerProjection]
    buckets: Mapping[str, TimeBuckets]
    target: FileFormat

    def run(self) -> pa.RecordBatch:
        """Write the rows; what was done."""
        columns = self.slices.read()
        if not len(columns[0]):
            return report(self.projections, {}, [])
        return project_columns(self.final, self.projections, self.target, columns, adding_to_buckets(self.buckets))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
