"""Final aggregation: how slices become answers. One algorithm a file; the naive one, the oracle, stands last."""

from __future__ import annotations

from weft.final.algorithms.b_int import b_int
from weft.final.algorithms.base import Algorithm, Card, CombineBound
from weft.final.algorithms.binary import binary
from weft.final.algorithms.block import block
from weft.final.algorithms.block_jit import block_jit
from weft.final.algorithms.chain import chain
from weft.final.algorithms.daba import daba
from weft.final.algorithms.disjoint import disjoint
from weft.final.algorithms.doubling import doubling
from weft.final.algorithms.flat_fat import flat_fat
from weft.final.algorithms.flat_fit import flat_fit
from weft.final.algorithms.panes_inv import panes_inv
from weft.final.algorithms.prefix import prefix
from weft.final.algorithms.recalc import recalc
from weft.final.algorithms.slick_deque import slick_deque
from weft.final.algorithms.slick_deque_inv import slick_deque_inv
from weft.final.algorithms.two_stacks import two_stacks

ALGORITHMS: tuple[Algorithm, ...] = (
    prefix,
    doubling,
    chain,
    binary,
    disjoint,
    block,
    block_jit,
    panes_inv,
    slick_deque_inv,
    slick_deque,
    two_stacks,
    daba,
    flat_fit,
    b_int,
    flat_fat,
    recalc,
)

__all__ = ["ALGORITHMS", "Algorithm", "Card", "CombineBound"]
