"""Drop rates for a budget: the greatest error, by its query's bound, is as small as the budget allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.cost.shedding.bounds import needed_integer_share
from weft.cost.shedding.estimates import FEWEST_KEPT
from weft.optimize.shed.load import ScanLoad, SheddableQuery

HALVINGS = 60


@dataclass(frozen=True)
class Allocation:
    """The kept shares of scans that drop rows; the greatest error by its bound; and whether the budget suffices, since
    bounds are kept all the same."""

    shares: tuple[tuple[str, float], ...]
    ratio: float
    fits: bool


def allocate(queries: Sequence[SheddableQuery], scans: Sequence[ScanLoad], budget: float) -> Allocation:
    """The shares of smallest ratio ρ whose rows take at most `budget` seconds a second, by halving intervals of ρ."""
    highest = max((q.importance for q in queries), default=1.0)
    fits = work_at(highest, queries, scans) <= budget
    low, high = 0.0, highest
    if work_at(0.0, queries, scans) <= budget:
        high = 0.0
    for _ in range(HALVINGS if fits and high else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if work_at(middle, queries, scans) <= budget else (middle, high)
    shares = ((s.scan, share_at(high, s.scan, queries)) for s in scans)
    ratio = max((ratio_of(high, q) for q in queries if q.bound is not None), default=0.0)
    return Allocation(tuple((scan, share) for scan, share in shares if share < 1), ratio, fits)


def work_at(level: float, queries: Sequence[SheddableQuery], scans: Sequence[ScanLoad]) -> float:
    """Seconds a second that all rows take where those that a level needs are kept."""
    return sum(s.reading + s.work * share_at(level, s.scan, queries) for s in scans)


def share_at(level: float, scan: str, queries: Sequence[SheddableQuery]) -> float:
    """The share of a scan's rows that the most demanding of its queries needs; all, where a query has no bound."""
    return max((needed_at(level, q) for q in queries if q.scan == scan), default=1.0)


def needed_at(level: float, query: SheddableQuery) -> float:
    """What one query needs, and enough rows for its error to mean something."""
    if query.bound is None or level <= 0:
        return 1.0
    share = needed_integer_share(query.variance, ratio_of(level, query) * query.bound)
    return min(1.0, max(share, FEWEST_KEPT / query.rows))


def ratio_of(level: float, query: SheddableQuery) -> float:
    """The part of its bound that a query's error may take at a level: never more than the whole."""
    return min(1.0, level / query.importance)
