"""The past of a stream: which stretches of it are kept as slices, which as totals, and which of both a trigger reads.

Slices lie in blobs of equal spans of time. When a span is over, its slices are also merged into one a key, a total,
and totals lie in blobs of longer spans, and so on. A new answer then reads slices only about where its window begins;
what lies between there and now is read as few totals, however long the window is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from weft.model.window import Window

# How many slides a blob of slices spans, and how many blobs the one above it.
FAN = 16
WAITING = -1


@dataclass(frozen=True)
class Blob:
    """A stretch of the past: level 0 holds slices, level i one total for each blob of the level below, and level
    WAITING pieces of what is not past yet."""

    level: int
    number: int


class BlobStore(Protocol):
    """Where blobs are kept."""

    def get(self, blob: Blob) -> bytes | None:
        """A blob's bytes, if it is there."""

    def put(self, blob: Blob, data: bytes) -> None:
        """Keep a blob."""

    def remove(self, blob: Blob) -> None:
        """Forget a blob, if it is there."""


@dataclass(frozen=True)
class LevelReading:
    """A blob to read, and which of its parts: everything, or the totals of these blobs of the level below."""

    blob: Blob
    parts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class HistoryLevels:
    """The spans of blobs by level, for windows of some ranges; `reach` is the longest, `lag` the longest slice."""

    sizes: tuple[int, ...]
    reach: int
    lag: int
    ranges: tuple[int, ...]

    def number(self, level: int, moment: int) -> int:
        """The blob of a level that a moment lies in."""
        return moment // self.sizes[level]

    def is_over(self, blob: Blob, until: int) -> bool:
        """Whether no slice of a blob can still come: a slice may end after the blob in which it starts."""
        return (blob.number + 1) * self.sizes[blob.level] + self.lag <= until

    def forgotten(self, level: int, until: int) -> int:
        """The number before which no blob of a level is read by windows that end after `until`."""
        return (until - self.reach) // self.sizes[level]


def levels_for(windows: Sequence[Window], lag: int, merging: bool, kept: Sequence[int] = ()) -> HistoryLevels:
    """Levels that suit the windows: up to spans of which the longest window holds a few; one where none can merge.

    A stream whose windows have changed keeps the spans it was begun with, for its blobs lie in them."""
    ranges = tuple(sorted({w.range for w in windows}))
    sizes = list(kept if merging else kept[:1]) or [FAN * min(w.slide for w in windows)]
    while merging and 2 * sizes[-1] <= ranges[-1]:
        sizes.append(FAN * sizes[-1])
    return HistoryLevels(tuple(sizes), ranges[-1], lag, ranges)


def readings(levels: HistoryLevels, after: int, until: int) -> Iterator[LevelReading]:
    """What windows that end after `after` and not after `until` read of what was kept at `after`."""
    top = len(levels.sizes) - 1
    for number in range(levels.number(top, after - levels.reach), levels.number(top, after) + 1):
        yield from read_blob(levels, Blob(top, number), after, until)


def read_blob(levels: HistoryLevels, blob: Blob, after: int, until: int) -> Iterator[LevelReading]:
    """A blob's totals where no window begins within them, and the level below where one does."""
    if blob.level == 0:
        yield LevelReading(blob)
        return
    below, fan = blob.level - 1, levels.sizes[blob.level] // levels.sizes[blob.level - 1]
    low, high = levels.number(below, after - levels.reach), levels.number(below, after)
    children = [Blob(below, n) for n in range(max(blob.number * fan, low), min((blob.number + 1) * fan, high + 1))]
    whole = [child for child in children if levels.is_over(child, after) and not is_cut(levels, child, after, until)]
    if whole:
        yield LevelReading(blob, tuple(child.number for child in whole))
    for child in children:
        if child not in whole:
            yield from read_blob(levels, child, after, until)


def is_cut(levels: HistoryLevels, blob: Blob, after: int, until: int) -> bool:
    """Whether one of the windows begins within a blob."""
    size = levels.sizes[blob.level]
    low, high = blob.number * size, (blob.number + 1) * size
    return any(after - r < high and until - r > low for r in levels.ranges)
