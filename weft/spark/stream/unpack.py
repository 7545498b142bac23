"""Answers out of their bytes, in the workers of a trigger.

Over Spark Connect a trigger has a session of its own, whose workers get none of the files that were shipped. So Spark
sends this module whole, and it imports nothing of Weft.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def unpack_answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answers that rows of bytes hold."""
    for batch in batches:
        for data in batch.column(0):
            yield from pa.ipc.open_stream(data.as_buffer())
