"""Insert-then-Weave: each query in turn joins the tree it weaves best with; then trees merge (000 §6)."""

from __future__ import annotations

from dataclasses import replace

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem, TreeUnderWork
from weft.optimize.weaving import weave_trees


def group(problem: Problem) -> Groups:
    """Queries in the order they come."""
    each = replace(problem, by_query=True)
    trees: list[TreeUnderWork] = []
    for query in range(len(each.kinds)):
        insert(each, trees, each.leaf(query))
    return each.groups(weave_trees(each, trees))


def insert(problem: Problem, trees: list[TreeUnderWork], leaf: TreeUnderWork) -> None:
    """The leaf joins the tree with which it gains most, or stands alone if it gains with none."""
    merged = [problem.merge(tree, leaf) for tree in trees]
    gains = [tree.cost + leaf.cost - new.cost for tree, new in zip(trees, merged, strict=True)]
    best = max(range(len(trees)), key=gains.__getitem__, default=None)
    if best is not None and gains[best] > 0:
        trees[best] = merged[best]
    else:
        trees.append(leaf)


insert_then_weave = Optimizer(
    "insert_then_weave", "Insert-then-Weave", "Each query joins the tree it weaves best with; then trees are merged.",
    "000 §6", group,
)
