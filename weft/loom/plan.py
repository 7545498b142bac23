"""A plan as a value: what it shares can be read, and it explains itself, runs, starts and verifies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Self

from weft.errors import PlanError
from weft.io.sinks import AnswerSink, Receiver, Sink
from weft.loom.batch import prepare_run, run_prepared, spell_changes, verify_prepared
from weft.loom.context import Context
from weft.loom.shedding import SourceShedding
from weft.loom.sizes import model_of
from weft.loom.sources import Source
from weft.loom.stream import prepare_start, resume_workload, start_prepared
from weft.loom.triggers import scan_triggers
from weft.loom.weaver import TOLERANCE
from weft.model.graph import StageGraph
from weft.model.plan import Scan, SharedPlan
from weft.model.stages import Forced
from weft.model.workload import Workload, choose
from weft.optimize.cost_breakdown import PlanBreakdown, break_down_plan
from weft.slicing import refuse_open
from weft.spark.batch.run import Results
from weft.spark.batch.verify import Verification
from weft.spark.stream.checkpoint import Checkpoint
from weft.spark.stream.handle import Stream
from weft.spark.write.write import Progress
from weft.stages.build import projection
from weft.stages.diff import PlanDiff, diff
from weft.stages.explain import Explanation, many


@dataclass(frozen=True, repr=False)
class Plan:
    """Which queries share which scan and tree, and the stages that run; made by `loom.plan`.

    It is of the queries as they were then: one that is dropped or replaced in the loom afterwards stays as it is here.
    """

    shared: SharedPlan
    stages: StageGraph
    sources: tuple[Source, ...]
    workload: Workload = field(compare=False)
    context: Context = field(compare=False)
    shedding: tuple[SourceShedding, ...] = ()

    @classmethod
    def of(cls, context: Context, workload: Workload, shared: SharedPlan,
           shedding: tuple[SourceShedding, ...] = ()) -> Self:
        """The plan with its stages; raises if a forced algorithm must not fold what the queries ask."""
        names = dict.fromkeys(name for bound in workload for name in (bound.query.source, *bound.query.inputs))
        sources = tuple(context.sources[name] for name in names)
        return cls(shared, context.build(shared), sources, workload, context, shedding)

    @property
    def optimizer(self) -> str:
        """The name of the optimizer that made it."""
        return self.shared.optimizer

    @property
    def slicers(self) -> tuple[str, ...]:
        """The names of the slicers that its scans are cut by."""
        return self.shared.slicers

    @property
    def scans(self) -> tuple[Scan, ...]:
        """The scans that read a source."""
        return self.shared.scans

    @property
    def nodes(self) -> tuple[Scan, ...]:
        """All scans, derived ones after the scan whose slices they read."""
        return self.shared.nodes

    @property
    def queries(self) -> Workload:
        """Every query, in the order of the scans."""
        return self.shared.queries

    @property
    def forced(self) -> Forced:
        """The final algorithms that the user named."""
        return self.shared.forced

    @property
    def breakdown(self) -> PlanBreakdown:
        """What it costs by Weft's model, and each query's part of that."""
        sizes = self.context.sizes
        return break_down_plan(self.shared, model_of(self.workload, sizes.samples), projection, sizes.measured,
                               sizes.samples.size, sizes.samples.found)

    def explain(self) -> Explanation:
        """The plan as text, JSON, HTML and a picture, with what it costs and each query's part of that."""
        shedding = tuple(each.to_dict() for each in self.shedding)
        return Explanation(self.shared, self.stages, self.breakdown, tuple(scan_triggers(self)), shedding)

    def diff(self, other: Plan) -> PlanDiff:
        """What another plan keeps of this one, adds and drops: nodes, columns of slices, folds and queries."""
        return diff(self.stages, other.stages)

    def run(self, sink: str | Mapping[str, str] | Sink | AnswerSink | None = None, progress: Progress | None = None,
            incremental: bool = False, queries: Iterable[str] | None = None,
            changes: str | PathLike[str] | Receiver | None = None) -> Results:
        """Run the queries. Without a sink the results are lazy DataFrames; with one every query is written there.

        A sink is "noop", a folder for Parquet, {"format": "csv", "path": "out"}, with one folder a query, or an
        `AnswerSink` of your own.
        An incremental run keeps slices in the loom's store and aggregates only files that are new; the results'
        `sources` say what was read. `loom.plan(incremental=True)` makes the plan that finds most of them.
        With `queries` only these run, by the plan of all: their slices are those that any run of this plan keeps.
        `changes` is a folder, or a function of a query's name, rows and a number, that gets the rows of an incremental
        run that came and went, and no others: see docs/incremental.md.
        """
        self._require_current()
        wanted = self.workload if queries is None else self._only(queries)
        target = prepare_run(self.context, wanted, sink, changes)
        return run_prepared(self, target, progress, incremental, wanted, spell_changes(changes, incremental, target))

    def _only(self, names: Iterable[str]) -> Workload:
        return tuple(choose({bound.query.name: bound for bound in self.workload}, names))

    def start(self, checkpoint: str | PathLike[str], sink: str | Mapping[str, str] | Sink | AnswerSink | Receiver,
              trigger: str | None = None, max_clock_skew: str | None = "1 day",
              dead_letters: str | None = None, drift_tolerance: float | None = TOLERANCE) -> Stream:
        """Run the queries as a stream: answers of a window come when the watermark has closed it, each once.

        `checkpoint` is a folder for its state: a start with the same queries goes on from there, by the plan that it
        was first started with. A sink is as in `run`, or "console", "memory", a `KafkaSink`, or a function of a query's
        name, its new rows and the trigger's number. `trigger` is None (as fast as it can), "10 seconds", "bounds"
        for the shortest bound of each scan's queries that can be sustained, or "available" for what is there, and then
        the stream ends. Rows that cannot be used, or whose clock is ahead by more than
        `max_clock_skew`, go to `dead_letters`, a folder of JSON lines. Where queries come and go and the plan drifts
        by more than `drift_tolerance`, it is woven anew in the background; None: never.
        """
        self._require_current()
        refuse_boxes(self, "a stream begins with all of them: use loom.start()")
        launch = prepare_start(self.context, self.workload, checkpoint, sink, dead_letters)
        plan = self
        if launch.before is not None:
            plan = resume_plan(self.context, self.workload, launch.before, self.forced)
        return start_prepared(plan, launch, trigger, max_clock_skew, drift_tolerance=drift_tolerance)

    def verify(self, progress: Progress | None = None) -> Verification:
        """Run every query natively as well and compare row by row."""
        self._require_current()
        refuse_boxes(self, "Spark's own answers are those of all rows: loom.verify() compares without dropping any")
        prepare_run(self.context, self.workload, None)
        return verify_prepared(self, progress)

    def _require_current(self) -> None:
        """Raise where the session's settings or the sources are not those that the plan was made for, or where slices
        are cut in a way that Spark does not run."""
        refuse_open(self.shared.slicers)
        self.context.checker.settings.check()
        self.context.sources.require_same(self.sources)

    def __repr__(self) -> str:
        size = f"{many(len(self.queries), 'query', 'queries')} in {many(len(self.scans), 'scan')}"
        return f"<Plan by {self.optimizer}: {size}>"

    def __str__(self) -> str:
        return str(self.explain())

    def _repr_html_(self) -> str:
        return self.explain().svg()


def refuse_boxes(plan: Plan, why: str) -> None:
    """Raise where a plan that drops rows is used for what it was not made for."""
    for found in (found for found in plan.shedding if found.share < 1):
        raise PlanError(f"this plan drops rows of source '{found.source}', and {why}.")


def resume_plan(context: Context, workload: Workload, before: Checkpoint, forced: Forced,
                shedding: tuple[SourceShedding, ...] = ()) -> Plan:
    """The plan of a checkpoint, whose state fits no other, with the algorithms that are forced now."""
    running, ghosts = resume_workload(context, workload, before)
    return Plan.of(context, running, replace(before.plan((*running, *ghosts)), forced=forced), shedding)
