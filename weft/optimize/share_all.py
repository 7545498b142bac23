"""Shared: all queries of a scan share one tree (000 §4.1, shared time slices)."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem


def group(problem: Problem) -> Groups:
    """All together."""
    return (tuple(range(len(problem.windows))),)


share_all = Optimizer("share_all", "Shared", "All queries share one tree.", "000 §4.1", group, across=True)
