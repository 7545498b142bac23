"""The Loom: sources and queries in; plan, explanation, results and verification out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from os import PathLike
from os.path import abspath
from typing import TYPE_CHECKING
from warnings import warn

from weft.aggregates.base import Aggregate
from weft.aggregates.component import MAX_BAG_VALUES
from weft.aggregates.defined import define
from weft.aggregates.examples import example_columns
from weft.aggregates.laws import check_laws
from weft.aggregates.user import Declared
from weft.catalog.planning_snapshot import PlanningSnapshot, find_snapshot, keep_snapshot, snapshot_key
from weft.catalog.statistics import Origin, Sizes
from weft.catalog.store import CatalogWarning, Rows, Store, open_store
from weft.cost.model import SparkModel
from weft.errors import CatalogError, PlanError, QueryError, SourceError
from weft.final.choose import Forcing, forced_pairs
from weft.io.arrivals import StreamInput, parse_delay, refuse_own
from weft.io.formats import absolute
from weft.io.sinks import AnswerSink, Receiver, Sink, batch_sink, stream_sink
from weft.io.sources import Files, RowSource, spell_source
from weft.io.sources.open import open_source, place_of
from weft.model.graph import Node, StageGraph
from weft.model.plan import SharedPlan, check_plan
from weft.model.query import Query
from weft.model.stages import PartialStage, ReadStage
from weft.model.statistics import ASSUMED, Statistics
from weft.model.workload import BoundQuery, choose
from weft.optimize import OPTIMIZERS, Optimizer
from weft.optimize.cost_breakdown import break_down_plan
from weft.optimize.plan import find_optimizer, plan_workload, scan_key, share_key
from weft.slicing import PAIRS, find_slicer, refuse_open
from weft.spark.batch.run import AnswerPart, Results, Watching, build_parts, leave_unobserved
from weft.spark.batch.verify import Verification, verify
from weft.spark.bind.check import Checker, refuse_large
from weft.spark.bind.functions import check_name, check_partials
from weft.spark.bind.listings import Listings
from weft.spark.bind.schema import schema_of
from weft.spark.incremental.run import SliceReader
from weft.spark.incremental.snapshot import refuse_counting, require_files, require_store, snapshot_of
from weft.spark.session.connect import refuse_unreachable_sink
from weft.spark.session.session import active_or_local
from weft.spark.session.workers import require_workers
from weft.spark.stages.partial import run_partial
from weft.spark.statistics.measure import measure_scan
from weft.spark.statistics.observe import SizeObserver
from weft.spark.statistics.samples import RecalledSamples, SourceSamples
from weft.spark.stream.checkpoint import open_checkpoint
from weft.spark.stream.handle import Stream
from weft.spark.stream.row_windows import require_countable
from weft.spark.stream.sinks import require_free
from weft.spark.stream.start import StreamOptions, make_page, start_stream
from weft.spark.write.answers import report_nothing
from weft.spark.write.guard import Input, claim_letters, guard_run, guard_stream, list_inputs
from weft.spark.write.write import translate_errors, write_results
from weft.sql import SourceSchema, parse_query
from weft.stages.build import build, projection
from weft.stages.explain import Explanation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The first of the family: the cheaper of one tree and trees with scans of their own.
OPTIMIZER = OPTIMIZERS[0].name
SLICER = PAIRS.name
Progress = Callable[[int, int, str], None]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class Loom:
    """Weaves window queries over shared sources into few Spark jobs.

    >>> loom = Loom()
    >>> loom.source("trades", "trades.parquet", time="ts")
    >>> loom.query("sma", "SELECT symbol, window.end, avg(price) FROM trades "
    ...                   "GROUP BY symbol, window(ts, '10 minutes', '1 minute')")
    >>> loom.run()["sma"].show()

    With a `store`, a folder, queries, plans and statistics are kept in its catalog for looms that come after.
    `max_bag_values` bounds how many values of a holistic aggregate (median, count(DISTINCT), ...) a worker may hold.
    """

    def __init__(self, spark: SparkSession | None = None, store: str | PathLike[str] | None = None,
                 max_bag_values: int = MAX_BAG_VALUES):
        if max_bag_values < 1:
            raise PlanError(f"max_bag_values must be a whole number above 0, not {max_bag_values}.")
        self.spark = spark or active_or_local()
        self.max_bag_values = max_bag_values
        self._files: dict[str, Files] = {}
        self._arrivals: dict[str, StreamInput] = {}
        self._checker = Checker(self.spark)
        self._frames: dict[str, DataFrame] = {}
        self._listings = Listings(self.spark, self._frames, self._checker.show)
        self._schemas: dict[str, SourceSchema] = {}
        self._queries: dict[str, BoundQuery] = {}
        self._statistics: dict[tuple, Statistics] = {}
        self._samples = SourceSamples(self._frames, self._statistics)
        self._measured = False
        self._store: Store | None = None
        if store is not None:
            self.attach(store)

    def attach(self, store: str | PathLike[str]) -> None:
        """Keep in a store what is registered, measured and run from now on, and plan with what is known there."""
        if self._store:
            raise CatalogError(f"this loom keeps its catalog in '{self._store.catalog.path}': make another loom.")
        self._store = open_store(abspath(store), self._checker.identity)
        self._recall(self._queries.values())

    def source(
        self,
        name: str,
        data: DataFrame | RowSource | str | PathLike[str],
        time: str | None = None,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        schema: str | None = None,
        watermark: str | None = None,
    ) -> None:
        """Add a source: a DataFrame, a path of Parquet, ORC, CSV or JSON, or a `RowSource`; `time` is its event time.

        With the format "kafka" the path is a topic, with "socket" a host and port; "rate" counts by itself. `schema`
        names the columns and types of what is read, where no file is there yet to look into. `watermark` says how late
        rows may come when the source is a stream ("10 minutes").
        """
        if not NAME.fullmatch(name):
            raise SourceError(f"'{name}' cannot name a source: use letters, digits, '_', '-' and '.'.")
        if name in self._frames:
            raise SourceError(f"there is already a source '{name}': choose another name.")
        self._checker.settings.check()
        origin = spell_source(name, data, format, options, schema)
        frame, arriving = open_source(self.spark, name, origin, schema)
        refuse_own(name, frame.columns)
        known = schema_of(name, frame, time, self._is_on("spark.sql.caseSensitive"))
        self._checker.register(name, frame)
        self._frames[name], self._schemas[name] = frame, known
        self._files |= {name: origin} if isinstance(origin, Files) else {}
        self._listings.add(name, origin)
        self._arrivals[name] = StreamInput(name, arriving, watermark, place_of(origin))

    def query(self, name: str, sql: str) -> Query:
        """Add a query, or raise an error that says where and why it cannot run and what to write instead."""
        if not NAME.fullmatch(name):
            raise QueryError(name, "this cannot name a query.", hint="Use letters, digits, '_', '-' and '.'.")
        if name in self._queries:
            raise QueryError(name, "there is already a query of this name.", hint="Choose another name.")
        bound = self._checker.bind(parse_query(name, sql, self._schemas, self._checker.defined))
        refuse_large(bound, self._statistics.get(scan_key(bound)), self.max_bag_values)
        if self._store:
            self._store.register((bound.query,))
            self._recall((bound,))
        self._queries[name] = bound
        return bound.query

    def aggregate(self, aggregate: Declared | Aggregate) -> None:
        """Add an aggregate of the user's own, which SQL then calls by its name, or raise an error that shows why not.

        Its laws are checked on example values first; see docs/aggregates.md. A `weft.extend.Aggregate` says how Weft
        runs a function that Spark knows and Weft does not.
        """
        if isinstance(aggregate, Aggregate):
            self._checker.extend(aggregate)
            return
        definition = define(aggregate)
        columns = example_columns(definition)
        check_name(self.spark, definition, self._checker.defined)
        check_laws(definition, columns)
        check_partials(self.spark, definition, columns)
        self._checker.define(definition)

    @property
    def queries(self) -> tuple[Query, ...]:
        """The queries added so far."""
        return tuple(bound.query for bound in self._queries.values())

    def plan(self, queries: Iterable[str] | None = None, algorithm: Forcing = None,
             optimizer: str | Optimizer = OPTIMIZER, slicer: str = SLICER) -> SharedPlan:
        """Which queries share which scan and tree, as an optimizer groups them by what Spark takes (see `measure`).

        `algorithm` forces a final algorithm, for all functions or for some: {"max": "slick_deque"}. It is a name, or an
        algorithm of your own (`weft.extend`). `slicer` cuts slices: "pairs", "panes", or "cutty" (not on Spark).
        """
        workload = tuple(self._chosen(queries))
        chosen = find_optimizer(optimizer)
        if chosen.across:
            self._samples.take(tuple(bound for bound in workload if not bound.query.window.counts_rows))
        found = plan_workload(workload, chosen, self._model, projection, self._samples.size, find_slicer(slicer))
        plan = replace(found, forced=forced_pairs(algorithm, self._checker.defined))
        build(plan)  # raises if a forced algorithm must not fold what the queries ask
        return check_plan(plan, workload, chosen.name)

    def measure(self, queries: Iterable[str] | None = None) -> dict[str, Statistics]:
        """Count the rows, keys and time of every source the queries read, one pass a grouping; `plan` uses it.

        Without it a source is taken for 2 million rows of 1000 keys in 10 hours.
        """
        self._measured = True
        for head in {scan_key(bound): bound for bound in self._current(queries)}.values():
            found = self._statistics[scan_key(head)] = measure_scan(self._frames[head.query.source], head)
            if self._store:
                sizes = Sizes(found.rows, found.keys, found.span)
                self._store.keep([(Rows(*scan_key(head)), sizes)], Origin.MEASURED)
        return {", ".join((key[0], *key[3])): found for key, found in self._statistics.items()}

    def _recall(self, queries: Iterable[BoundQuery]) -> None:
        """Take over what the store knows of the rows that queries read."""
        for key in dict.fromkeys(map(scan_key, queries)):
            if self._store and key not in self._statistics and (found := self._store.known(Rows(*key))):
                self._statistics[key] = found

    def _model(self, bound: BoundQuery) -> SparkModel:
        key, query = share_key(bound), bound.query
        known = self._samples.known(query.source, query.time, (query.where,), query.keys) or ASSUMED
        found = known.in_rows if query.window.counts_rows else known
        together = [b for b in self._queries.values() if share_key(b) == key]
        components = {c for b in together for c in b.components}
        moved = 1.0 if query.window.counts_rows else 0.0
        return SparkModel(found.rows / found.span, found.keys, found.span, len(components), moved=moved)

    def explain(self, queries: Iterable[str] | None = None, algorithm: Forcing = None,
                optimizer: str | Optimizer = OPTIMIZER, slicer: str = SLICER) -> Explanation:
        """The plan as text, JSON, HTML and a picture, with what it costs and each query's part of that."""
        plan = self.plan(queries, algorithm, optimizer, slicer)
        return self._explained(plan, self._stages(plan))

    def _stages(self, plan: SharedPlan) -> StageGraph:
        return build(plan, self._ansi, self.max_bag_values, self._checker.identity)

    def _explained(self, plan: SharedPlan, stages: StageGraph) -> Explanation:
        found = break_down_plan(plan, self._model, projection, self._statistics, self._samples.size,
                                self._samples.found)
        return Explanation(plan, stages, found)

    def run(
        self,
        sink: str | Mapping[str, str] | Sink | AnswerSink | None = None,
        queries: Iterable[str] | None = None,
        progress: Progress | None = None,
        algorithm: Forcing = None, optimizer: str | Optimizer = OPTIMIZER,
        incremental: bool = False, slicer: str = SLICER,
    ) -> Results:
        """Run the queries. Without a sink the results are lazy DataFrames; with one every query is written there.

        A sink is "noop", a folder for Parquet, {"format": "csv", "path": "out"}, with one folder a query, or an
        `AnswerSink`.
        `algorithm`, `optimizer` and `slicer` are as in `plan`. An incremental run keeps
        slices in the loom's store and aggregates only files that are new; the results' `sources` say what was read.
        """
        refuse_open((slicer,))
        target, chosen = None if sink is None else batch_sink(sink), self._current(queries)
        if target is not None:
            guard_run(self.spark, target, chosen, self._inputs(chosen), self._store)
        planned = self._planned_again if incremental else self.plan
        plan = planned([bound.query.name for bound in chosen], algorithm, optimizer, slicer)
        tell, stages = progress or report_nothing, self._stages(plan)
        if self._store:
            asked = [bound.query for bound in plan.queries]
            self._store.record(plan.optimizer, asked, stages, lambda: self._explained(plan, stages))
        watches = SizeObserver() if self._store and sink is not None else None
        read: tuple[dict, ...] = ()
        if incremental:
            parts, read = self._from_kept(stages, watches or leave_unobserved, lambda text: tell(0, 1, text))
        else:
            parts = build_parts(stages, self._slices, watches or leave_unobserved)
        report = () if target is None else write_results(self.spark, stages, parts, target, tell)
        if watches:
            self._keep_sizes(watches)
        return Results(parts.values(), report, read, self._checker.settings.pinned())

    def _planned_again(self, queries: Iterable[str] | None, algorithm: Forcing,
                       optimizer: str | Optimizer, slicer: str) -> SharedPlan:
        """The plan by what was known when these queries were first run, or measured: another may use no kept slices."""
        catalog, chosen = require_store(self._store).catalog, [bound.query for bound in self._chosen(queries)]
        refuse_counting(chosen)
        require_files(dict.fromkeys(query.source for query in chosen), self._files, catalog.path.parent)
        mark = snapshot_key(find_optimizer(optimizer).name, ((self._files[q.source].path, q.text) for q in chosen))
        known, now = None if self._measured else find_snapshot(catalog, mark), self._samples
        self._samples = RecalledSamples(self._frames, known.measured, dict(known.sampled)) if known else now
        try:
            plan = self.plan([query.name for query in chosen], algorithm, optimizer, slicer)
        finally:
            self._samples = now
        if known is None:
            keep_snapshot(catalog, mark, PlanningSnapshot(self._statistics, now.found))
        return plan

    def _from_kept(self, stages: StageGraph, watch: Watching,
                   say: Callable[[str], None]) -> tuple[dict[str, AnswerPart], tuple[dict, ...]]:
        """The parts of a plan over kept slices and new files, and what was read of each source."""
        require_workers(self.spark)
        catalog = require_store(self._store).catalog
        names = [node.stage.source for node in stages.of(ReadStage)]
        found = {name: snapshot_of(self.spark, name, self._files[name], self._frames[name].schema) for name in names}
        with translate_errors():
            keeper = SliceReader(self.spark, catalog, found, say)
            return build_parts(stages, keeper.slices, watch), keeper.report

    def start(
        self,
        checkpoint: str | PathLike[str],
        sink: str | Mapping[str, str] | Sink | AnswerSink | Receiver,
        queries: Iterable[str] | None = None,
        trigger: str | None = None,
        max_clock_skew: str | None = "1 day",
        dead_letters: str | None = None,
        algorithm: Forcing = None, optimizer: str | Optimizer = OPTIMIZER, slicer: str = SLICER,
    ) -> Stream:
        """Run the queries as a stream: answers of a window come when the watermark has closed it, each once.

        `checkpoint` is a folder for its state: a start with the same queries goes on from there. A sink is as in `run`,
        or "console", "memory", a `KafkaSink`, or a function of a query's name, its new rows and the trigger's number.
        `trigger` is None (as fast as it can), "10 seconds", or "available" for what is there, and then the stream ends.
        Rows that cannot be used, or whose clock is ahead by more than `max_clock_skew`, go to `dead_letters`, a folder
        of JSON lines.
        """
        refuse_open((slicer,))
        place, workload = absolute(str(checkpoint)), tuple(self._chosen(queries))
        require_countable(workload)
        known = stream_sink(sink)
        letters = absolute(dead_letters or f"{place.rstrip('/')}/dead_letters")
        guard_stream(self.spark, known, workload, self._inputs(workload), place, letters, self._store)
        names = dict.fromkeys(bound.query.source for bound in workload)
        delays = {name: self._arrivals[name].delay(self.spark) for name in names}
        page = open_checkpoint(place)
        if page is None:
            plan = self.plan([bound.query.name for bound in workload], algorithm, optimizer, slicer)
        else:
            page.require_same(place, workload, delays, self._checker.identity)
            plan = replace(page.plan(workload), forced=forced_pairs(algorithm, self._checker.defined))
        stages = self._stages(plan)
        ahead = None if max_clock_skew is None else parse_delay(self.spark, max_clock_skew, "max_clock_skew")
        wanted = StreamOptions(place, known, trigger, ahead, letters)
        refuse_unreachable_sink(self.spark, wanted.sink)
        arriving, new = {name: self._arrivals[name] for name in names}, page is None
        page = make_page(self.spark, page, plan, stages, arriving, wanted, delays, self._checker.identity)
        require_free(known, page.identity, list(page.queries))
        claim_letters(place, letters, page.identity, new)
        return start_stream(self.spark, plan, stages, arriving, wanted, page, self._ansi)

    def _inputs(self, workload: Iterable[BoundQuery]) -> list[Input]:
        return list_inputs(workload, self._listings.origins, self._frames)

    def _slices(self, node: Node[PartialStage]) -> DataFrame:
        require_workers(self.spark)
        return run_partial(self._frames[node.stage.source], node.stage)

    def _keep_sizes(self, watches: SizeObserver) -> None:
        """Put what a run found out into the store."""
        assert self._store
        try:
            self._store.keep_run(watches.sizes())
        except CatalogError as error:  # the answers are in place, and sizes only help to plan
            warn(CatalogWarning(f"The run is done, but its sizes were not kept: {error}"), stacklevel=3)

    def verify(
        self,
        queries: Iterable[str] | None = None,
        progress: Progress | None = None,
        algorithm: Forcing = None, optimizer: str | Optimizer = OPTIMIZER, slicer: str = SLICER,
    ) -> Verification:
        """Run every query natively as well and compare row by row; `algorithm`, `optimizer`, `slicer` as in `plan`."""
        refuse_open((slicer,))
        chosen = [bound.query for bound in self._current(queries)]
        stages = self._stages(self.plan([q.name for q in chosen], algorithm, optimizer, slicer))
        with Results(build_parts(stages, self._slices).values()) as results:
            return verify(results, chosen, self._checker.native, progress or report_nothing)

    def native(self, name: str) -> DataFrame:
        """One query as Spark itself runs it."""
        return self._checker.native(self._current([name])[0].query)

    def close(self) -> None:
        """Drop what Weft made in the Spark session, and let go of the store; the session itself stays."""
        self._checker.close()
        if self._store:
            self._store.close()

    @property
    def _ansi(self) -> bool:
        return self._is_on("spark.sql.ansi.enabled")

    def _is_on(self, setting: str) -> bool:
        return str(self.spark.conf.get(setting)).lower() == "true"

    def _current(self, names: Iterable[str] | None) -> list[BoundQuery]:
        """The chosen queries, their sources as they are now."""
        found = self._chosen(names)
        self._listings.refresh(bound.query.source for bound in found)
        return found

    def _chosen(self, names: Iterable[str] | None) -> list[BoundQuery]:
        self._checker.settings.check()
        return choose(self._queries, names)
