"""Merge: one slice of several, column by column, so that the distant past of a stream is kept in few of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates.component import Component
from weft.aggregates.monoid import MAX, MIN
from weft.final.fold.decimals import join_limbs, split_limbs
from weft.final.fold.lanes import OVERFLOW, encode_lane, fill_identity, lost_sums, ranked_lane, raw_values, validity

COUNTED = ("comoments", "moments2", "moments3", "moments4")  # their first column counts the values
BY = {"min_by": MIN, "max_by": MAX}
FOLDED = ("count", "add", "mean", "min", "max", "bit_and", "bit_or", "bit_xor", *BY, *COUNTED)


def is_mergeable(component: Component) -> bool:
    """Whether several slices of a component can be one: bags would not shrink, and a user's rows are his own."""
    return component.monoid in FOLDED and not component.defined


def merge_columns(component: Component, columns: Sequence[pa.Array], order: np.ndarray, first: np.ndarray,
                  ansi: bool) -> list[pa.Array] | None:
    """A component's columns with one value a run of slices, or None where a sum would not fit its type.

    `order` sorts the slices, and run i spans `first[i]` up to `first[i + 1]` of them.
    """
    if component.monoid in BY:
        return merge_chosen(component, columns, order, first)
    if component.monoid in COUNTED:
        return merge_moments(component, columns, order, first)
    if pa.types.is_decimal(columns[0].type) and component.monoid in ("add", "mean"):
        return merge_decimals(columns, order, first)
    lane = encode_lane(component, columns, pa.null(), ansi).ordered(order)
    (values,), marks = lane.decode(lane.monoid.reduce_runs(lane.state, first))
    if marks is not None and (marks == OVERFLOW).any():
        return None
    return [values if lane.valid is None else masked(values, np.logical_or.reduceat(lane.valid, first))]


def merge_chosen(component: Component, columns: Sequence[pa.Array], order: np.ndarray,
                 first: np.ndarray) -> list[pa.Array]:
    """The rows that min_by and max_by choose."""
    lane = ranked_lane(columns[0], columns[1], BY[component.monoid])
    chosen = lane.monoid.reduce_runs((lane.state[0][order],), first)[0] % max(len(order), 1)
    if lane.valid is not None:
        chosen = np.where(np.logical_or.reduceat(lane.valid[order], first), chosen, order[first])
    return [column.take(pa.array(chosen)) for column in columns]


def merge_moments(component: Component, columns: Sequence[pa.Array], order: np.ndarray,
                  first: np.ndarray) -> list[pa.Array]:
    """Counts, means and central moments of runs."""
    lane = encode_lane(component, columns, pa.null(), True).ordered(order)
    count, *moments = lane.monoid.reduce_runs(lane.state, first)
    return [pa.array(count.astype(np.int64)), *map(pa.array, moments)]


def merge_decimals(columns: Sequence[pa.Array], order: np.ndarray, first: np.ndarray) -> list[pa.Array] | None:
    """Sums of decimals and the counts beside them, if every sum is there and fits."""
    if lost_sums(columns).any():
        return None
    valid = validity(columns[0])
    limbs = [np.add.reduceat(fill_identity(limb, valid, 0)[order], first) for limb in split_limbs(columns[0])]
    values, fits = join_limbs(limbs, columns[0].type)
    counts = np.add.reduceat(raw_values(columns[1], np.dtype(np.int64))[order], first)
    return [masked(values, counts > 0), pa.array(counts)] if fits.all() else None


def masked(values: pa.Array, there: np.ndarray) -> pa.Array:
    """The values with null wherever there is none."""
    if there.all():
        return values
    place = np.arange(len(values))
    return values.take(pa.array(place, mask=~there))
