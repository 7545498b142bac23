"""The jobs of a refresh: each folds a tree's slices for some queries, within the time that their buckets reach.

Where few slices are read, workers read them from the store's files by themselves, all trees in one Spark job without a
shuffle; where many, Spark reads them and brings those of a key together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.final.fold.partition import columns_read
from weft.final.outputs.buckets import TimeBuckets, join_reaches
from weft.final.outputs.files import FileFormat
from weft.final.outputs.partition import project_buckets
from weft.final.outputs.slice_files import SliceFiles, SliceFilesJob
from weft.final.project import Projection
from weft.final.prompt import Prompt
from weft.model.graph import StageGraph
from weft.model.spans import Spans
from weft.model.stages import FinalStage
from weft.spark.batch.run import AnswerPart
from weft.spark.incremental.kept_slices import KeptSlices
from weft.spark.incremental.slice_cache import cached_name
from weft.spark.refresh.touched import values_within
from weft.spark.refresh.updates import Update
from weft.spark.stages.final import send_slices
from weft.spark.stages.partial import SLICE
from weft.spark.write.worker_jobs import REPORT_COLUMNS, WorkerJob, make_job

# A worker reads at most about so many values of slices by itself; more are Spark's to share out.
FEW_VALUES = 20_000_000
# A worker makes the rows of at least so many queries of a tree by itself; others make those of the rest.
QUERIES_A_JOB = 24
# Writing a file takes a worker as long as folding about so many slices.
SLICES_A_FILE = 20_000
# Types that come back from Parquet by Arrow as Spark itself sends them.
ALIKE = (T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType, T.FloatType, T.DoubleType, T.StringType,
         T.BinaryType, T.DateType, T.TimestampType, T.TimestampNTZType, T.DecimalType)


@dataclass(frozen=True)
class BucketJob:
    """The rows of some queries of a tree, in the buckets that are made of each."""

    job: WorkerJob
    kept: KeptSlices
    buckets: Mapping[str, TimeBuckets]

    @property
    def spans(self) -> Spans | None:
        """Where the slices start that are read, None for anywhere."""
        return join_reaches(self.buckets.values())

    @property
    def columns(self) -> list[str]:
        """The columns of the store's files that are read, as a final stage takes them."""
        stage, final = self.job.part.partial, self.job.final
        sql = {column.name: column.sql for column in stage.columns}
        read = [cached_name(sql[stage.place[column]]) for column in columns_read(final)]
        return [*stage.key_names, SLICE, *stage.mark_names[: final.marks], *read]

    @property
    def is_small(self) -> bool:
        """Whether one worker can read all that is needed by itself."""
        kinds = {field.name: field.dataType for field in self.kept.schema}
        if not all(is_alike(kinds[name]) for name in self.columns):
            return False
        return self.values <= FEW_VALUES

    @cached_property
    def values(self) -> int:
        """How many values of slices are read."""
        return values_within(self.kept, set(self.columns), self.spans)

    @property
    def size(self) -> int:
        """How much there is to do, as slices that are folded."""
        return len(self.buckets) * (SLICES_A_FILE + self.values // len(self.columns))

    def from_files(self, target: FileFormat) -> SliceFilesJob:
        """The job for a worker that reads the store's files."""
        files = tuple(str(path) for folder in self.kept.folders for path in sorted(folder.rglob("*.parquet")))
        slices = SliceFiles(files, tuple(self.columns), SLICE, self.spans)
        return SliceFilesJob(slices, self.job.final, self.job.projections, self.buckets, target)

    def run(self, target: FileFormat) -> list[Row]:
        """Let Spark read the slices; what each partition says of the rows it wrote."""
        part, final = self.job.part, self.job.final
        sent = send_slices(within(part.slices, self.spans), part.partial, final)
        work = partial(project_buckets, final, self.job.projections, self.buckets, target)
        return sent.mapInArrow(Prompt(work), REPORT_COLUMNS).collect()


def is_alike(kind: T.DataType) -> bool:
    """Whether values of a type are the same to a worker, from Spark or from a file."""
    return is_alike(kind.elementType) if isinstance(kind, T.ArrayType) else isinstance(kind, ALIKE)


def within(slices: DataFrame, spans: Spans | None) -> DataFrame:
    """The slices that start within spans, all where these are None."""
    if spans is None:
        return slices
    start = F.col(SLICE)
    tests = [(start >= F.lit(low)) & (start < F.lit(high)) for low, high in spans]
    chosen = F.lit(False)
    for test in tests:
        chosen = chosen | test
    return slices.where(chosen)


def plan_bucket_jobs(graph: StageGraph, parts: Mapping[str, AnswerPart], projections: Mapping[str, Projection],
                     updates: Sequence[Update], cores: int) -> list[BucketJob]:
    """A job for each tree of which some queries need rows, or some of them where its queries are more than a core's
    part of all; those that are made anew apart from those that are not."""
    found, most = [], max(QUERIES_A_JOB, -(-sum(not update.is_idle for update in updates) // cores))
    for tree in graph.of(FinalStage):
        ids = {node.id for node in graph.answers(tree.id)}
        for anew in (False, True):
            mine = [u for u in updates if u.id in ids and bool(u.anew) == anew and not u.is_idle]
            groups = [mine] if anew else shares(mine, most)
            found += [bucket_job(parts, projections, group) for group in groups if group]
    return found


def shares(updates: Sequence[Update], most: int) -> list[list[Update]]:
    """Updates by answer stage, in shares of at most so many queries that workers make side by side."""
    found: list[list[Update]] = []
    for id in dict.fromkeys(update.id for update in updates):
        mine = [update for update in updates if update.id == id]
        if not found or len(found[-1]) + len(mine) > most:
            found.append([])
        found[-1] += mine
    return found


def bucket_job(parts: Mapping[str, AnswerPart], projections: Mapping[str, Projection],
               updates: Sequence[Update]) -> BucketJob:
    """The job of some queries of one tree."""
    job = make_job(dict(narrowed(parts, updates)), projections)
    return BucketJob(job, updates[0].slices, {update.name: update.buckets for update in updates})


def narrowed(parts: Mapping[str, AnswerPart], updates: Sequence[Update]) -> Iterator[tuple[str, AnswerPart]]:
    """The parts that answer the queries of some updates and no others."""
    for id in dict.fromkeys(update.id for update in updates):
        asked = tuple(update.asked for update in updates if update.id == id)
        yield id, replace(parts[id], stage=replace(parts[id].stage, queries=asked))


def run_from_files(spark: SparkSession, jobs: Sequence[SliceFilesJob], sizes: Sequence[int],
                   cores: int) -> list[list[Row]]:
    """Run jobs of some sizes in workers, in one Spark job of a task for each core; what each job says. Every task is
    sent all jobs, so more tasks would take longer to unpack them than they save."""
    loads = share_out(sizes, cores)

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in (number for load in batch.column(0).to_pylist() for number in loads[load]):
                told = jobs[number].run()
                yield told.append_column("job", pa.array([number] * told.num_rows, pa.int64()))

    rows = spark.range(0, len(loads), 1, len(loads)).mapInArrow(Prompt(work), f"{REPORT_COLUMNS}, job bigint").collect()
    return [[row for row in rows if row["job"] == number] for number in range(len(jobs))]


def share_out(sizes: Sequence[int], most: int) -> list[list[int]]:
    """The numbers of pieces of work in at most so many loads of about the same size: the largest first, each to the
    smallest load."""
    loads: list[list[int]] = [[] for _ in range(min(most, len(sizes)))]
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        min(loads, key=lambda load: (sum(sizes[i] for i in load), len(load))).append(number)
    return loads
