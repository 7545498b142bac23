"""Random: as many trees as chance will have, and each query in any of them (000 §6)."""

from __future__ import annotations

from random import Random

from weft.optimize.base import Optimizer
from weft.optimize.problem import Groups, Problem


def group(problem: Problem) -> Groups:
    """A random number of trees; the seed decides."""
    random = Random(problem.seed)
    size = random.randint(1, len(problem.windows))
    trees: dict[int, list[int]] = {}
    for query in range(len(problem.windows)):
        trees.setdefault(random.randrange(size), []).append(query)
    return tuple(sorted(tuple(queries) for queries in trees.values()))


random_share = Optimizer("random_share", "Random", "Queries fall into random trees.", "000 §6", group)
