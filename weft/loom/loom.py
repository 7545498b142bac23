"""The Loom: sources and queries in; plan, explanation, results and verification out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING

from weft.aggregates.component import MAX_BAG_VALUES
from weft.final.choose import Forcing, forced_pairs
from weft.io.formats import absolute
from weft.io.sinks import AnswerSink, Receiver, Sink
from weft.loom.batch import prepare_run, run_prepared, spell_changes, verify_prepared
from weft.loom.joins import choose_methods
from weft.loom.memory import PlanMemory
from weft.loom.plan import Plan, resume_plan
from weft.loom.planning import OPTIMIZER, SLICER, PlanChoice, require_incremental, share
from weft.loom.registry import Registry
from weft.loom.schedule import RunPart, make_runner, plannable
from weft.loom.shedding import KEEPS_ALL, refuse_dropping, thin_batch, thin_stream
from weft.loom.stream import prepare_start, start_prepared
from weft.loom.weaver import TOLERANCE
from weft.model.statistics import Statistics
from weft.model.workload import Workload
from weft.optimize import Optimizer
from weft.optimize.schedule.dispatch import RunClock
from weft.optimize.shed.controller import ControllerPolicy
from weft.runner.groups import group_queries
from weft.runner.runner import RunnerOptions, ScheduleRunner
from weft.slicing import refuse_open
from weft.spark.batch.run import Results
from weft.spark.batch.verify import Verification
from weft.spark.stream.checkpoint import open_checkpoint
from weft.spark.stream.handle import Stream
from weft.spark.write.write import Progress
from weft.stages.explain import Explanation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Loom(Registry):
    """Weaves window queries over shared sources into few Spark jobs.

    >>> with Loom() as loom:
    ...     loom.source("trades", "trades.parquet", time="ts")
    ...     loom.query("sma", "SELECT symbol, window.end, avg(price) FROM trades "
    ...                       "GROUP BY symbol, window(ts, '10 minutes', '1 minute')")
    ...     loom.run()["sma"].show()

    Without a session it takes the active one, or starts a local one, which `close` or the end of the `with` block
    stops. With a `store`, a folder, queries, plans and statistics are kept in its catalog for looms that come after.
    `every` is the longest time between two answers of queries that name none ("5 minutes").
    `max_bag_values` bounds how many values of a holistic aggregate (median, count(DISTINCT), ...) a worker may hold.
    """

    def __init__(self, spark: SparkSession | None = None, store: str | PathLike[str] | None = None,
                 max_bag_values: int = MAX_BAG_VALUES, every: str | None = None):
        super().__init__(spark, store, max_bag_values, every)
        self._plans = PlanMemory()

    def plan(self, queries: Iterable[str] | None = None, algorithm: Forcing = None,
             optimizer: str | Optimizer = OPTIMIZER, incremental: bool = False, slicer: str = SLICER) -> Plan:
        """Which queries share which scan and tree, as an optimizer groups them by what Spark takes (see `measure`).

        `algorithm` forces a final algorithm, for all functions or for some: {"max": "slick_deque"}. It is a name, or an
        algorithm of your own (`weft.extend`). `slicer` cuts slices: "pairs", "panes", or "cutty" (not on Spark). With
        `incremental` it is the plan of earlier incremental runs of these queries, which finds the slices they kept.
        """
        return self._plan(self._chosen(queries), PlanChoice(algorithm, optimizer, slicer), incremental)

    def _plan(self, workload: Workload, choice: PlanChoice, incremental: bool) -> Plan:
        context = self._context
        if not incremental:
            choose_methods(context.sources, workload)
        if incremental:
            refuse_dropping(context, workload, KEEPS_ALL)
            return self._plans.plan(context, workload, choice)
        thinned, shedding = thin_batch(context, workload)
        return Plan.of(context, thinned, share(context, thinned, choice, context.sizes.samples), shedding)

    def measure(self, queries: Iterable[str] | None = None) -> dict[str, Statistics]:
        """Count the rows, keys and time of every source the queries read, one pass a grouping; `plan` uses it.

        Without it a source is taken for 2 million rows of 1000 keys in 10 hours.
        """
        self._context.sizes.measure(self._current(queries), self._store)
        return self._context.sizes.to_dict()

    def explain(self, queries: Iterable[str] | None = None, algorithm: Forcing = None,
                optimizer: str | Optimizer = OPTIMIZER, slicer: str = SLICER) -> Explanation:
        """The plan of queries as text, JSON, HTML and a picture: `loom.plan(...).explain()`."""
        return self.plan(queries, algorithm, optimizer, slicer=slicer).explain()

    def run(
        self,
        sink: str | Mapping[str, str] | Sink | AnswerSink | None = None,
        queries: Iterable[str] | None = None,
        progress: Progress | None = None,
        algorithm: Forcing = None,
        optimizer: str | Optimizer = OPTIMIZER,
        incremental: bool = False,
        slicer: str = SLICER,
        changes: str | PathLike[str] | Receiver | None = None,
    ) -> Results:
        """Run queries: `loom.plan(...).run(...)`, but a sink that cannot be written to is refused before planning."""
        refuse_open((slicer,))
        workload = self._chosen(queries)
        target = prepare_run(self._context, workload, sink, changes)
        told = spell_changes(changes, incremental, target)
        plan = self._plan(workload, PlanChoice(algorithm, optimizer, slicer), incremental)
        return run_prepared(plan, target, progress, incremental, plan.workload, told)

    def start(
        self,
        checkpoint: str | PathLike[str],
        sink: str | Mapping[str, str] | Sink | AnswerSink | Receiver,
        queries: Iterable[str] | None = None,
        trigger: str | None = None,
        max_clock_skew: str | None = "1 day",
        dead_letters: str | None = None,
        algorithm: Forcing = None,
        optimizer: str | Optimizer = OPTIMIZER,
        slicer: str = SLICER,
        overload: ControllerPolicy = ControllerPolicy(),
        drift_tolerance: float | None = TOLERANCE,
    ) -> Stream:
        """Run queries as a stream: `loom.plan(...).start(...)`, without planning where a checkpoint has a plan.

        `overload` says when rows are dropped for queries that accept an error, and how soon that ends. Where queries
        come and go and the plan drifts by more than `drift_tolerance`, it is woven anew in the background (000 §5.2).
        """
        refuse_open((slicer,))
        context, before = self._context, open_checkpoint(absolute(str(checkpoint)))
        workload, shedding = thin_stream(context, self._chosen(queries), before)
        launch = prepare_start(context, workload, checkpoint, sink, dead_letters)
        if launch.before is None:
            choice = PlanChoice(algorithm, optimizer, slicer)
            plan = Plan.of(context, workload, share(context, workload, choice, context.sizes.samples), shedding)
        else:
            forced = forced_pairs(algorithm, context.checker.defined)
            plan = resume_plan(context, workload, launch.before, forced, shedding)
        return start_prepared(plan, launch, trigger, max_clock_skew, overload, drift_tolerance)

    def schedule(
        self,
        sink: str | Mapping[str, str] | Sink | AnswerSink,
        policy: str | None = None,
        queries: Iterable[str] | None = None,
        clock: RunClock | None = None,
        algorithm: Forcing = None,
        optimizer: str | Optimizer = OPTIMIZER,
        options: RunnerOptions = RunnerOptions(),
        changes: str | PathLike[str] | Receiver | None = None,
    ) -> ScheduleRunner:
        """The runner of queries that have bounds (`every`), by incremental runs of parts of one plan.

        The policy is the one that costs least, or one of "conservative", "aggressive", "hybrid", "harmonic", "cyclic".
        All queries of the loom are planned together, so that runners of some of them share slices with all others.
        Nothing runs before runs are asked for: `for run in runner`. `changes` is as in `plan.run`. See
        docs/schedules.md.
        """
        workload = self._chosen(queries)
        require_incremental(self._context, workload)
        refuse_dropping(self._context, workload, KEEPS_ALL)
        group_queries(bound.query for bound in workload)  # raises where one has no bound, before anything is planned
        spell_changes(changes, True, prepare_run(self._context, workload, sink, changes))
        plan = self.plan(plannable(self._context, self._queries.values()), algorithm, optimizer, True)
        return make_runner(plan, workload, RunPart(plan, sink, changes), policy, clock, options)

    def verify(
        self,
        queries: Iterable[str] | None = None,
        progress: Progress | None = None,
        algorithm: Forcing = None,
        optimizer: str | Optimizer = OPTIMIZER,
        slicer: str = SLICER,
    ) -> Verification:
        """Run queries natively as well and compare row by row: `loom.plan(...).verify()`.

        Queries that accept an error are compared without one, over all rows."""
        refuse_open((slicer,))
        workload, context = self._chosen(queries), self._context
        refuse_dropping(context, workload, "Spark's own answers are those of all rows")
        prepare_run(context, workload, None)
        choice = PlanChoice(algorithm, optimizer, slicer)
        plan = Plan.of(context, workload, share(context, workload, choice, context.sizes.samples))
        return verify_prepared(plan, progress)

    def native(self, name: str) -> DataFrame:
        """One query as Spark itself runs it."""
        return self._context.checker.native(self._current([name])[0].query)
