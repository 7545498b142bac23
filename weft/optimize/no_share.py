"""No Share: every query has a tree of its own (000 §4.1)."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem


def group(problem: Problem) -> Groups:
    """Each query alone."""
    return tuple((i,) for i in range(len(problem.windows)))


no_share = Optimizer("no_share", "No Share", "Every query has a tree of its own.", "000 §4.1", group)
