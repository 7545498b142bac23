"""Arrow batches that a worker holds at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def hold_batches(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[list[pa.RecordBatch]]:
    """Batches with rows, as many at a time as are not much more than so many bytes together."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size > most:
            yield held
            held, size = [], 0
    if held:
        yield held
