"""Optimizers: which queries share which scan and tree. To add one: one file and one line."""

from __future__ import annotations

from weft.optimize.base import Optimizer
from weft.optimize.cheapest import cheapest
from weft.optimize.exhaustive import exhaustive
from weft.optimize.insert_then_weave import insert_then_weave
from weft.optimize.local_search import LOCAL_SEARCHES
from weft.optimize.no_share import no_share
from weft.optimize.random_share import random_share
from weft.optimize.share_all import share_all
from weft.optimize.tri_weave import tri_weave
from weft.optimize.weave_plain import weave_plain
from weft.optimize.weave_polish import weave_polish
from weft.optimize.weave_share import weave_share

# The default stands first; the oracle, which tries everything, last.
OPTIMIZERS: tuple[Optimizer, ...] = (
    cheapest,
    tri_weave,
    weave_share,
    weave_polish,
    share_all,
    no_share,
    random_share,
    insert_then_weave,
    weave_plain,
    *LOCAL_SEARCHES,
    exhaustive,
)

__all__ = ["OPTIMIZERS", "Optimizer"]
