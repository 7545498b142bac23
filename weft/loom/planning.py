"""From queries to a shared plan: by what is known of their sources now, or was when they were first run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.catalog.database import Catalog
from weft.catalog.planning_snapshot import PlanningSnapshot, find_snapshot, keep_snapshot, snapshot_key
from weft.final.choose import Forcing, forced_pairs
from weft.loom.context import Context
from weft.loom.sizes import model_of
from weft.model.plan import SharedPlan, check_plan
from weft.model.workload import Workload
from weft.optimize import OPTIMIZERS, Optimizer
from weft.optimize.plan import find_optimizer, plan_workload
from weft.slicing import PAIRS, find_slicer
from weft.spark.incremental.snapshot import refuse_counting, refuse_joins, require_files, require_store
from weft.spark.statistics.samples import RecalledSamples, SourceSamples
from weft.sql.hints import without_hints
from weft.stages.build import projection

# The first of the family: the cheaper of one tree and trees with scans of their own.
OPTIMIZER = OPTIMIZERS[0].name
SLICER = PAIRS.name


@dataclass(frozen=True)
class PlanChoice:
    """What a user wants of a plan: final algorithms, who groups the queries, and who cuts slices."""

    algorithm: Forcing = None
    optimizer: str | Optimizer = OPTIMIZER
    slicer: str = SLICER


def share(context: Context, workload: Workload, choice: PlanChoice, samples: SourceSamples) -> SharedPlan:
    """Which queries share which scan and tree, as an optimizer groups them by the sizes that are known."""
    chosen, slicer = find_optimizer(choice.optimizer), find_slicer(choice.slicer)
    if chosen.across:
        # A look at the rows of a join would join them all.
        samples.take(tuple(b for b in workload if not b.query.window.counts_rows and not b.query.join))
    found = plan_workload(workload, chosen, model_of(workload, samples), projection, samples.size, slicer)
    plan = replace(found, forced=forced_pairs(choice.algorithm, context.checker.defined))
    return check_plan(plan, workload, chosen.name)


def share_as_before(context: Context, workload: Workload, choice: PlanChoice) -> SharedPlan:
    """The plan by what was known when these queries were first run, or measured: another may use no kept slices."""
    catalog, sizes = require_incremental(context, workload), context.sizes
    mark = planning_mark(context, workload, choice)
    known = None if sizes.counted else find_snapshot(catalog, mark)
    if known is not None:
        recalled = RecalledSamples(context.sources.frames, known.measured, dict(known.sampled))
        return share(context, workload, choice, recalled)
    plan = share(context, workload, choice, sizes.samples)
    keep_snapshot(catalog, mark, PlanningSnapshot(sizes.measured, sizes.samples.found))
    return plan


def planning_mark(context: Context, workload: Workload, choice: PlanChoice) -> str:
    """The key under which the catalog keeps what was known when these queries were first run."""
    paths = {name: files.path for name, files in context.sources.files.items()}
    name = find_optimizer(choice.optimizer).name
    return snapshot_key(name, [(paths[bound.query.source], without_hints(bound.query.text)) for bound in workload])


def require_incremental(context: Context, workload: Workload) -> Catalog:
    """The catalog that keeps slices, or an error that says why these queries cannot run incrementally."""
    catalog = require_store(context.store).catalog
    refuse_counting(bound.query for bound in workload)
    refuse_joins(bound.query for bound in workload)
    names = dict.fromkeys(bound.query.source for bound in workload)
    require_files(names, context.sources.files, catalog.path.parent)
    return catalog
