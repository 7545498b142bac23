"""What the buckets of a grouping hold of the past, after their windows and columns have changed while a stream ran.

A window that is added reads slices that were kept for others. They reach back as far as the longest window did, and a
column that is new has nothing before the rows that come next. So for each grouping it is known from when on its slices,
each column and each window are whole; windows that start earlier are not answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from weft.model.window import Window

NO_BOUNDS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Boundary:
    """The moment between two triggers at which a plan changes: the number of the next one, the watermark up to which
    windows were answered, and the highest event time that was seen, or more; both in microseconds."""

    trigger: int
    until: int
    seen: int


@dataclass(frozen=True)
class GroupingContent:
    """What a plan keeps of a grouping: the columns of its slices, and the windows that read them."""

    columns: frozenset[str]
    windows: frozenset[Window]


@dataclass(frozen=True)
class GroupingHistory:
    """Since when what a grouping keeps is whole.

    Slices that do not start before `whole` are all there, in blobs of these `sizes`; so is a column, where it is
    named, from a time on. A window that is named is answered where it ends after a time. None, or no name: always.
    """

    sizes: tuple[int, ...] = ()
    whole: int | None = None
    columns: Mapping[str, int] = field(default_factory=dict)
    windows: Mapping[str, int] = field(default_factory=dict)

    def first_start(self, window: Window, columns: Iterable[str]) -> int | None:
        """The earliest start of those windows that are whole, None where all are."""
        bounds = [self.columns[name] for name in columns if name in self.columns]
        bounds += [] if self.whole is None else [self.whole]
        after = self.windows.get(list_window(window))
        bounds += [] if after is None else [after - window.range + 1]
        return max(bounds, default=None)


def change_history(history: GroupingHistory, before: GroupingContent | None, now: GroupingContent,
                   at: Boundary | None, sizes: tuple[int, ...],
                   after: Mapping[str, int] = NO_BOUNDS) -> GroupingHistory:
    """The history of a grouping whose content changes at a boundary; nothing was kept where there was no trigger yet,
    and all of it is new where nothing was kept `before`. `after` has up to when windows that are new, as texts, were
    answered by queries that others replace."""
    windows = change_windows(history, before, now, at, after)
    if at is None:
        return GroupingHistory(sizes, windows=windows)
    if before is None:
        return GroupingHistory(sizes, at.seen + 1, windows=windows)
    reach = max(window.range for window in before.windows)
    columns = {name: history.columns.get(name) if name in before.columns else at.seen + 1 for name in now.columns}
    whole = at.until - reach if history.whole is None else max(history.whole, at.until - reach)
    return GroupingHistory(sizes, whole, drop_none(columns), windows)


def change_windows(history: GroupingHistory, before: GroupingContent | None, now: GroupingContent,
                   at: Boundary | None, after: Mapping[str, int]) -> dict[str, int]:
    """After which time windows end that are answered: those that stay as before, new ones from where the scan stands
    or, if that is later, from where a query that was replaced ended."""
    old = {list_window(window) for window in before.windows} if before else set()
    begins = max(at.until, 0) if at else 0
    names = map(list_window, now.windows)
    return drop_none({name: history.windows.get(name) if name in old else max(begins, after.get(name, 0)) or None
                      for name in names})


def drop_none(found: Mapping[str, int | None]) -> dict[str, int]:
    """What has a value, in order of the names."""
    return {name: value for name, value in sorted(found.items()) if value is not None}


def list_window(window: Window) -> str:
    """A window as a text for machines."""
    return f"{window.range}/{window.slide}+{window.start} {window.unit}"
