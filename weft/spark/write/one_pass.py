"""Slices that workers cut, of all scans of a source in one pass over its rows, and the output rows made of them there.

Spark reads the rows and evaluates what each brings to the columns of slices (`Component.lifts`); workers make slices of
them, Spark sends these on by bucket, and workers fold them and make the output rows: one job for all trees of a source.
See decision 0033.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from pyspark.sql import DataFrame, Row

from weft.catalog.statistics import Sizes
from weft.cost.cutting import CutScan, spark_seconds, worker_seconds
from weft.final.cut import GroupingCut, RowCut, RowCutter
from weft.final.cut.groupings import BUCKET, NONE
from weft.final.cut.outputs import GroupingOutputs, TreeJob, project_groupings
from weft.final.fold.partition import columns_read
from weft.final.outputs.files import FileFormat
from weft.final.state.form import SliceForm
from weft.model.graph import Node, StageGraph
from weft.model.stages import DeriveStage, PartialStage
from weft.model.statistics import Statistics
from weft.spark.stages.bucket_ids import spread_bucket_ids
from weft.spark.stages.partial import SLICE
from weft.spark.stages.row_lifts import has_lifts, slice_form
from weft.spark.statistics.observe import count_names, sizes_of
from weft.spark.write.sent_rows import SentRows, send_rows
from weft.spark.write.worker_jobs import WorkerJob

PACKED = f"{BUCKET} int, grouping int, slices binary"
REPORTS = "job int, grouping int, query string, file string, rows bigint, reason string, sizes string"
PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class RowAccess:
    """What a run needs to cut slices in workers: the rows of a source by its name, what is known of the rows of a scan,
    and who is told sizes of slices."""

    rows: Callable[[str], DataFrame]
    known: Callable[[PartialStage], Statistics]
    learn: Callable[[PartialStage, Mapping[int, Sizes]], None] | None = None


@dataclass(frozen=True)
class OnePass:
    """The jobs of trees over one source, by their places in a run's list, and the scans that they read."""

    access: RowAccess
    jobs: Mapping[int, WorkerJob]
    scans: tuple[Scan, ...]
    sent: SentRows
    ansi: bool

    def run(self, targets: Mapping[int, FileFormat | None]) -> dict[int, list[Row]]:
        """Make the rows of all jobs; what the partitions say of each."""
        sent = self.sent
        count = int(str(sent.rows.sparkSession.conf.get(PARTITIONS)))
        groupings = [each for scan in self.scans for each in scan.groupings]
        buckets = spread_bucket_ids(len(groupings), count)
        cutter = RowCutter(tuple(self._cuts(sent, buckets)), sent.computed)
        outputs = [self._outputs(number, each, targets) for number, each in enumerate(groupings)]
        packed = sent.rows.mapInArrow(cutter, PACKED).repartition(BUCKET)
        reports = packed.mapInArrow(partial(project_groupings, outputs), REPORTS).collect()
        # A worker that gave up counted nothing, so that the others' counts are not the whole.
        if self.access.learn and not any(row["grouping"] == NONE for row in reports):
            tell_sizes(self.access.learn, groupings, reports)
            for stage in (stage for scan in self.scans for stage in scan.unread):
                self.access.learn(stage, {})  # nobody counts its slices: no job of Spark's will
        return {number: [row for row in reports if row["job"] == number] for number in self.jobs}

    def _cuts(self, sent: SentRows, buckets: Sequence[tuple[int, ...]]) -> list[RowCut]:
        cuts, number = [], 0
        for scan, columns in zip(self.scans, sent.columns, strict=True):
            made = []
            for grouping in scan.groupings:
                mine = buckets[number] if grouping.stage.keys else buckets[number][:1]
                made.append(GroupingCut(number, grouping.form(self.ansi), mine,
                                        isinstance(grouping.stage, DeriveStage)))
                number += 1
            cuts.append(RowCut(slice_form(scan.root, scan.root, self.ansi), columns, tuple(made)))
        return cuts

    def _outputs(self, number: int, grouping: Grouping, targets: Mapping[int, FileFormat | None]) -> GroupingOutputs:
        stage = grouping.stage
        trees = tuple(TreeJob(i, self.jobs[i].final, self.jobs[i].projections, columns_sent(stage, self.jobs[i]),
                              targets[i]) for i in grouping.jobs)
        counted = tuple(count_names(stage)) if self.access.learn else ()
        return GroupingOutputs(number, grouping.form(self.ansi), trees, counted)


@dataclass(frozen=True)
class Grouping:
    """The slices of a scan, or some derived from them, and the jobs that read them."""

    root: PartialStage
    stage: PartialStage
    jobs: tuple[int, ...]

    def form(self, ansi: bool) -> SliceForm:
        """The form of its slices, whose columns are among those of the scan's."""
        return slice_form(self.root, self.stage, ansi)


@dataclass(frozen=True)
class Scan:
    """A scan of the source: the stage that makes its slices, the groupings that are read, and the stages of which only
    others are derived."""

    root: PartialStage
    groupings: tuple[Grouping, ...]
    unread: tuple[PartialStage, ...]


def columns_sent(stage: PartialStage, job: WorkerJob) -> tuple[str, ...]:
    """The columns of slices that a tree reads, in its order."""
    read = (stage.place[column] for column in columns_read(job.final))
    return (*stage.key_names, SLICE, *stage.mark_names[: job.final.marks], *read)


def plan_passes(graph: StageGraph, jobs: Sequence[WorkerJob], access: RowAccess, ansi: bool) -> list[OnePass]:
    """The jobs whose slices workers shall cut, all of a source and its time in one pass."""
    made = {id for job in jobs for id in job.ids}
    scans = [scan for node in graph.roots if (scan := plan_scan(graph, node, jobs, made)) is not None]
    scans.sort(key=time_of)
    passes = []
    for _, found in groupby(scans, key=time_of):
        mine = tuple(found)
        sent = send_rows(access.rows(mine[0].root.source), [scan.root for scan in mine], ansi)
        if is_cheaper(mine, len(sent.rows.columns), access):
            numbers = sorted(i for scan in mine for grouping in scan.groupings for i in grouping.jobs)
            passes.append(OnePass(access, {i: jobs[i] for i in numbers}, mine, sent, ansi))
    return passes


def is_cheaper(scans: Sequence[Scan], sent: int, access: RowAccess) -> bool:
    """Whether one pass in workers costs less than Spark's own aggregation for each scan."""
    sizes = [scan_size(scan.root, access.known(scan.root)) for scan in scans]
    return worker_seconds(sizes, sent) < spark_seconds(sizes)


def scan_size(stage: PartialStage, known: Statistics) -> CutScan:
    """How large a scan is, by what is known of its rows; it makes a slice a row at most."""
    cuts = sum(known.span / period for _, period in stage.progressions)
    return CutScan(known.rows, len(stage.columns), min(known.rows, known.keys * cuts))


def time_of(scan: Scan) -> tuple[str, str, str]:
    """By what rows may be read together."""
    return scan.root.source, scan.root.time, scan.root.time_type


def plan_scan(graph: StageGraph, root: Node[PartialStage], jobs: Sequence[WorkerJob], made: set[str]) -> Scan | None:
    """A scan of which workers can cut the slices and make all the rows; None where Spark must make slices anyway."""
    if root.stage.counts_rows or not has_lifts(root.stage):
        return None
    nodes = [node for node in graph.slices if node.id == root.id or root.id in {a.id for a in graph.above(node)}]
    trees = {node.id: graph.trees(node.id) for node in nodes}
    if not all(answer.id in made for found in trees.values() for tree in found for answer in graph.answers(tree.id)):
        return None
    groupings = tuple(Grouping(root.stage, node.stage, jobs_of(graph, trees[node.id], jobs))
                      for node in nodes if trees[node.id])
    usable = all(each.form(True).merging is not None for each in groupings)
    return Scan(root.stage, groupings, tuple(n.stage for n in nodes if not trees[n.id])) if usable else None


def jobs_of(graph: StageGraph, trees: Sequence[Node], jobs: Sequence[WorkerJob]) -> tuple[int, ...]:
    """The places of the jobs that make the rows of some trees."""
    answers = {answer.id for tree in trees for answer in graph.answers(tree.id)}
    return tuple(i for i, job in enumerate(jobs) if answers & set(job.ids))


def tell_sizes(learn: Callable[[PartialStage, Mapping[int, Sizes]], None], groupings: Sequence[Grouping],
               reports: Sequence[Row]) -> None:
    """Tell how large the groupings are; no two buckets have a key in common."""
    for number, grouping in enumerate(groupings):
        told = [json.loads(row["sizes"]) for row in reports if row["grouping"] == number]
        found = {}
        for predicate in dict.fromkeys(key for each in told for key in each):
            rows, keys, first, last, slices = zip(*(each[predicate] for each in told if predicate in each), strict=True)
            total = None if None in rows else sum(rows)
            found[int(predicate)] = sizes_of(grouping.stage, total, sum(keys), min(first), max(last), sum(slices))
        learn(grouping.stage, found)
