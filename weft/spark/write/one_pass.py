"""Slices that workers cut, of all scans of a source in one pass over its rows, and the output rows made of them there.

Workers read the rows, or Spark does and sends them; workers evaluate what each brings to the columns of slices
(`Component.lifts`), or Spark where they cannot, and make slices of them; Spark sends these on by bucket, and workers
fold them and make the output rows: one job for all trees of a source. See decisions 0033 and 0048.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from pyspark.sql import DataFrame, Row

from weft.catalog.statistics import Sizes
from weft.cost.cutting import CutScan, cut_seconds, read_seconds, sent_seconds, spark_seconds
from weft.final.cut import GroupingCut, RowCut, RowCutter
from weft.final.cut.groupings import BUCKET, NONE
from weft.final.cut.outputs import GroupingOutputs, TreeJob, project_groupings
from weft.final.fold.partition import columns_read
from weft.final.outputs.files import FileFormat
from weft.final.prompt import Prompt
from weft.final.state.form import SliceForm
from weft.model.graph import Node, StageGraph
from weft.model.stages import DeriveStage, PartialStage
from weft.model.statistics import Statistics
from weft.spark.stages.bucket_ids import spread_bucket_ids
from weft.spark.stages.partial import SLICE
from weft.spark.stages.partitions import repartition_evenly, shuffle_partitions
from weft.spark.stages.row_lifts import has_lifts, slice_form
from weft.spark.statistics.observe import count_names, sizes_of
from weft.spark.write.parquet_source import ReadRows, read_rows
from weft.spark.write.sent_rows import RowsPlan, SentRows, plan_rows, send_rows
from weft.spark.write.worker_jobs import WorkerJob

REPORTS = "job int, grouping int, query string, file string, rows bigint, reason string, sizes string"


@dataclass(frozen=True)
class RowAccess:
    """What a run needs to cut slices in workers: the rows of a source by its name, the Parquet files that these are all
    of, if any, what is known of the rows of a scan, and who is told sizes of slices."""

    rows: Callable[[str], DataFrame]
    files: Callable[[str], Sequence[str]]
    known: Callable[[PartialStage], Statistics]
    learn: Callable[[PartialStage, Mapping[int, Sizes]], None] | None = None


@dataclass(frozen=True)
class OnePass:
    """The jobs of trees over one source, by their places in a run's list, the scans that they read, and the rows, if
    workers read these themselves: else, or where they find that they cannot, Spark sends them."""

    access: RowAccess
    jobs: Mapping[int, WorkerJob]
    scans: tuple[Scan, ...]
    plan: RowsPlan
    read: ReadRows | None
    ansi: bool

    @property
    def sent(self) -> SentRows:
        """The rows as Spark sends them."""
        stages = [scan.root for scan in self.scans]
        return send_rows(self.access.rows(stages[0].source), stages, self.plan)

    def is_cheaper(self) -> bool:
        """Whether it costs less than Spark's own aggregation for each scan."""
        sizes = [scan_size(scan.root, self.access.known(scan.root)) for scan in self.scans]
        columns = 1 + len(self.plan.marks) + len(self.plan.read) + len(self.plan.rest)
        coming = read_seconds(sizes, columns) if self.read else sent_seconds(sizes, columns)
        return coming + cut_seconds(sizes) < spark_seconds(sizes)

    def run(self, targets: Mapping[int, FileFormat | None]) -> dict[int, list[Row]]:
        """Make the rows of all jobs; what the partitions say of each."""
        groupings = [each for scan in self.scans for each in scan.groupings]
        reports = self._reports(self.read or self.sent, groupings, targets)
        if self.read and any(row["grouping"] == NONE for row in reports):
            reports = self._reports(self.sent, groupings, targets)
        # A worker that gave up counted nothing, so that the others' counts are not the whole.
        if self.access.learn and not any(row["grouping"] == NONE for row in reports):
            tell_sizes(self.access.learn, groupings, reports)
            for stage in (stage for scan in self.scans for stage in scan.unread):
                self.access.learn(stage, {})  # nobody counts its slices: no job of Spark's will
        return {number: [row for row in reports if row["job"] == number] for number in self.jobs}

    def _reports(self, rows: ReadRows | SentRows, groupings: Sequence[Grouping],
                 targets: Mapping[int, FileFormat | None]) -> list[Row]:
        """What the partitions say of rows that are cut."""
        spark = self.access.rows(self.scans[0].root.source).sparkSession
        buckets = spread_bucket_ids(len(groupings), shuffle_partitions(spark))
        cutter = RowCutter(tuple(self._cuts(rows, buckets)), rows.computed)
        outputs = [self._outputs(number, each, targets) for number, each in enumerate(groupings)]
        packed = repartition_evenly(rows.cut(cutter), BUCKET)
        return packed.mapInArrow(Prompt(partial(project_groupings, outputs)), REPORTS).collect()

    def _cuts(self, sent: ReadRows | SentRows, buckets: Sequence[tuple[int, ...]]) -> list[RowCut]:
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
    found = [pass_ for _, mine in groupby(scans, key=time_of) for pass_ in passes_over(tuple(mine), jobs, access, ansi)]
    return [each for each in found if each.is_cheaper()]


def passes_over(scans: Sequence[Scan], jobs: Sequence[WorkerJob], access: RowAccess, ansi: bool) -> Iterator[OnePass]:
    """The passes over scans of one source and time: one for all, or one for those of which workers can read the rows
    themselves, and one for those that Spark computes something for."""
    source = scans[0].root.source
    rows, files = access.rows(source), access.files(source)
    plan = plan_rows(rows, [scan.root for scan in scans], ansi)
    able = [i for i in range(len(scans)) if not plan.computed_by_spark(i)] if files else []
    read = read_rows(rows, files, scans[0].root, plan.only(able)) if able else None
    others = [i for i in range(len(scans)) if not read or i not in able]
    if read:
        yield make_pass([scans[i] for i in able], jobs, access, plan.only(able), read, ansi)
    if others:
        yield make_pass([scans[i] for i in others], jobs, access, plan.only(others), None, ansi)


def make_pass(scans: Sequence[Scan], jobs: Sequence[WorkerJob], access: RowAccess, plan: RowsPlan,
              read: ReadRows | None, ansi: bool) -> OnePass:
    """The pass over some scans, with all jobs that read them."""
    numbers = sorted(i for scan in scans for grouping in scan.groupings for i in grouping.jobs)
    return OnePass(access, {i: jobs[i] for i in numbers}, tuple(scans), plan, read, ansi)


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
