"""Weave Share: greedy merging of trees that weave well, each with a partial stage of its own (000 §5.1)."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem
from weft.optimize.weave_plain import weave_plain
from weft.optimize.weave_polish import weave_polish
from weft.optimize.weaving import weave


def group(problem: Problem) -> Groups:
    """Queries of equal edges together first, then the merge that gains most, again and again."""
    return problem.groups(weave(problem))


weave_share = Optimizer(
    "weave_share", "Weave Share", "Merges the two trees whose merging gains most until none gains; every tree reads "
    "the source itself.", "000 §5.1", group, variants=(weave_polish, weave_plain),
)
