"""One partition of slices, Arrow batches in, output rows of every query out. Runs in a Spark worker, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.aggregates.component import Component
from weft.errors import RunError
from weft.final.fold.dense import WindowAnswers, fold_dense
from weft.final.fold.partition import FoldedWindow, fold_windows, receive_columns
from weft.final.memory import reuse_memory
from weft.final.old_times import MODERN, OLD_TIMES, require_modern
from weft.final.outputs.buckets import Bucket, TimeBuckets
from weft.final.outputs.files import FileFormat, QueryFiles
from weft.final.outputs.keys import KeyTaker, key_takers
from weft.final.project import (
    AnswerColumns,
    AnswerValues,
    NeedsSpark,
    Projection,
    evaluate,
    take_answers,
    valid_where,
)
from weft.final.project.leaves import WindowEnd, WindowStart, WindowStruct
from weft.model.stages import FinalStage

# What a partition says of each query: its name, the file with its rows if one was written, how many rows; or why
# only Spark can make its rows.
REPORT = pa.schema([("query", pa.string()), ("file", pa.string()), ("rows", pa.int64()), ("reason", pa.string())])


@dataclass(frozen=True, eq=False)
class WorkerProjection:
    """A projection that workers evaluate: over the components at some places of the final stage; `queries` are those
    that want its rows, by predicate and place of the window, and `schema` is that of their rows."""

    projection: Projection
    components: tuple[int, ...]
    queries: Mapping[tuple[int, int], tuple[str, ...]]
    schema: pa.Schema


# What puts the rows of a projection over some answers into files, for the queries that want them.
AddRows = Callable[[QueryFiles, WorkerProjection, AnswerColumns, Sequence[str]], None]


def project_partition(stage: FinalStage, projections: Sequence[WorkerProjection], target: FileFormat | None,
                      batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the output rows of one partition, or only count them where there is no target; then say what was done."""
    def add_rows(files: QueryFiles, each: WorkerProjection, answers: AnswerColumns, asked: Sequence[str]) -> None:
        rows = output_rows(each, answers)
        for name in asked:
            files.add(name, rows)

    columns = receive_columns(batches)
    if columns:
        yield project_columns(stage, projections, target, columns, add_rows)


def project_buckets(stage: FinalStage, projections: Sequence[WorkerProjection], buckets: Mapping[str, TimeBuckets],
                    target: FileFormat | None, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the output rows of one partition to files of a bucket of time each; then say what was done."""
    columns = receive_columns(batches)
    if columns:
        yield project_columns(stage, projections, target, columns, adding_to_buckets(buckets))


def adding_to_buckets(buckets: Mapping[str, TimeBuckets]) -> AddRows:
    """What puts rows into the files of the buckets that are made; windows that end in others may lack slices, and
    nobody looks at them."""
    def add_rows(files: QueryFiles, each: WorkerProjection, answers: AnswerColumns, asked: Sequence[str]) -> None:
        alike: dict[TimeBuckets, list[str]] = {}
        for name in asked:
            alike.setdefault(buckets[name], []).append(name)
        for asked_of, names in alike.items():
            for bucket, places in split_by_end(answers, asked_of):
                rows = output_rows(each, take_answers(answers, places))
                for name in names:
                    files.add(name, rows, bucket)

    return add_rows


def split_by_end(answers: AnswerColumns, buckets: TimeBuckets) -> Iterator[tuple[Bucket, np.ndarray]]:
    """The places of the answers whose windows end in each bucket, of those that are made."""
    assert answers.start is not None
    found, ends = 0, (answers.start + answers.range) // buckets.unit
    for first, end in buckets.made:
        places = np.flatnonzero((ends >= first) & (ends < end))
        found += len(places)
        if len(places):
            yield (first, end), places
    if buckets.whole and found < len(ends):  # never: buckets are chosen by the slices that are read
        raise RunError(f"{len(ends) - found:,} rows lie in no bucket of time. This is a bug: please report it, and "
                       "run without incremental meanwhile.")


def project_columns(stage: FinalStage, projections: Sequence[WorkerProjection], target: FileFormat | None,
                    columns: Sequence[pa.Array], add_rows: AddRows) -> pa.RecordBatch:
    """Fold slices and let `add_rows` put the rows of every projection into files; what was done, as a batch."""
    reuse_memory()
    takers = key_takers(columns[: stage.keys])
    failed: dict[int, str] = {}
    with QueryFiles(target) as files:
        for folded in fold_windows(stage, columns, fold_dense):
            for i, each in enumerate(projections):
                asked = each.queries.get((folded.predicate or 0, folded.answers.window), ())
                if asked and i not in failed:
                    try:
                        add_rows(files, each, answer_columns(stage, each, folded, takers), asked)
                    except NeedsSpark as reason:
                        failed[i] = str(reason)
    return report(projections, failed, files.done)


def report(projections: Sequence[WorkerProjection], failed: Mapping[int, str],
           done: Sequence[tuple[str, str | None, int]]) -> pa.RecordBatch:
    """What became of each query: those of a projection that failed have only the reason."""
    reasons = {name: reason for i, reason in failed.items() for names in projections[i].queries.values()
               for name in names}
    lines: list[tuple[str, str | None, int, str | None]]
    lines = [(*line, None) for line in done if line[0] not in reasons]
    lines += [(name, None, 0, reason) for name, reason in reasons.items()]
    columns = zip(*lines, strict=True) if lines else [()] * len(REPORT)
    return pa.record_batch([pa.array(c, kind) for c, kind in zip(columns, REPORT.types, strict=True)], schema=REPORT)


def output_rows(each: WorkerProjection, answers: AnswerColumns) -> pa.RecordBatch:
    """The output rows of a projection over answers."""
    arrays = evaluate(each.projection, answers)
    for node, array, field in zip(each.projection.outputs, arrays, each.schema, strict=True):
        found = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if found != field.type:
            raise NeedsSpark(f"column {field.name} is of type {found}, not {field.type}")
        if not isinstance(node, WindowStart | WindowEnd | WindowStruct):  # those were looked at before
            require_modern(array)
    return pa.record_batch(arrays, names=each.schema.names)


def answer_columns(stage: FinalStage, each: WorkerProjection, folded: FoldedWindow,
                   takers: Sequence[KeyTaker]) -> AnswerColumns:
    """The answers of a window as a projection reads them, its components named by their places in it."""
    answers, window = folded.answers, stage.windows[folded.answers.window]
    counts = np.diff(answers.offsets)
    values: dict[str, AnswerValues] = {}
    for i, place in enumerate(each.components):
        values |= component_values(i, stage.components[place], folded, place, counts)
    keys = [taker(folded.slices, counts) for taker in takers]
    return AnswerColumns(int(counts.sum()), values, keys, window_starts(answers, counts, window.slide), window.range)


def component_values(index: int, component: Component, folded: FoldedWindow, place: int,
                     counts: np.ndarray) -> dict[str, AnswerValues]:
    """The values of a component, by their names; a count that was not folded is the number of rows."""
    if place not in folded.lanes:
        return {f"c{index}_value": AnswerValues(folded.answers.rows)}
    values, marks = folded.lanes[place]
    valid = valid_where(marks)
    if valid is not None:
        valid = np.repeat(valid, counts)
    return {f"c{index}_{field}": AnswerValues(value, valid)
            for field, value in zip(component.fields, values, strict=True)}


def window_starts(answers: WindowAnswers, counts: np.ndarray, slide: int) -> np.ndarray:
    """When the window of each answer starts."""
    if len(answers.first) and answers.first.min() < MODERN:
        raise NeedsSpark(OLD_TIMES)
    if answers.starts is not None:
        return answers.starts
    starts = np.repeat(answers.first - answers.offsets[:-1] * slide, counts)
    starts += np.arange(answers.offsets[0] * slide, answers.offsets[-1] * slide, slide)
    return starts
