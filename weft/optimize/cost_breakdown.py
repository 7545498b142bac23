"""The account of a plan: what it costs beside No Share and Shared, and each query's part of that.

What queries use together they pay for equally: the shared partial stage by all queries of a scan, a tree's own base by
the queries of the tree. Folding is paid for in proportion to what each query's folding would cost alone. So the parts
add up to the plan's cost, and what is saved adds up to No Share less the plan. A query can save less than nothing:
others' edges cut its slices finer than it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.cost.model import Pricing, SparkModel
from weft.model.edges import Density
from weft.model.plan import Scan, SharedPlan
from weft.model.window import Window
from weft.model.workload import BoundQuery
from weft.optimize.groupings import Sizes
from weft.optimize.plan import Projection, problem_of, scan_key, share_key
from weft.optimize.problem import Groups, PlanCost, Problem, TreeCost, price_groups, union_density
from weft.optimize.share_all import share_all
from weft.slicing import find_slicer


@dataclass(frozen=True)
class Share:
    """One query's part of a plan's cost, and what the query would cost alone."""

    part: float
    alone: float

    @property
    def saved(self) -> float:
        """What sharing saves the query."""
        return self.alone - self.part


@dataclass(frozen=True)
class CostBreakdown:
    """A plan's cost, what No Share and Shared of the same queries cost, and a share for each query, by number."""

    cost: PlanCost
    no_share: float
    shared: float
    shares: tuple[Share, ...]


def break_down(problem: Problem, groups: Groups, factor: float = 1.0) -> CostBreakdown:
    """The account of a grouping; `factor` turns the model's unit into one for people.

    No Share and Shared read the source in every tree, also where the plan's trees share one partial stage.
    """
    apart = replace(problem, shared=False)
    alone, cost = costs_alone(replace(apart, model=problem.model.alone())), price_groups(problem, groups)
    everyone = (tuple(range(len(problem.windows))),)
    same = not problem.shared and len(groups) == 1
    shared = cost.total if same else price_groups(apart, everyone).total
    shares = tuple(Share(part * factor, one.total * factor)
                   for part, one in zip(split_cost(problem, cost, alone), alone, strict=True))
    return CostBreakdown(scale_cost(cost, factor), sum(one.total for one in alone) * factor, shared * factor, shares)


def costs_alone(apart: Problem) -> tuple[PlanCost, ...]:
    """What each query costs as the only one; equal windows are priced once."""
    priced: dict[Window, PlanCost] = {}
    for i, window in enumerate(apart.windows):
        if window not in priced:
            priced[window] = price_groups(apart, ((i,),))
    return tuple(priced[window] for window in apart.windows)


def split_cost(problem: Problem, cost: PlanCost, alone: Sequence[PlanCost]) -> list[float]:
    """Each query's part of a plan's cost."""
    parts = [problem.pricing.once / len(problem.windows)] * len(problem.windows)
    for tree in cost.trees:
        for query, part in tree_parts(tree, problem.pricing, [alone[q].final for q in tree.queries]):
            parts[query] += part
    return parts


def tree_parts(tree: TreeCost, pricing: Pricing, folds: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Each query's part of its tree: an equal one of the base, and of the folding as its own would have it."""
    base, size, whole = float(pricing.base(float(tree.edge_rate.value))), len(folds), sum(folds)
    for query, fold in zip(tree.queries, folds, strict=True):
        # Windows of a single slice fold nothing alone (001 Eq. 4); then all pay the same.
        weight = fold / whole if whole else 1 / size
        yield query, base / size + (tree.cost - base) * weight


def scale_cost(cost: PlanCost, factor: float) -> PlanCost:
    """The same cost in another unit."""
    trees = tuple(replace(tree, cost=tree.cost * factor) for tree in cost.trees)
    return PlanCost(cost.total * factor, cost.partial * factor, cost.final * factor, trees)


def plain_rate(rate: Density, ticks: int) -> dict[str, Any]:
    """An edge rate per unit of time that has so many ticks, and whether it was counted or sampled."""
    return {"edge_rate": tidy(float(rate.value * ticks)), "edge_rate_exact": rate.exact,
            "edge_rate_error": tidy(rate.error * ticks)}


def plain_share(share: Share) -> dict[str, float]:
    """One query's share as plain values."""
    return {"cost": tidy(share.part), "alone": tidy(share.alone), "saved": tidy(share.saved)}


def plain_costs(found: CostBreakdown) -> dict[str, float]:
    """A plan's cost and its extremes as plain values."""
    return {"cost": tidy(found.cost.total), "partial_cost": tidy(found.cost.partial),
            "final_cost": tidy(found.cost.final), "no_share_cost": tidy(found.no_share),
            "shared_cost": tidy(found.shared)}


def tidy(value: float) -> float:
    """A number without the last digits, which only rounding put there."""
    return float(f"{value:.12g}")


@dataclass(frozen=True)
class ScanBreakdown:
    """The account of one scan in seconds for the whole span, its queries numbered tree by tree.

    `known` says how its sizes are known: measured, sampled or assumed. `derived` is what it saves that its slices are
    made of another grouping's; None where it reads the source.
    """

    model: SparkModel
    known: str
    edge_rate: Density
    account: CostBreakdown
    derived: float | None = None


@dataclass(frozen=True)
class PlanBreakdown:
    """The accounts of a plan's scans, in order; `shared` is one tree for all queries that could share a scan."""

    scans: tuple[ScanBreakdown, ...]
    shared: float

    @property
    def cost(self) -> float:
        """The whole plan."""
        return sum(scan.account.cost.total for scan in self.scans)

    @property
    def no_share(self) -> float:
        """Every query alone."""
        return sum(scan.account.no_share for scan in self.scans)


def break_down_plan(plan: SharedPlan, model: Callable[[BoundQuery], SparkModel], projection: Projection,
                    measured: Container[tuple] = (), sizes: Sizes | None = None,
                    sampled: Container[tuple] = ()) -> PlanBreakdown:
    """The account of a plan under the model of each scan; `measured` holds the keys of scans whose source was read,
    `sampled` source, time and keys of those that were looked at."""
    def known(scan: Scan) -> str:
        query = scan.head.query
        if scan.trees and scan_key(scan.head) in measured:
            return "measured"
        return "sampled" if (query.source, query.time, frozenset(scan.keys)) in sampled else "assumed"

    accounts = tuple(found for scan in plan.scans
                     for found in break_down_nodes(scan, lambda s: model_of(s, model, sizes), projection, known))
    groups: dict[tuple, list[int]] = {}
    for i, node in enumerate(plan.nodes):
        if node.trees:
            groups.setdefault(share_key(node.head), []).append(i)
    shared = sum(shared_cost(plan, accounts, found, projection) for found in groups.values())
    return PlanBreakdown(accounts, shared)


def model_of(scan: Scan, model: Callable[[BoundQuery], SparkModel], sizes: Sizes | None) -> SparkModel:
    """What a scan is priced with: as its queries say, or by its keys where nobody asks for those."""
    found = model(scan.head)
    if scan.derived:
        known = sizes(scan, scan.keys) if sizes and not scan.trees else found
        found = replace(found, keys=known.keys, components=len(scan.components))
    return replace(found, predicates=len(scan.predicates))


def break_down_nodes(scan: Scan, model: Callable[[Scan], SparkModel], projection: Projection,
                     known: Callable[[Scan], str], feed: float | None = None) -> list[ScanBreakdown]:
    """The accounts of a scan and of all that are derived from it, which share what a scan without queries costs."""
    slicer = find_slicer(scan.slicer)
    rate = union_density(tuple({slicer.each(w) for w in scan.cut_for}), slicer)
    mine = replace(model(scan), fine=float(rate.value) if scan.derived else 0.0, feed=feed)
    found = break_down_scan(scan, mine, rate, projection, known(scan))
    slices = float(mine.slices(float(rate.value)))
    below = [each for child in scan.derived for each in break_down_nodes(child, model, projection, known, slices)]
    if not scan.trees:
        below = [add_charge(each, found.account.cost.total / len(scan.served)) for each in below]
    return [found, *below]


def add_charge(found: ScanBreakdown, extra: float) -> ScanBreakdown:
    """The account with something more for each query to pay."""
    shares = tuple(replace(share, part=share.part + extra) for share in found.account.shares)
    return replace(found, account=replace(found.account, shares=shares))


def break_down_scan(scan: Scan, model: SparkModel, rate: Density, projection: Projection, known: str) -> ScanBreakdown:
    """One scan, priced as it is: trees that share its partial stage, or a tree of its own."""
    reading = float(model.scan(float(rate.value)))
    saved = None
    if model.feed is not None:
        saved = (float(replace(model, feed=None).scan(float(rate.value))) - reading) * model.span
    if not scan.trees:
        whole = reading * model.span
        return ScanBreakdown(model, known, rate, CostBreakdown(PlanCost(whole, whole, 0.0, ()), 0.0, whole, ()), saved)
    apart = problem_of(scan.queries, share_all, model, projection, find_slicer(scan.slicer))
    problem = replace(apart, shared=len(scan.trees) > 1)
    groups, done = [], 0
    for tree in scan.trees:
        groups.append(tuple(range(done, done + len(tree.queries))))
        done += len(tree.queries)
    return ScanBreakdown(model, known, rate, break_down(problem, tuple(groups), model.span), saved)


def shared_cost(plan: SharedPlan, accounts: Sequence[ScanBreakdown], scans: Sequence[int],
                projection: Projection) -> float:
    """What one tree costs for all queries of scans that could be one."""
    model = accounts[scans[0]].model
    if len(scans) == 1:
        return accounts[scans[0]].account.shared
    queries = [b for i in scans for b in plan.nodes[i].queries]
    problem = problem_of(queries, share_all, model, projection, find_slicer(plan.nodes[scans[0]].slicer))
    return price_groups(problem, (tuple(range(len(queries))),)).total * model.span
