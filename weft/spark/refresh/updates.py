"""Updates: what has to be made again of each query's rows, by what is new in its slices since they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pyarrow import fs

from weft.catalog.database import Catalog
from weft.final.outputs.buckets import TimeBuckets, bucket_length, count_touched, touched_buckets
from weft.model.graph import Node, StageGraph
from weft.model.stages import AnswerStage, AskedQuery, FinalStage
from weft.spark.incremental.kept_slices import KeptSlices
from weft.spark.incremental.run import SliceReader
from weft.spark.refresh.kept_answers import (
    MOST_BUCKETS,
    KeptAnswers,
    answers_meaning,
    read_answers,
    why_answers_anew,
)
from weft.spark.refresh.touched import NewSlices, history_of


@dataclass(frozen=True)
class Update:
    """What is made of a query's rows now, all of them `anew` for a reason, or some buckets; `id` is its answer stage,
    `before` what lies in its folder."""

    id: str
    asked: AskedQuery
    slices: KeptSlices
    meaning: str
    before: KeptAnswers | None
    buckets: TimeBuckets
    anew: str

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.asked.name

    @property
    def is_idle(self) -> bool:
        """Whether nothing has to be made."""
        return self.buckets.made == ()

    @property
    def unchanged(self) -> list[str]:
        """The files of the folder that stay as they are."""
        if self.before is None or self.anew:
            return []
        return [name for number, names in self.before.buckets.items() if number not in (self.buckets.made or ())
                for name in names]

    def after(self, run: str, files: Mapping[str, tuple[int, int]]) -> KeptAnswers:
        """What the folder holds once the update is done."""
        cache = self.slices.cache
        return KeptAnswers(run, self.meaning, cache.epoch, cache.version, self.buckets.length, files)


class UpdatePlanner:
    """Plans the updates of a run's queries in a folder."""

    def __init__(self, catalog: Catalog, files: fs.FileSystem, root: str, written: Sequence[object]):
        self._catalog, self._files, self._root, self._written = catalog, files, root, written
        self._news: dict[str, NewSlices] = {}
        self._histories: dict[str, int] = {}

    def plan(self, graph: StageGraph, nodes: Sequence[Node[AnswerStage]], reader: SliceReader) -> Iterator[Update]:
        """The updates of the queries of some answer stages."""
        for node in nodes:
            slices, final = graph.slices_of(node).id, graph[node.inputs[0]].stage
            assert isinstance(final, FinalStage)
            for asked in node.stage.queries:
                yield self._update(node, asked, slices, reader[slices], final)

    def _update(self, node: Node[AnswerStage], asked: AskedQuery, id: str, kept: KeptSlices,
                final: FinalStage) -> Update:
        meaning = answers_meaning(kept, node.stage, kept.stage, asked, self._written)
        folder = f"{self._root}/{asked.name}"
        before = read_answers(self._files, folder)
        made = Update(node.id, asked, kept, meaning, before, TimeBuckets(asked.window, 0), "")
        why = why_answers_anew(folder, before, meaning)
        if why or before is None:
            return self._anew(made, id, why)
        if before.is_ahead(kept.cache):
            return replace(made, buckets=TimeBuckets(asked.window, before.length, ()))
        if id not in self._news:
            self._news[id] = NewSlices(self._catalog, kept)
        spans = self._news[id].spans(before.epoch, before.version, final, asked.predicate)
        if spans is None:
            return self._anew(made, id, "its slices were made anew")
        count = count_touched(asked.window, before.length, spans)
        if count > MOST_BUCKETS:
            return self._anew(made, id, f"what is new touches {count:,} buckets of time")
        touched = touched_buckets(asked.window, before.length, spans)
        return replace(made, buckets=TimeBuckets(asked.window, before.length, touched))

    def _anew(self, made: Update, id: str, why: str) -> Update:
        """The update that makes all rows again, in buckets as long as suits the slices that there are."""
        if id not in self._histories:
            self._histories[id] = history_of(made.slices)
        length = bucket_length(made.asked.window, self._histories[id])
        return replace(made, buckets=TimeBuckets(made.asked.window, length), anew=why)
