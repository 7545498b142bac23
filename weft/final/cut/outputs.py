"""Packed slices to output rows: what a worker does with all the slices of its buckets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.final.cut.groupings import NONE
from weft.final.fold.partition import number_keys
from weft.final.outputs.files import FileFormat
from weft.final.outputs.partition import REPORT, WorkerProjection, project_partition
from weft.final.state.form import SliceForm, from_bytes, merge_equal_starts
from weft.model.stages import FinalStage

# What a partition says: of the queries of a job, or how large a grouping is.
REPORTS = pa.schema([("job", pa.int32()), ("grouping", pa.int32()), *REPORT, ("sizes", pa.string())])


@dataclass(frozen=True)
class TreeJob:
    """The projections of a tree over slices: its number, the columns that it reads in order, and where rows go."""

    number: int
    final: FinalStage
    projections: tuple[WorkerProjection, ...]
    columns: tuple[str, ...]
    target: FileFormat | None


@dataclass(frozen=True)
class GroupingOutputs:
    """What is made of a grouping's slices: its trees, and the columns that count the rows of each predicate, by which
    sizes are told; without any, no sizes are."""

    number: int
    form: SliceForm
    jobs: tuple[TreeJob, ...]
    counted: tuple[tuple[int, str | None], ...]


def project_groupings(groupings: Sequence[GroupingOutputs],
                      batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The reports of all jobs over the slices of a partition's buckets."""
    received: dict[int, list[pa.Buffer]] = {}
    for batch in batches:
        for number, data in zip(batch.column(1).to_pylist(), batch.column(2), strict=True):
            received.setdefault(number, []).append(data.as_buffer())
    if NONE in received:
        yield report_reason(groupings, received[NONE][0].to_pybytes().decode())
        return
    for each in groupings:
        found = [from_bytes(data) for data in received.pop(each.number, [])]
        if found:
            slices = merge_equal_starts(each.form, pa.concat_tables(found)) if len(found) > 1 else found[0]
            yield from project_slices(each, slices.combine_chunks())


def report_reason(groupings: Sequence[GroupingOutputs], reason: str) -> pa.RecordBatch:
    """A line for each query, of no grouping, that says why only Spark can make its rows."""
    lines = [(job.number, name) for each in groupings for job in each.jobs for projection in job.projections
             for names in projection.queries.values() for name in names]
    jobs, names = (list(column) for column in zip(*lines, strict=True))
    size = len(lines)
    return pa.record_batch([pa.array(jobs, pa.int32()), pa.array([NONE] * size, pa.int32()), pa.array(names),
                            pa.nulls(size, pa.string()), pa.array([0] * size), pa.array([reason] * size),
                            pa.nulls(size, pa.string())], schema=REPORTS)


def project_slices(grouping: GroupingOutputs, slices: pa.Table) -> Iterator[pa.RecordBatch]:
    """The reports of the jobs over the slices of one grouping, and its sizes."""
    for job in grouping.jobs:
        for made in project_partition(job.final, job.projections, job.target, slices.select(job.columns).to_batches()):
            size = made.num_rows
            yield pa.record_batch([pa.array([job.number] * size, pa.int32()), pa.nulls(size, pa.int32()), *made.columns,
                                   pa.nulls(size, pa.string())], schema=REPORTS)
    if grouping.counted:
        nothing = [pa.nulls(1, kind) for kind in REPORT.types]
        sizes = pa.array([json.dumps(count_slices(grouping, slices))])
        yield pa.record_batch([pa.nulls(1, pa.int32()), pa.array([grouping.number], pa.int32()), *nothing, sizes],
                              schema=REPORTS)


def count_slices(grouping: GroupingOutputs, slices: pa.Table) -> dict[int, list[float | None]]:
    """Per predicate: rows if they are counted, keys, first and last start, slices."""
    number = number_keys([slices.column(i).combine_chunks() for i in range(grouping.form.keys)], slices.num_rows)
    start = grouping.form.starts(slices)
    found: dict[int, list[float | None]] = {}
    for predicate, name in grouping.counted:
        rows = None if name is None else slices.column(name).to_numpy()
        some = slice(None) if rows is None else rows > 0
        here = start[some]
        if len(here):
            found[predicate] = [None if rows is None else float(rows.sum()), float(len(np.unique(number[some]))),
                                int(here.min()), int(here.max()), float(len(here))]
    return found
