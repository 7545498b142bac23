"""Updates: what has to be made again of each query's rows, by what is new in its slices since they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.catalog.database import Catalog
from weft.final.outputs.buckets import TimeBuckets, first_buckets, next_buckets, overlaps, touched_windows
from weft.model.graph import Node, StageGraph
from weft.model.stages import AnswerStage, AskedQuery, FinalStage
from weft.spark.incremental.kept_slices import KeptSlices
from weft.spark.incremental.run import SliceReader
from weft.spark.refresh.kept_answers import (
    MOST_BUCKETS,
    KeptAnswers,
    answers_meaning,
    stage_meaning,
    why_cut_anew,
    why_strange,
)
from weft.spark.refresh.touched import NewSlices, history_of

UNTOLD = "its changes were not told here before"


@dataclass(frozen=True)
class Update:
    """What is made of a query's rows now, all of them `anew` for a reason, or some buckets; `id` is its answer stage,
    `before` what lies in its folder, which is `strange` where it is not what was last written for this query."""

    id: str
    asked: AskedQuery
    slices: KeptSlices
    meaning: str
    before: KeptAnswers | None
    buckets: TimeBuckets
    anew: str
    strange: bool = False

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.asked.name

    @property
    def is_idle(self) -> bool:
        """Whether nothing has to be made."""
        return not self.buckets.whole and not self.buckets.made

    @property
    def unchanged(self) -> list[str]:
        """The files of the folder that stay as they are."""
        if self.before is None or self.anew:
            return []
        return [name for bucket, names in self.before.buckets.items() if not overlaps(bucket, self.buckets.made)
                for name in names]

    def after(self, run: str, files: Mapping[str, tuple[int, int]]) -> KeptAnswers:
        """What the folder holds once the update is done."""
        cache = self.slices.cache
        return KeptAnswers(run, self.meaning, cache.epoch, cache.version, self.buckets.unit, files)


class UpdatePlanner:
    """Plans the updates of a run's queries in a folder; `read` gives what the folder of a query holds, `followed`
    says whether whoever is told changes knows its rows."""

    def __init__(self, catalog: Catalog, read: Callable[[str], KeptAnswers | None], root: str,
                 written: Sequence[object], followed: Callable[[str], bool] = lambda name: True):
        self._catalog, self._read, self._root, self._written = catalog, read, root, written
        self._followed = followed
        self._news: dict[str, NewSlices] = {}
        self._histories: dict[str, tuple[int, int] | None] = {}

    def plan(self, graph: StageGraph, nodes: Sequence[Node[AnswerStage]], reader: SliceReader) -> Iterator[Update]:
        """The updates of the queries of some answer stages."""
        for node in nodes:
            slices, final = graph.slices_of(node).id, graph[node.inputs[0]].stage
            assert isinstance(final, FinalStage)
            whole = stage_meaning(reader[slices], node.stage, self._written)
            for asked in node.stage.queries:
                meaning = answers_meaning(whole, reader[slices].stage, asked)
                yield self._update(node, asked, meaning, slices, reader[slices], final)

    def _update(self, node: Node[AnswerStage], asked: AskedQuery, meaning: str, id: str, kept: KeptSlices,
                final: FinalStage) -> Update:
        folder = f"{self._root}/{asked.name}"
        before = self._read(asked.name)
        buckets = TimeBuckets(asked.window, before.unit if before else asked.window.slide)
        strange = why_strange(folder, before, meaning)
        made = Update(node.id, asked, kept, meaning, before, buckets, "", bool(strange))
        why = strange or why_cut_anew(before) or ("" if self._followed(asked.name) else UNTOLD)
        if why or before is None:
            return self._anew(made, id, why)
        if before.is_ahead(kept.cache):
            return made
        if id not in self._news:
            self._news[id] = NewSlices(self._catalog, kept)
        spans = self._news[id].spans(before.epoch, before.version, final, asked.predicate)
        if spans is None:
            return self._anew(made, id, "its slices were made anew")
        touched = touched_windows(asked.window, before.unit, spans)
        chosen = next_buckets(buckets, list(before.buckets), touched) if touched else ()
        if len(chosen) > MOST_BUCKETS:
            return self._anew(made, id, f"what is new touches {len(chosen):,} buckets of time")
        return replace(made, buckets=replace(buckets, made=chosen))

    def _anew(self, made: Update, id: str, why: str) -> Update:
        """The update that makes all rows again, in buckets that suit the slices that there are."""
        if id not in self._histories:
            self._histories[id] = history_of(made.slices)
        return replace(made, buckets=first_buckets(made.asked.window, self._histories[id]), anew=why)
