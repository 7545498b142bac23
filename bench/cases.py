"""The bench's cases: which windows, and what is to be reached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from weft.model import Window

MINUTE = 60_000_000


@dataclass(frozen=True)
class Case:
    """Some windows over the same trades, and the targets: times one pass at most, times faster at least than Spark's
    own and than Spark by hand."""

    name: str
    text: str
    windows: tuple[Window, ...]
    passes: float | None = None
    spark: float | None = None
    polars: bool = False
    handwritten: float | None = None


def window(minutes: float, slide: int = 1) -> Window:
    """A window in minutes."""
    return Window(round(minutes * MINUTE), slide * MINUTE)


TEN = tuple(window(minutes) for minutes in (2, 5, 10, 20, 30, 60, 90, 120, 180, 240))
HUNDRED = tuple(window(minutes) for minutes in np.linspace(2, 240, 100).round())
ODD = tuple(
    window(minutes, slide)
    for slide, ranges in (
        (1, (1.5, 7.5, 30.5, 90.5)),
        (2, (5, 15, 45, 91)),
        (3, (4, 20, 61, 121)),
        (5, (7, 33, 77, 144)),
        (10, (15, 55, 125, 236)),
    )
    for minutes in ranges
)
CASES = (
    Case("a", "1 window: 60 min / 1 min", (window(60),), passes=1.6),
    Case("b", "10 windows: 2…240 min / 1 min", TEN, passes=2.2, spark=30, handwritten=7),
    Case("c", "100 windows: 2…240 min / 1 min", HUNDRED, passes=6.0, spark=300, polars=True, handwritten=50),
    Case("d", "20 windows: slides 1, 2, 3, 5, 10 min, ranges no multiples", ODD),
)
# What a hundred windows may take in a stock session, times one pass.
STOCK = 8.0
# Spark's own is run on these; the other windows are read off a line fitted through them. Shortest first: it warms up.
SAMPLED = (window(2), window(10), window(30), window(60), window(7.5), window(55, 10))
SAMPLED_QUICKLY = (window(2), window(10), window(55, 10))


def count_answers(path: Path, windows: tuple[Window, ...]) -> list[int]:
    """How many (symbol, window) pairs hold a row, by arithmetic on slices: the number that every engine must give."""
    table = pq.read_table(path, columns=["ts", "symbol"])
    micros = table["ts"].cast("int64").to_numpy()
    symbol = table["symbol"].combine_chunks().dictionary_encode().indices.to_numpy()
    size = int(np.gcd.reduce([micros for each in windows for micros in (each.range, each.slide)]))
    slot = micros // size
    first = int(slot.min())
    filled = np.zeros((symbol.max() + 1, int(slot.max()) - first + 2), dtype=np.int64)
    filled[symbol, slot - first + 1] = 1
    before = np.cumsum(filled, axis=1)
    return [_count(before, first, each.range // size, each.slide // size) for each in windows]


def _count(before: np.ndarray, first: int, width: int, step: int) -> int:
    """Windows of `width` slots that start at multiples of `step` and hold a filled slot; `before` counts those."""
    slots = before.shape[1] - 1
    starts = np.arange(-(-(first - width + 1) // step) * step, first + slots, step) - first
    low, high = np.clip(starts, 0, slots), np.clip(starts + width, 0, slots)
    return int((before[:, high] > before[:, low]).sum())
