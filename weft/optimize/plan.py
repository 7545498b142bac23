"""From a workload to a shared plan: queries that can share a scan are handed to an optimizer, scan by scan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import get_close_matches

from weft.cost.model import Model
from weft.errors import PlanError
from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.workload import BoundQuery, Workload
from weft.optimize import EVERY_OPTIMIZER, OPTIMIZERS
from weft.optimize.base import Optimizer
from weft.optimize.groupings import Sizes, derive_groupings
from weft.optimize.predicates import ModelOf, choose_sharing, join_predicates
from weft.optimize.problem import Groups, Problem
from weft.slicing import PAIRS, Slicer

# What a query makes of its answers.
Projection = Callable[[BoundQuery], Hashable]


def find_optimizer(name: str | Optimizer) -> Optimizer:
    """The optimizer of a name such as `weave_share` or `weave_share:polish`; one of the user's own is what it is."""
    if isinstance(name, Optimizer):
        return name
    names = {o.name: o for o in EVERY_OPTIMIZER}
    if name not in names:
        near = get_close_matches(name, names, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"the optimizers are {', '.join(o.name for o in OPTIMIZERS)}."
        raise PlanError(f"there is no optimizer '{name}': {hint}")
    return names[name]


def scan_key(bound: BoundQuery) -> tuple:
    """The rows that a query reads and how it groups them: queries of one scan agree on it."""
    query = bound.query
    return query.source, query.where, query.time, query.keys


def share_key(bound: BoundQuery) -> tuple:
    """The same, and whether slices are cut of time or of rows: `scan_key` tells rows, for which it does not matter."""
    return *scan_key(bound), bound.query.window.unit


def sharing(workload: Workload) -> list[tuple[BoundQuery, ...]]:
    """The queries that could share a scan, in order."""
    groups: dict[tuple, list[BoundQuery]] = {}
    for bound in workload:
        groups.setdefault(share_key(bound), []).append(bound)
    return [tuple(group) for group in groups.values()]


def solve(optimizer: Optimizer, problem: Problem) -> Groups:
    """The optimizer's groups, if it takes so many queries."""
    if optimizer.most is not None and len(problem.windows) > optimizer.most:
        raise PlanError(f"{optimizer.title} takes at most {optimizer.most} queries, not {len(problem.windows)}: "
                        "use weave_share or tri_weave.")
    groups = optimizer.group(problem)
    if sorted(number for group in groups for number in group) != list(range(len(problem.windows))):
        raise PlanError(f"optimizer '{optimizer.name}' lost or doubled queries: each number from 0 to "
                        f"{len(problem.windows) - 1} must be in exactly one of the groups it gives.")
    return groups


def problem_of(queries: Sequence[BoundQuery], optimizer: Optimizer, model: Model, projection: Projection,
               slicer: Slicer = PAIRS) -> Problem:
    """The problem of queries that could share a scan; equal projections get equal numbers."""
    numbers: dict[Hashable, int] = {}
    projections = tuple(numbers.setdefault(projection(b), len(numbers)) for b in queries)
    windows = tuple(b.query.window for b in queries)
    return Problem(windows, model, shared=optimizer.shared, projections=projections, slicer=slicer)


def plan_workload(workload: Workload, optimizer: Optimizer, model: ModelOf, projection: Projection,
                  sizes: Sizes | None = None, slicer: Slicer = PAIRS) -> SharedPlan:
    """The plan an optimizer makes of a workload, each scan's queries priced by the model of their source and cut by a
    slicer.

    An optimizer that shares across scans also joins predicates, and derives groupings where their sizes are known. What
    counts rows it leaves alone: another predicate or grouping numbers them otherwise.
    """
    made = [scan for queries in sharing(workload) for scan in scans_of(queries, optimizer, model, projection, slicer)]
    scans, counted = [s for s in made if not s.counts_rows], [s for s in made if s.counts_rows]
    if optimizer.across:
        scans = join_predicates(scans)
    if optimizer.across and sizes:
        scans = derive_groupings(scans, sizes)
    return SharedPlan(optimizer.name, (*choose_sharing(scans, model), *counted))


def scans_of(queries: Sequence[BoundQuery], optimizer: Optimizer, model: ModelOf, projection: Projection,
             slicer: Slicer = PAIRS) -> Iterator[Scan]:
    """One scan with all trees where they share a partial stage, else a scan a tree."""
    problem = problem_of(queries, optimizer, model(queries[0]), projection, slicer)
    trees = tuple(Tree(tuple(queries[i] for i in group)) for group in solve(optimizer, problem))
    if optimizer.shared:
        yield Scan(trees, slicer=slicer.name)
    else:
        yield from (Scan((tree,), slicer=slicer.name) for tree in trees)
