"""Incremental Weave Share in a stream that runs: a query joins the tree where it costs least, or leaves (000 §5.2).

Slices that are cut and kept stay as they are, so a query moves within the groupings that there are. One that leaves
stays behind as a ghost of its scan where its window, predicate or columns gave the slices their shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from weft.model.plan import Scan, SharedPlan, Tree
from weft.model.workload import BoundQuery
from weft.optimize.insert_then_weave import insert
from weft.optimize.plan import Projection, problem_of
from weft.optimize.predicates import ModelOf
from weft.optimize.problem import Problem
from weft.optimize.tri_weave import tri_weave
from weft.optimize.weaving import weave
from weft.slicing import find_slicer


def remove_query(plan: SharedPlan, name: str, ghost: str) -> SharedPlan:
    """The plan without a query, which its scan keeps under the name of a ghost."""
    return replace(plan, scans=tuple(leave_scan(scan, name, ghost) for scan in plan.scans))


def remove_empty(plan: SharedPlan) -> SharedPlan:
    """The plan without scans of which no query is left."""
    return replace(plan, scans=tuple(scan for scan in plan.scans if is_asked(scan)))


def is_asked(scan: Scan) -> bool:
    """Whether a query reads a scan's slices."""
    return any(node.trees for node in scan.nodes)


def leave_scan(scan: Scan, name: str, ghost: str) -> Scan:
    """A scan of which a query is a ghost from now on, if it is one of its own."""
    gone = tuple(bound for node in scan.nodes for bound in node.queries if bound.query.name == name)
    if not gone:
        return scan
    ghosts = (*scan.ghosts, *(replace(bound, query=replace(bound.query, name=ghost)) for bound in gone))
    return replace(leave_node(scan, name), ghosts=ghosts, union=scan.keys)


def leave_node(scan: Scan, name: str) -> Scan:
    """A scan and those derived from it without a query, and without trees and groupings that nobody asks for."""
    trees = (Tree(tuple(b for b in tree.queries if b.query.name != name)) for tree in scan.trees)
    derived = (leave_node(child, name) for child in scan.derived)
    return replace(scan, trees=tuple(tree for tree in trees if tree.queries),
                   derived=tuple(child for child in derived if is_asked(child)))


def without_ghosts(scan: Scan, takes: Callable[[Scan], bool]) -> Scan:
    """A scan without those of its ghosts that its slices do not miss, as far as its state takes that."""
    for ghost in scan.ghosts:
        fewer = replace(scan, ghosts=tuple(each for each in scan.ghosts if each is not ghost))
        typed = {key for bound in fewer.served for key in bound.query.keys}
        if typed.issuperset(scan.keys) and takes(fewer):
            scan = fewer
    return scan


def join_candidates(plan: SharedPlan, bound: BoundQuery, model: ModelOf,
                    projection: Projection) -> Iterator[tuple[int, SharedPlan]]:
    """Plans in which a query joins a grouping that there is, each with the place of its scan."""
    for place, scan in enumerate(plan.scans):
        for node in scan.nodes:
            if groups_alike(scan, node, bound):
                joined = replace_node(scan, node, join_tree(node, bound, model, projection))
                yield place, replace(plan, scans=(*plan.scans[:place], joined, *plan.scans[place + 1:]))


def groups_alike(scan: Scan, node: Scan, bound: BoundQuery) -> bool:
    """Whether a query reads the rows of a scan by time, and groups them as a node of it."""
    ours, query = scan.head.query, bound.query
    same = (ours.source, ours.time, node.keys) == (query.source, query.time, query.keys)
    return same and not scan.counts_rows and not query.window.counts_rows


def replace_node(scan: Scan, old: Scan, new: Scan) -> Scan:
    """A scan with another node in place of one."""
    if scan is old:
        return new
    return replace(scan, derived=tuple(replace_node(child, old, new) for child in scan.derived))


def join_tree(node: Scan, bound: BoundQuery, model: ModelOf, projection: Projection) -> Scan:
    """A grouping with one more query, in the tree with which it gains most, or in one of its own."""
    queries = (*node.queries, bound)
    problem = tree_problem(node, queries, model, projection)
    trees, done = [], 0
    for tree in node.trees:
        trees.append(problem.grown(range(done, done + len(tree.queries))))
        done += len(tree.queries)
    insert(problem, trees, problem.leaf(done))
    return replace(node, trees=tuple(Tree(tuple(queries[i] for i in sorted(tree.kinds))) for tree in trees))


def reweave_trees(plan: SharedPlan, model: ModelOf, projection: Projection) -> SharedPlan:
    """The plan with the queries of each grouping woven anew; what is cut and kept stays."""
    return replace(plan, scans=tuple(reweave_node(scan, model, projection) for scan in plan.scans))


def reweave_node(node: Scan, model: ModelOf, projection: Projection) -> Scan:
    """A grouping, and those derived from it, with trees woven anew."""
    derived, queries = tuple(reweave_node(child, model, projection) for child in node.derived), node.queries
    if not queries or node.counts_rows:
        return replace(node, derived=derived)
    problem = replace(tree_problem(node, queries, model, projection), by_query=False)
    trees = tuple(Tree(tuple(queries[i] for i in group)) for group in problem.groups(weave(problem)))
    return replace(node, trees=trees, derived=derived)


def tree_problem(node: Scan, queries: tuple[BoundQuery, ...], model: ModelOf, projection: Projection) -> Problem:
    """The problem of queries whose trees share the slices of a grouping."""
    problem = problem_of(queries, tri_weave, model(queries[0]), projection, find_slicer(node.slicer))
    return replace(problem, by_query=True)


def expected_cost(curve: tuple[tuple[int, float], ...], queries: int) -> float | None:
    """The cost that the slope of the last two plans made from scratch foretells (000 §5.2.1), or one through the
    origin; None where there is no such plan."""
    if not curve:
        return None
    (n1, c1), (n0, c0) = curve[-1], curve[-2] if len(curve) > 1 else (0, 0.0)
    slope = (c1 - c0) / (n1 - n0) if n1 != n0 else c1 / max(n1, 1)
    return max(c1 + slope * (queries - n1), 0.0)


def drift_of(cost: float, curve: tuple[tuple[int, float], ...], queries: int) -> float | None:
    """By how much a plan costs more than is expected of as many queries (000 Eq. 6)."""
    expected = expected_cost(curve, queries)
    return None if not expected else cost / expected - 1
