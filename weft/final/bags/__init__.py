"""Bags: how the values of slices become answers that do not fold. One kernel a file; one line adds one."""

from __future__ import annotations

from weft.aggregates.monoids import Monoid
from weft.errors import PlanError
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


def find_kernel(monoid: Monoid) -> BagKernel:
    """The kernel that a monoid of bags brings along, or the one that bears its name."""
    found = monoid.kernel or BY_MONOID.get(monoid.name)
    if found is None:
        raise PlanError(f"the monoid '{monoid}' keeps bags and no kernel answers from them: give it a `kernel`.")
    return found


__all__ = ["BY_MONOID", "KERNELS", "Bag", "BagKernel", "BagLane", "find_kernel"]
