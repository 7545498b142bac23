"""Optimizers: which queries share which scan and tree. To add one: one file and one line; from outside, an
`Optimizer` of your own."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.cheapest import cheapest
from weft.optimize.exhaustive import exhaustive
from weft.optimize.insert_then_weave import insert_then_weave
from weft.optimize.local_search import local_search
from weft.optimize.no_share import no_share
from weft.optimize.random_share import random_share
from weft.optimize.share_all import share_all
from weft.optimize.tri_weave import tri_weave
from weft.optimize.weave_share import weave_share

# The default and the papers' own. The default stands first; the oracle, which tries everything, last.
OPTIMIZERS: tuple[Optimizer, ...] = (
    cheapest,
    tri_weave,
    weave_share,
    share_all,
    no_share,
    random_share,
    insert_then_weave,
    local_search,
    exhaustive,
)

# The same, each followed by its variants.
EVERY_OPTIMIZER: tuple[Optimizer, ...] = tuple(one for o in OPTIMIZERS for one in (o, *o.variants))

__all__ = ["EVERY_OPTIMIZER", "OPTIMIZERS", "Optimizer"]
