"""Kernels that fold cells into windows: arrays and ints in, arrays out. The naive one, the oracle, stands last."""

from __future__ import annotations

from weft.final.binary import binary
from weft.final.chain import chain
from weft.final.choose import Kernel, choose
from weft.final.doubling import doubling
from weft.final.prefix import prefix
from weft.final.recalc import recalc

KERNELS: tuple[Kernel, ...] = (prefix, doubling, chain, binary, recalc)

__all__ = ["KERNELS", "Kernel", "binary", "chain", "choose", "doubling", "prefix", "recalc"]
