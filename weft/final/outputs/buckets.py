"""Buckets of time: the rows of a query by when their windows end, so that some can be made again without the others.

A new slice changes the windows that hold it. These end within a range after it: only their buckets are made again, out
of the slices that their windows reach. Rows mostly come in the order of time, so the windows that hold the newest slice
have a bucket of their own, the live one; those that are over lie in a few long ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from weft.model.spans import Spans, join_spans
from weft.model.window import Window

# Windows that end in [first · unit, end · unit).
Bucket = tuple[int, int]
# A history is cut into at most so many buckets beside the live one; a joined one has at most this part of all.
CLOSED = 7
# When a query has more buckets, short ones that lie before the live one are joined.
JOINED = 16


@dataclass(frozen=True)
class TimeBuckets:
    """The windows of a query by the time that they end, counted in a `unit` that is a multiple of the slide. `made` are
    the buckets that are made now, `whole` if there are no others."""

    window: Window
    unit: int
    made: tuple[Bucket, ...] = ()
    whole: bool = False

    @property
    def reach(self) -> Spans | None:
        """Where the slices start that the buckets' windows hold, None for anywhere."""
        if self.whole:
            return None
        return join_spans((first * self.unit - self.window.range, end * self.unit) for first, end in self.made)


def first_buckets(window: Window, history: tuple[int, int] | None) -> TimeBuckets:
    """The buckets of a query whose slices start from a first to a last moment, none where there are no slices: the live
    one and others of about one length, not shorter than a window."""
    if history is None:
        return TimeBuckets(window, window.slide, (), whole=True)
    begin, live = (window_ends(window, moment, moment + 1)[0] // window.slide for moment in history)
    end = window_ends(window, history[1], history[1] + 1)[-1] // window.slide + 1
    return TimeBuckets(window, window.slide, (*cut_evenly(begin, live, width(window)), (live, end)), whole=True)


def cut_evenly(begin: int, end: int, least: int) -> list[Bucket]:
    """A stretch of time in few pieces of about one length, which is at least so long if the stretch is."""
    count = min(CLOSED, max(1, (end - begin) // least))
    cuts = [begin + (end - begin) * i // count for i in range(count + 1)]
    return [piece for piece in pairwise(cuts) if piece[0] < piece[1]]


def next_buckets(buckets: TimeBuckets, kept: Sequence[Bucket], touched: Spans) -> tuple[Bucket, ...]:
    """The buckets to make where new slices touch some windows: kept ones that are touched, each whole, and windows in
    none of them. Where the latest windows are touched, those that hold the newest slice become the live bucket, and
    the bucket in which they begin ends there, so that what comes next will not touch it. No kept bucket is made in
    part."""
    kept, live, end = sorted(kept), *live_bucket(buckets, touched)
    if kept and end < kept[-1][1]:  # only windows that others follow
        live = end = kept[-1][1]
    closed = [(first, min(last, live)) for first, last in kept if first < live]
    made = [each for each in closed if each not in kept or overlaps(each, touched)]
    beside = [(max(first, a), min(last, b)) for first, last in touched for a, b in between(closed, live)]
    made = extend(made, [each for each in beside if each[0] < each[1]])
    after = [each for each in closed if each not in made and not overlaps(each, made)] + made
    return tuple(sorted(join_short(sorted(after), made) + ([(live, end)] if live < end else [])))


def live_bucket(buckets: TimeBuckets, touched: Spans) -> Bucket:
    """The windows that hold the newest slice, among those that are touched."""
    first, end = touched[-1]
    return max(first, end - width(buckets.window, buckets.unit)), end


def width(window: Window, unit: int = 0) -> int:
    """How many windows, or units of time with ends of windows, hold one moment at most."""
    return -(-window.range // (unit or window.slide))


def between(buckets: Sequence[Bucket], end: int) -> list[Bucket]:
    """What lies before, between and after buckets in order, up to an end."""
    edges = [(-(1 << 63), -(1 << 63)), *buckets, (end, end)]
    return [(a[1], b[0]) for a, b in pairwise(edges) if a[1] < b[0]]


def extend(made: Sequence[Bucket], beside: Sequence[Bucket]) -> list[Bucket]:
    """Buckets that are made, with windows that were in none: those that follow a bucket at once are put into it."""
    found = list(made)
    for first, end in beside:
        before = next((each for each in found if each[1] == first), None)
        if before:
            found.remove(before)
        found.append((before[0] if before else first, end))
    return found


def join_short(after: Sequence[Bucket], made: Sequence[Bucket]) -> list[Bucket]:
    """The buckets that are made, with the last ones of all joined where these are too many: a longer one before them
    stays, so each window is written again a few times in all."""
    if len(after) < JOINED:
        return list(made)
    most = (after[-1][1] - after[0][0]) // CLOSED
    first, end = after[-1]
    for low, high in reversed(after[:-1]):
        if high - low > 2 * (end - first) or end - low > most:
            break
        first = low
    return [each for each in made if each[0] < first] + [(first, end)] if first < after[-1][0] else list(made)


def overlaps(bucket: Bucket, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a bucket has something in common with a span."""
    return any(first < bucket[1] and bucket[0] < end for first, end in spans)


def touched_windows(window: Window, unit: int, spans: Spans) -> Spans:
    """When the windows end that hold a slice which starts within the spans, in units."""
    every = (window_ends(window, low, high) for low, high in spans)
    return join_spans((ends[0] // unit, ends[-1] // unit + 1) for ends in every if ends)


def window_ends(window: Window, low: int, high: int) -> range:
    """When those windows end that hold a moment of [low, high)."""
    phase = (window.start + window.range) % window.slide
    first = low + 1 + (phase - low - 1) % window.slide
    return range(first, high + window.range, window.slide)


def join_reaches(buckets: Iterable[TimeBuckets]) -> Spans | None:
    """Where the slices start that any of some buckets needs, None for anywhere."""
    reaches = [each.reach for each in buckets]
    return None if None in reaches else join_spans(span for reach in reaches if reach for span in reach)
