"""Bags: how the values of slices become answers that do not fold. One kernel a file; one line adds one."""

from __future__ import annotations

from weft.final.bags.bag import Bag, BagKernel, BagLane
from weft.final.bags.envelope import envelope
from weft.final.bags.gather import gather_lists, gather_sets
from weft.final.bags.registers import registers
from weft.final.bags.repeats import repeats
from weft.final.bags.wavelet import wavelet_percentile, wavelet_rank

KERNELS: tuple[BagKernel, ...] = (
    repeats,
    wavelet_percentile,
    wavelet_rank,
    envelope,
    gather_lists,
    gather_sets,
    registers,
)
BY_MONOID = {kernel.monoid: kernel for kernel in KERNELS}

__all__ = ["BY_MONOID", "KERNELS", "Bag", "BagLane", "Kernel"]
