"""Open slices: what a window that ends inside a slice reads of it, where time is cut by Cutty (001 §2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from weft.aggregates.operation import Operation, State
from weft.model.edges import Progression


class OpenParts(NamedTuple):
    """At which steps a slice is open and holds rows, and the value of those rows."""

    step: np.ndarray
    values: State


def latest_cut(time: np.ndarray, cuts: Sequence[Progression]) -> np.ndarray:
    """The latest cut that is not after each time."""
    return np.max([time - (time - phase) % period for phase, period in cuts], axis=0)


def open_parts(time: np.ndarray, key: np.ndarray, values: State, cuts: Sequence[Progression], steps: np.ndarray,
               ends: np.ndarray, slide: int, operation: Operation) -> OpenParts:
    """The rows between the latest cut and the next end of windows, by the step of that end; `steps` are keys.

    Windows of one family end a slide apart and one of them begins in between, so no slice is open at two of its ends.
    """
    end = time - (time - ends[0]) % slide + slide
    mine = np.flatnonzero(time >= latest_cut(end, cuts))
    low, span = int(ends.min()), int(ends.max() - ends.min()) + 1
    step = np.searchsorted(steps * span + (ends - low), key[mine] * span + (end[mine] - low))
    order = np.argsort(step, kind="stable")
    step, mine = step[order], mine[order]
    first = np.flatnonzero(np.append(True, step[1:] != step[:-1])) if len(step) else np.zeros(0, np.int64)
    found = tuple(a[mine] for a in values)
    return OpenParts(step[first], operation.reduce_runs(found, first) if len(first) else found)


def with_open(closed: State, there: np.ndarray, parts: OpenParts, operation: Operation) -> tuple[State, np.ndarray]:
    """The values of steps with what is open at them, and where there are values now."""
    both = there[parts.step]
    joined = operation.combine(tuple(a[parts.step] for a in closed), parts.values)
    found = tuple(a.copy() for a in closed)
    for whole, new, alone in zip(found, joined, parts.values, strict=True):
        whole[parts.step] = np.where(both, new, alone)
    held = there.copy()
    held[parts.step] = True
    return found, held
