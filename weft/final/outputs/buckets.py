"""Buckets of time: the rows of a query by when their windows end, so that some can be made again without the others.

A new slice changes the windows that hold it. These end within a range after it: only their buckets are made again, out
of the slices that their windows reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from weft.model.spans import Spans, join_spans
from weft.model.window import Window

# A query's history is cut into about so many buckets when it is first written; then they stay as long as they are.
BUCKETS = 16


@dataclass(frozen=True)
class TimeBuckets:
    """The windows of a query by the time that they end, in buckets of one `length`, a multiple of the slide; bucket b
    has those that end in [b · length, (b + 1) · length). `made` are those that are made now, None for all."""

    window: Window
    length: int
    made: tuple[int, ...] | None = None

    @property
    def reach(self) -> Spans | None:
        """Where the slices start that the buckets' windows hold, None for anywhere."""
        if self.made is None:
            return None
        return join_spans((number * self.length - self.window.range, (number + 1) * self.length)
                          for number in self.made)


def bucket_length(window: Window, history: int) -> int:
    """How long the buckets of a query should be, by how long a time its slices cover: not shorter than its windows, for
    a new slice changes all that end within a range after it."""
    return window.slide * -(-max(window.range, history // BUCKETS) // window.slide)


def touched_buckets(window: Window, length: int, spans: Spans) -> tuple[int, ...]:
    """The buckets with a window that holds a slice which starts within the spans."""
    found: set[int] = set()
    for low, high in spans:
        ends = window_ends(window, low, high)
        if ends:
            found.update(range(ends[0] // length, ends[-1] // length + 1))
    return tuple(sorted(found))


def count_touched(window: Window, length: int, spans: Spans) -> int:
    """About how many buckets are touched, without naming each."""
    every = (window_ends(window, low, high) for low, high in spans)
    return sum(ends[-1] // length - ends[0] // length + 1 for ends in every if ends)


def window_ends(window: Window, low: int, high: int) -> range:
    """When those windows end that hold a moment of [low, high)."""
    phase = (window.start + window.range) % window.slide
    first = low + 1 + (phase - low - 1) % window.slide
    return range(first, high + window.range, window.slide)


def join_reaches(buckets: Iterable[TimeBuckets]) -> Spans | None:
    """Where the slices start that any of some buckets needs, None for anywhere."""
    reaches = [each.reach for each in buckets]
    return None if None in reaches else join_spans(span for reach in reaches if reach for span in reach)
