"""The sentences of a controller's decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.optimize.shed.allocate import Allocation
from weft.optimize.shed.load import SheddableQuery, StreamSettings

SHOWN = 3


def why_now(where: str, limit: float, seconds: float, now: float) -> str:
    """What made the controller act."""
    return f"Utilisation was {where} {percent(limit)} for {seconds:g} s (now {percent(now)})."


def why_dropping(settings: StreamSettings, found: Allocation, queries: Sequence[SheddableQuery],
                 base: float, expected: float) -> Iterator[str]:
    """Why triggers do not get longer, what dropping does to errors, and who is not touched."""
    strict = min(queries, key=lambda q: base if q.freshness is None else q.freshness, default=None)
    if strict:
        yield f"Query '{strict.name}' allows no longer triggers."
    if settings.shares:
        yield f"No query's error is above {percent(found.ratio)} of its bound."
    untouched = [q.name for q in queries if q.bound is None]
    more = len(untouched) - SHOWN
    if untouched:
        rest = f" and {more} more" if more > 0 else ""
        yield f"What has no error bound is not touched: {', '.join(untouched[:SHOWN])}{rest}."
    if not found.fits:
        yield f"Error bounds allow no more dropping{': the lag grows' if expected >= 1 else ''}."


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.3g} %"
