"""The memory of a worker: what is freed is used again instead of given back to the system and asked for anew."""

from __future__ import annotations

import pyarrow as pa


def reuse_memory() -> None:
    """Let Arrow take memory from the C library, as NumPy does.

    Arrow's own pools give large arrays back at once, and the next one costs a page fault for every 4 KiB: half of the
    processor time of a worker's first million rows (docs/benchmarks/demo_queries.md).
    """
    pa.set_memory_pool(pa.system_memory_pool())
