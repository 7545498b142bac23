"""Buckets: the keys of every grouping of a scan shared out evenly, and their slices packed for the final stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from weft.final.fold.partition import columns_read
from weft.final.prompt import Prompt
from weft.final.state.bucket import BucketGrouping, BucketPart
from weft.final.state.changes import GroupingContent, GroupingHistory
from weft.final.state.form import SliceForm, to_bytes
from weft.final.state.history import levels_for
from weft.model.graph import Node, StageGraph
from weft.model.stages import FinalStage, PartialStage
from weft.spark.session.connect import prepare_callback
from weft.spark.stages.bucket_ids import spread_bucket_ids
from weft.spark.stages.partial import SLICE
from weft.spark.stages.row_lifts import merge_components
from weft.stages.build import for_stream, narrow_final

BUCKET, SLICES = "__weft_bucket", "slices"
PACKED = f"{BUCKET} int, {SLICES} binary"
LETTERS = -1  # the bucket of rows that cannot be used
MOST_BYTES = 1 << 26  # of rows that are packed together
# The property by which Spark tells a task its trigger, and in how many triggers after a change all buckets are called.
TRIGGER, CALLED = "streaming.sql.batchId", 2


@dataclass(frozen=True)
class BucketPlan:
    """A grouping of a scan in a stream: the names of its keys and columns in the scan's slices, and its buckets."""

    node: BucketGrouping
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    buckets: tuple[int, ...]


def groupings_asked(scan: StageGraph) -> tuple[Node[PartialStage], ...]:
    """The groupings of a scan that queries ask for, the scan's own and those derived from it."""
    return tuple(node for node in scan.slices if scan.trees(node.id))


def spread_buckets(scan: StageGraph, partitions: int) -> dict[str, tuple[int, ...]]:
    """The buckets of each grouping of a new stream."""
    asked = [node.id for node in groupings_asked(scan)]
    return dict(zip(asked, spread_bucket_ids(len(asked), partitions), strict=True))


@dataclass(frozen=True)
class KeptBuckets:
    """What a stream keeps of a scan: the buckets of each grouping and what they hold of the past, by its id; where its
    queries have changed, the trigger from which on they are as they are, and buckets that nobody reads any more."""

    buckets: Mapping[str, Sequence[int]]
    histories: Mapping[str, GroupingHistory] = field(default_factory=dict)
    since: int | None = None
    retired: tuple[int, ...] = ()

    @property
    def every(self) -> tuple[int, ...]:
        """All buckets."""
        return (*(bucket for mine in self.buckets.values() for bucket in mine), *self.retired)


def plan_buckets(scan: StageGraph, kept: KeptBuckets, ansi: bool,
                 slices: StructType | None = None) -> tuple[BucketPlan, ...]:
    """What is done in the buckets of each grouping; `slices` are the columns of the scan's slices with their types,
    which only a stream needs to know whose queries have changed."""
    return tuple(plan_grouping(scan, node, tuple(kept.buckets[node.id]), ansi,
                               kept.histories.get(node.id, GroupingHistory()), slices)
                 for node in groupings_asked(scan))


def plan_contents(scan: StageGraph, ansi: bool) -> dict[str, GroupingContent]:
    """What buckets keep of each grouping of a scan, by its id."""
    none = KeptBuckets({node.id: (0,) for node in groupings_asked(scan)})
    made = zip(groupings_asked(scan), plan_buckets(scan, none, ansi), strict=True)
    return {node.id: GroupingContent(frozenset(plan.columns), frozenset(plan.node.windows)) for node, plan in made}


def plan_grouping(scan: StageGraph, node: Node[PartialStage], buckets: tuple[int, ...], ansi: bool,
                  history: GroupingHistory, slices: StructType | None) -> BucketPlan:
    """One grouping over the slices of the scan that feeds it."""
    root = scan.root.stage
    finals = {answer.id: narrow_final(for_stream(tree.stage), answer.stage)
              for tree in scan.trees(node.id) for answer in scan.answers(tree.id)}
    place = {(column.plain, column.predicate): i for i, column in enumerate(root.columns)}
    read = {id: [place[column] for column in columns_read(final)] for id, final in finals.items()}
    needed = sorted({i for each in read.values() for i in each})
    parts = tuple(BucketPart(id, begin_whole(final, root, history), tuple(map(needed.index, read[id])))
                  for id, final in finals.items())
    merging = merge_components(root, [c for final in finals.values() for c in final.components], needed)
    windows = tuple(sorted({w for final in finals.values() for w in final.windows}))
    lag = min(period for _, period in root.progressions)
    columns = tuple(root.columns[i].name for i in needed)
    names = (*node.stage.key_names, SLICE, *root.mark_names, *columns)
    form = SliceForm(len(node.stage.keys), root.marks, root.progressions, merging, ansi, names,
                     () if slices is None else arrow_types(slices, names))
    grouping = BucketGrouping(form, windows, levels_for(windows, lag, merging is not None, history.sizes), parts)
    return BucketPlan(grouping, node.stage.key_names, columns, buckets)


def arrow_types(slices: StructType, names: Sequence[str]) -> tuple[pa.DataType, ...]:
    """The types of some columns as workers keep them."""
    return tuple(utc_field(pa.field(name, to_arrow_type(slices[name].dataType, timezone="UTC"))).type for name in names)


def begin_whole(final: FinalStage, root: PartialStage, history: GroupingHistory) -> FinalStage:
    """The final stage with the first start of each window that is whole, by what its predicate reads."""
    place = root.place
    numbered = final.predicates or ((0, tuple(range(len(final.windows)))),)
    shared = not final.predicates or bool(final.marks)
    first = []
    for number, windows in numbered:
        columns = [place[sql, of] for sql, of in columns_read(final) if shared or of == number]
        starts = ((window, history.first_start(final.windows[window], columns)) for window in windows)
        first += [(number, window, start) for window, start in starts if start is not None]
    return replace(final, first=tuple(first))


@dataclass(frozen=True)
class BucketCalls:
    """Buckets that are called though no slice came for them, in a few triggers after a change: keys that have fallen
    silent answer new windows, too, and what nobody reads any more goes."""

    since: int
    buckets: tuple[int, ...]

    def due(self) -> tuple[int, ...]:
        """The buckets to call in the task at hand."""
        context = TaskContext.get()
        if context is None or context.partitionId() != 0:
            return ()
        trigger = context.getLocalProperty(TRIGGER)
        return self.buckets if trigger and self.since <= int(trigger) < self.since + CALLED else ()


def calls_after_change(kept: KeptBuckets) -> BucketCalls | None:
    """What calls the buckets of a scan whose queries have changed."""
    return None if kept.since is None else BucketCalls(kept.since, kept.every)


def bucket_slices(slices: DataFrame, plans: Sequence[BucketPlan], calls: BucketCalls | None = None) -> DataFrame:
    """The slices with their bucket, once for each grouping, packed into few rows."""
    chosen = [bucket_column(each.keys, each.buckets) for each in plans]
    bucket = chosen[0] if len(chosen) == 1 else F.explode(F.array(*chosen))
    values = list(dict.fromkeys(name for each in plans for name in each.node.form.names if name != SLICE))
    packer = prepare_callback(slices.sparkSession, Prompt(Packer(tuple(plans), calls)))
    return slices.select(bucket.alias(BUCKET), SLICE, *values).mapInArrow(packer, PACKED)


def bucket_column(keys: Sequence[str], buckets: Sequence[int]) -> Column:
    """The bucket of a key that these columns hold."""
    ids = ", ".join(map(str, buckets))
    return F.expr(f"get(array({ids}), pmod(hash({', '.join(keys)}), {len(buckets)}))" if keys else str(buckets[0]))


@dataclass(frozen=True)
class Packer:
    """Turns the slices of a partition into one row a bucket: rows one by one are what a stateful worker is slow at."""

    plans: tuple[BucketPlan, ...]
    calls: BucketCalls | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Rows of a bucket and its slices as bytes; one that is only called gets none."""
        for bucket in self.calls.due() if self.calls else ():
            yield pa.record_batch([pa.array([bucket], pa.int32()), pa.array([b""], pa.binary())], [BUCKET, SLICES])
        held = [batch for batch in batches if batch.num_rows]
        home = {bucket: each for each in self.plans for bucket in each.buckets}
        for bucket, slices in split_by_bucket(held):
            yield pack_bucket(bucket, select_columns(slices, home[bucket]))


def split_by_bucket(held: Sequence[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
    """Rows by their bucket, which the first column names."""
    if not held:
        return
    table = pa.Table.from_batches(held).combine_chunks()
    number = table.column(0).to_numpy()
    order = np.argsort(number, kind="stable")
    heads = np.flatnonzero(np.append(True, np.diff(number[order]) != 0))
    table = table.take(pa.array(order))
    for low, high in zip(heads, [*heads[1:], len(order)], strict=True):
        yield int(number[order[low]]), table.slice(low, high - low)


def pack_bucket(bucket: int, table: pa.Table) -> pa.RecordBatch:
    """A row of a bucket and what it gets as bytes."""
    data = to_bytes(table.combine_chunks())
    return pa.record_batch([pa.array([bucket], pa.int32()), pa.array([data], pa.binary())], names=[BUCKET, SLICES])


def select_columns(table: pa.Table, plan: BucketPlan) -> pa.Table:
    """The columns of the slices that a grouping keeps, in its order and for any session's zone."""
    return to_utc(table.select(plan.node.form.names))


def to_utc(rows: pa.Table) -> pa.Table:
    """The same moments without the session's zone, which may be another at the next start."""
    return rows.cast(pa.schema([utc_field(field) for field in rows.schema]))


def utc_field(field: pa.Field) -> pa.Field:
    """A field with UTC for every zone in its type."""
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.tz:
        return field.with_type(pa.timestamp("us", "UTC"))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(utc_field(kind.value_field)))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([utc_field(kind.field(i)) for i in range(kind.num_fields)]))
    if pa.types.is_map(kind):
        return field.with_type(pa.map_(utc_field(kind.key_field), utc_field(kind.item_field)))
    return field
