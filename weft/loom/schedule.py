"""A plan by a schedule: what its runs cost, which schedule that makes the best, and the runner that follows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike
from typing import TYPE_CHECKING
from warnings import warn

from weft.catalog.scheduled import scheduled_runs
from weft.cost.runs import RunCosts, fit_runs
from weft.errors import ScheduleWarning
from weft.io.sinks import AnswerSink, Receiver, Sink, batch_sink
from weft.loom.context import Context
from weft.loom.planning import require_incremental
from weft.loom.sizes import model_of
from weft.model.edges import edge_rate
from weft.model.graph import digest
from weft.model.plan import Scan
from weft.model.stages import AnswerStage
from weft.model.workload import BoundQuery, Workload
from weft.optimize.schedule import ScheduleProblem
from weft.optimize.schedule.dispatch import RunClock
from weft.runner.choice import choose_schedule, make_problem, require_sustainable, unmet_bounds
from weft.runner.groups import QueryGroup, group_queries
from weft.runner.runner import RunnerOptions, RunOutcome, ScheduleRunner
from weft.sql.hints import without_hints

if TYPE_CHECKING:
    from weft.loom.plan import Plan

Target = str | Mapping[str, str] | Sink | AnswerSink
# Stages' worth of time that a run takes however little it does: listing, slices, a fold, files in place, the catalog.
RUN_STAGES = 8
LAST = 200  # earlier runs that costs are fitted to
NANO = 1e-9


@dataclass(frozen=True)
class PricedGroups:
    """The groups of a workload, what their runs cost in seconds, and how many earlier runs that is measured by."""

    groups: tuple[QueryGroup, ...]
    problem: ScheduleProblem
    measured: int


def price_groups(plan: Plan, workload: Workload) -> PricedGroups:
    """The groups of some of a plan's queries, with costs by Weft's model scaled to earlier runs in the store."""
    groups, names = group_queries(bound.query for bound in workload), [b.query.name for b in plan.workload]
    place, store = {name: i for i, name in enumerate(names)}, plan.context.store
    runs = [] if store is None else [([place[name] for name in run.queries], run.seconds)
                                     for run in scheduled_runs(store.catalog, LAST)
                                     if run.steady and set(run.queries) <= place.keys()]
    costs = fit_runs(estimate_runs(plan), runs)
    members = [[place[name] for name in group.queries] for group in groups]
    reads = tuple(max(costs.reads[i] for i in each) for each in members)
    answers = tuple(sum((costs.answers[i] for i in each), Fraction(0)) for each in members)
    return PricedGroups(groups, make_problem(groups, RunCosts(reads, answers, costs.overhead)), len(runs))


def plannable(context: Context, known: Iterable[BoundQuery]) -> list[str]:
    """The queries that incremental runs can answer: they are planned together, whichever of them are scheduled. Runs
    keep slices of all rows, so those of sources that drop some have no part in it."""
    files = {name for name in context.sources.files if not context.sources[name].drop}
    return [b.query.name for b in known if b.query.source in files and not b.query.window.counts_rows]


def estimate_runs(plan: Plan) -> RunCosts:
    """What runs of each query cost by Weft's model: the slices and answers of windows that new rows may touch, and a
    stage for every projection, which its queries share."""
    priced = dict(query_prices(plan))
    reads, answers = zip(*(priced[bound.query.name] for bound in plan.workload), strict=True)
    stage = model_of(plan.workload, plan.context.sizes.samples)(plan.workload[0]).costs.stage
    return RunCosts(tuple(map(Fraction, reads)), tuple(map(Fraction, answers)), Fraction(RUN_STAGES * stage))


def query_prices(plan: Plan) -> Iterator[tuple[str, tuple[float, float]]]:
    """The seconds that each query's slices take to read and its answers to make."""
    model = model_of(plan.workload, plan.context.sizes.samples)
    beside = {asked.name: len(node.stage.queries) for node in plan.stages.of(AnswerStage)
              for asked in node.stage.queries}
    bounds = {bound.query.name: bound.query.every or 0 for bound in plan.workload}
    for scan in plan.nodes:
        for bound in scan.queries:
            name, window = bound.query.name, bound.query.window
            found, time = model(bound), window.range + bounds[name]
            read = float(found.slices(rate_of(scan))) * time * found.costs.hand_over * NANO
            yield name, (read, found.delivering([window]) * time + found.costs.stage / beside[name])


def rate_of(scan: Scan) -> float:
    """How often the slices of a scan are cut, per µs."""
    return float(edge_rate(scan.cut_for).value)


def make_runner(plan: Plan, workload: Workload, work: RunPart, policy: str | None, clock: RunClock | None,
                options: RunnerOptions) -> ScheduleRunner:
    """The runner of queries by the plan of all; raises where a bound is below what any run takes, warns where no
    schedule keeps it."""
    catalog = require_incremental(plan.context, workload)
    priced = price_groups(plan, workload)
    chosen = choose_schedule(priced.groups, priced.problem, policy, priced.measured)
    require_sustainable(chosen)
    for sentence in unmet_bounds(chosen):
        warn(ScheduleWarning(sentence), stacklevel=3)
    return ScheduleRunner(catalog, chosen, work, dict(meanings(plan.context, workload, work.sink)), clock, options)


@dataclass(frozen=True)
class RunPart:
    """Runs some queries of a plan incrementally."""

    plan: Plan
    sink: Target
    changes: str | PathLike[str] | Receiver | None = None

    def __call__(self, names: Sequence[str]) -> RunOutcome:
        with self.plan.run(sink=self.sink, incremental=True, queries=names, changes=self.changes) as results:
            read = results.sources
        return RunOutcome(sum(one["new_files"] for one in read), any(one["anew"] for one in read))


def meanings(context: Context, workload: Workload, sink: Target) -> Iterator[tuple[str, str]]:
    """What each query answers and where that goes: with another text, source or sink its answers are not there."""
    target = batch_sink(sink)
    for bound in workload:
        query = bound.query
        files = context.sources.files[query.source]
        place = [target.facts.name, target.location(), target.output_path(query.name)]
        yield query.name, digest(without_hints(query.text), files.path, files.format, sorted(files.options), place)
