"""What every optimizer is: a card and a function from a problem to groups of queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from weft.optimize.problem import Groups, Problem


@dataclass(frozen=True)
class Optimizer:
    """An optimizer: `group` says which queries share a tree; `shared`, whether trees share one partial stage.

    `most` is the largest number of queries it takes; `across` says that scans of different predicates may be joined,
    and that coarser groupings may read the slices of finer ones. `variants` are the same with an option of its search,
    named `optimizer:option`.
    """

    name: str
    title: str
    about: str
    paper: str
    group: Callable[[Problem], Groups]
    shared: bool = False
    most: int | None = None
    across: bool = False
    variants: tuple[Optimizer, ...] = ()
