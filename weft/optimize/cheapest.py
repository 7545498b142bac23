"""Cheapest: the queries in one tree, or woven into trees that each read the source, whichever costs less."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem, price_groups
from weft.optimize.share_all import share_all
from weft.optimize.weave_polish import weave_polish


def group(problem: Problem) -> Groups:
    """One tree wherever weaving is not cheaper."""
    if len(problem.windows) == 1:  # there is nothing to weave, and of a thousand predicates each is such a problem
        return share_all.group(problem)
    return min((o.group(problem) for o in (share_all, weave_polish)),
               key=lambda groups: price_groups(problem, groups).total)


cheapest = Optimizer(
    "cheapest", "Cheapest", "All queries in one tree, or Weave Share's trees, each with a scan of its own: whichever "
    "costs less.", "beyond the papers", group, across=True,
)
