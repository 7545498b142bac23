"""Slices of a few new files made by one worker: of all scans and derived groupings of a source, in one Spark job.

Spark aggregates many rows best, but for a few it takes a job for the rows and one more for each derived grouping, most
of it planning. What a row brings to each column is known to workers as it is in one pass (decisions 0033 and 0036).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from weft.final.cut import GroupingCut, RowCut
from weft.final.cut.groupings import NONE
from weft.final.cut.store import StoreCutter, StoredFile, merge_partition
from weft.final.prompt import Prompt
from weft.model.graph import Node
from weft.model.stages import DeriveStage, PartialStage
from weft.spark.incremental.kept_slices import Filling
from weft.spark.incremental.slice_cache import GROUP_SLICES, SCHEMA, group_names
from weft.spark.stages.row_lifts import can_merge, has_lifts, slice_form
from weft.spark.write.sent_rows import RowsPlan, plan_rows, send_rows

STORED = "grouping int, rows bigint, reason string"
VERSION = b"org.apache.spark.version"


@dataclass(frozen=True)
class ScanIncrement:
    """What new files add to the slices of a scan and to those derived from them: what is to be done for each cache, and
    the folder of its new generation."""

    fillings: tuple[Filling, ...]
    folders: tuple[Path, ...]

    @property
    def root(self) -> PartialStage:
        """The stage that makes the slices of rows."""
        return self.fillings[0].stage

    def groupings(self, first: int, ansi: bool) -> tuple[GroupingCut, ...]:
        """How the slices of each grouping come of the scan's, numbered from `first` on."""
        return tuple(GroupingCut(number, slice_form(self.root, filling.stage, ansi), (0,),
                                 isinstance(filling.stage, DeriveStage))
                     for number, filling in enumerate(self.fillings, first))

    def files(self, home: Path) -> list[StoredFile]:
        """The files of new slices, each with the columns that the cache has."""
        return [stored_file(filling.stage, home / filling.cache.ids[0], folder / "part-0.parquet")
                for filling, folder in zip(self.fillings, self.folders, strict=True)]


def stored_file(stage: PartialStage, model: Path, path: Path) -> StoredFile:
    """A file of a stage's slices like those of a generation."""
    found = pq.read_metadata(next(model.rglob("*.parquet")))
    metadata, schema = found.metadata or {}, found.schema.to_arrow_schema()
    told = tuple((name, metadata[name]) for name in (VERSION, SCHEMA) if name in metadata)
    columns = pa.schema([schema.field(name) for name in (*group_names(stage), *(c.name for c in stage.columns))])
    return StoredFile(str(path), columns, told, GROUP_SLICES)


def can_cut(filling: Filling) -> bool:
    """Whether a worker makes the slices of some rows just as Spark does."""
    stage = filling.stage
    return not stage.counts_rows and has_lifts(stage)


def merge_in_workers(slices: DataFrame, stage: PartialStage, ansi: bool) -> DataFrame:
    """Slices of which those of a key and start are made one by the worker that has their partition, where Spark has no
    aggregate that does. A few may stay several; else there were as many as rows of what they are derived from."""
    if stage.merged or not can_merge(stage):
        return slices
    return slices.mapInArrow(Prompt(partial(merge_partition, slice_form(stage, stage, ansi))), slices.schema)


def can_derive(root: PartialStage, stage: PartialStage) -> bool:
    """Whether a worker makes the slices of a derived grouping out of those of the scan."""
    known = {(column.plain, column.predicate) for column in root.columns}
    there = all((column.plain, column.predicate) in known for column in stage.columns)
    return there and slice_form(root, stage, True).merging is not None


def time_of(node: Node[PartialStage]) -> tuple[str, str, str]:
    """By what the rows of scans may be read together."""
    return node.stage.source, node.stage.time, node.stage.time_type


def read_together(roots: Sequence[Node[PartialStage]]) -> Iterator[list[Node[PartialStage]]]:
    """The scans of each source and time."""
    for _, found in groupby(sorted(roots, key=time_of), key=time_of):
        yield list(found)


class RowPlans:
    """What is sent of rows, planned once for the same stages over the same columns under the same settings."""

    def __init__(self, most: int = 64):
        self._made: dict[tuple, RowsPlan] = {}
        self._most = most

    def find(self, rows: DataFrame, stages: Sequence[PartialStage], ansi: bool,
             settings: Mapping[str, str]) -> RowsPlan:
        """The plan of some stages; the oldest goes when there are too many."""
        key = (rows.schema.json(), tuple(stages), ansi, tuple(sorted(settings.items())))
        if key not in self._made:
            while len(self._made) >= self._most:
                self._made.pop(next(iter(self._made)))
            self._made[key] = plan_rows(rows, stages, ansi)
        return self._made[key]


PLANS = RowPlans()


def cut_files(rows: DataFrame, scans: Sequence[ScanIncrement], home: Path, ansi: bool,
              settings: Mapping[str, str]) -> Mapping[Path, int] | None:
    """Write the new slices of some scans of one source and time; how many lie in each folder, None where only Spark can
    make them. `settings` are all those by which the same SQL may find something else."""
    roots = [scan.root for scan in scans]
    sent = send_rows(rows, roots, PLANS.find(rows, roots, ansi, settings))
    cuts, files, number = [], list[StoredFile](), 0
    for scan, columns in zip(scans, sent.columns, strict=True):
        cuts.append(RowCut(slice_form(scan.root, scan.root, ansi), columns, scan.groupings(number, ansi)))
        files += scan.files(home)
        number += len(scan.fillings)
    cutter = StoreCutter(tuple(cuts), sent.computed, dict(enumerate(files)))
    told = {row["grouping"]: row["rows"] for row in sent.rows.coalesce(1).mapInArrow(Prompt(cutter), STORED).collect()}
    folders = [folder for scan in scans for folder in scan.folders]
    return None if NONE in told or len(told) < number else {folders[i]: count for i, count in told.items()}
