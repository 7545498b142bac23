"""Random arrivals: the rows of a table as a stream brings them, out of order, in bursts, some far too late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np


@dataclass(frozen=True)
class Arrivals:
    """What comes, trigger by trigger, as files of rows; `on_time` are the rows that count, `late` those that do not."""

    triggers: tuple[tuple[tuple[tuple, ...], ...], ...]
    on_time: tuple[tuple, ...]
    late: int


def arrive(rows: Sequence[tuple], delay: timedelta, seed: int, triggers: int = 4) -> Arrivals:
    """Rows, their first field being their time or null, that come up to `delay` out of order; and some that are later.

    The rows that are too late come after all others, with times before the first trigger's.
    """
    rng = np.random.default_rng(seed)
    timed = [row for row in rows if row[0] is not None]
    order = sorted(timed, key=lambda row: row[0] + delay * rng.random())
    cuts = np.sort(rng.integers(0, len(order) + 1, triggers - 1)).tolist()
    parts = [tuple(order[a:b]) for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]
    newest = max((row[0] for row in timed), default=None)
    old = [row for row in timed if newest and row[0] < newest - 2 * delay - timedelta(seconds=5)]
    late = [old[i] for i in rng.integers(0, len(old), min(len(old), 5))] if old else []
    untimed = [row for row in rows if row[0] is None]
    files = [files_of(part, rng) for part in parts] + [files_of((*late, *untimed), rng)]
    return Arrivals(tuple(files), tuple(order), len(late))


def files_of(part: tuple[tuple, ...], rng: np.random.Generator) -> tuple[tuple[tuple, ...], ...]:
    """The rows of a trigger in one file or several."""
    count = int(rng.integers(1, 4))
    return tuple(part[i::count] for i in range(count) if part[i::count])


def marker(rows: Sequence[tuple], after: timedelta) -> tuple:
    """A row so much later than all others that the watermark closes their windows."""
    last: datetime = max(row[0] for row in rows if row[0] is not None)
    first = next(row for row in rows if row[0] is not None)
    return (last + after, *first[1:])
