"""Final aggregation: how slices become answers. One algorithm a file; the naive one, the oracle, stands last."""

from __future__ import annotations

from weft.final.b_int import b_int
from weft.final.base import Algorithm, Bound, Card, Feed, Kept, dense_feed
from weft.final.binary import binary
from weft.final.block import block
from weft.final.block_jit import block_jit
from weft.final.chain import chain
from weft.final.daba import daba
from weft.final.disjoint import disjoint
from weft.final.doubling import doubling
from weft.final.flat_fat import flat_fat
from weft.final.flat_fit import flat_fit
from weft.final.panes_inv import panes_inv
from weft.final.prefix import prefix
from weft.final.recalc import recalc
from weft.final.slick_deque import slick_deque
from weft.final.slick_deque_inv import slick_deque_inv
from weft.final.two_stacks import two_stacks

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

__all__ = ["ALGORITHMS", "Algorithm", "Bound", "Card", "Feed", "Kept", "dense_feed"]
