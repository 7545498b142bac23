"""One slice of several in a worker, so that the distant past of a stream is kept in few of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates.monoids.base import Encode, Merge, Order
from weft.aggregates.monoids.lanes import OVERFLOW


def merge_values(encode: Encode) -> Merge:
    """The merge of a monoid whose only column is its answers' value."""

    def merge(columns: Sequence[pa.Array], order: Order, first: np.ndarray, ansi: bool) -> list[pa.Array] | None:
        lane = encode(columns, pa.null(), ansi).ordered(order)
        (values,), marks = lane.decode(lane.operation.reduce_runs(lane.state, first))
        if marks is not None and (marks == OVERFLOW).any():
            return None
        return [values if lane.valid is None else masked(values, np.logical_or.reduceat(lane.valid, first))]

    return merge


def masked(values: pa.Array, there: np.ndarray) -> pa.Array:
    """The values with null wherever there is none."""
    if there.all():
        return values
    place = np.arange(len(values))
    return values.take(pa.array(place, mask=~there))
