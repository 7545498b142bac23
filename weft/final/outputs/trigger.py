"""Output rows of a trigger: what a bucket of a stream answers now, projected where it is folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from weft.final.fold.partition import Folding, fold_windows
from weft.final.outputs.files import FileFormat, QueryFiles
from weft.final.outputs.keys import key_takers
from weft.final.outputs.partition import WorkerProjection, answer_columns, output_rows
from weft.final.project import NeedsSpark
from weft.model.stages import FinalStage


@dataclass(frozen=True, eq=False)
class TriggerOutputs:
    """What workers make of a stream's answers: projections by the id of their answer stage, and the files that their
    rows go to; without a format they are only counted."""

    projections: Mapping[str, WorkerProjection] = field(default_factory=dict)
    format: FileFormat | None = None


class MadeRows(NamedTuple):
    """Rows that a worker made of a part: how many answers they are of, by window and predicate, and each query's file.
    """

    counts: Mapping[tuple[int, int], int]
    files: Sequence[tuple[str, str]]


def make_rows(final: FinalStage, projection: WorkerProjection, format: FileFormat | None, columns: Sequence[pa.Array],
              folding: Folding) -> MadeRows | None:
    """The rows of a part out of the columns of its slices; None where only Spark can make them. What was written by
    then is in files that nobody hears of."""
    takers = key_takers(columns[: final.keys])
    counts: Counter[tuple[int, int]] = Counter()
    try:
        with QueryFiles(format) as files:
            for folded in fold_windows(final, columns, folding):
                window, predicate = folded.answers.window, folded.predicate or 0
                counts[window, predicate] += int(folded.answers.offsets[-1])
                rows = output_rows(projection, answer_columns(final, projection, folded, takers))
                for name in projection.queries[predicate, window]:
                    files.add(name, rows)
    except NeedsSpark:
        return None
    return MadeRows(counts, [(query, path) for query, path, _ in files.done if path is not None])
