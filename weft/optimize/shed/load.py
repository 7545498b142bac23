"""What a controller of a stream knows and sets, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.cost.shedding.triggers import utilisation
from weft.errors import PlanError


@dataclass(frozen=True)
class SheddableQuery:
    """A query as the controller sees it.

    `rows` is how many rows one of its answers is made of, `skew` the κ of its values. `bound` is the relative error
    that its user accepts, None where rows must not be dropped; `freshness`, how many seconds its answers may wait, None
    where triggers must stay as they are. A query of importance 2 gets half the error, by its bound, of one of
    importance 1.
    """

    name: str
    scan: str
    rows: float
    bound: float | None = None
    freshness: float | None = None
    skew: float = 1.0
    importance: float = 1.0

    def __post_init__(self) -> None:
        positive = {"rows": self.rows, "bound": self.bound, "freshness": self.freshness, "skew": self.skew,
                    "importance": self.importance}
        for name, value in positive.items():
            if value is not None and not value > 0:
                raise PlanError(f"query '{self.name}': {name} must be positive, not {value:g}.")

    @property
    def variance(self) -> float:
        """V: the relative variance of its answers for a weight variance of 1."""
        return self.skew / self.rows


@dataclass(frozen=True)
class ScanLoad:
    """A scan's arriving rows a second, the seconds that one of them takes behind the drop box, and those that it takes
    before, whether it is kept or not."""

    scan: str
    rate: float
    seconds: float
    read: float = 0.0

    @property
    def work(self) -> float:
        """Seconds a second behind the drop box if nothing is dropped."""
        return self.rate * self.seconds

    @property
    def reading(self) -> float:
        """Seconds a second before the drop box."""
        return self.rate * self.read


@dataclass(frozen=True)
class StreamLoad:
    """The work of a stream: seconds of each trigger whatever its rows, and its scans."""

    fixed: float
    scans: tuple[ScanLoad, ...]

    def scaled(self, factor: float) -> StreamLoad:
        """The same on a machine that is so many times slower."""
        scans = tuple(ScanLoad(s.scan, s.rate, s.seconds * factor, s.read * factor) for s in self.scans)
        return StreamLoad(self.fixed * factor, scans)

    def rows_work(self, shares: Sequence[tuple[str, float]] = ()) -> float:
        """Seconds a second that rows take, behind drop boxes."""
        kept = dict(shares)
        return sum(s.reading + s.work * kept.get(s.scan, 1.0) for s in self.scans)


@dataclass(frozen=True)
class StreamSettings:
    """What the controller sets: seconds between triggers, and the share of rows that each drop box keeps. Scans that
    are not named keep all."""

    trigger: float
    shares: tuple[tuple[str, float], ...] = ()

    def share_of(self, scan: str) -> float:
        """The share of a scan's rows that is kept."""
        return dict(self.shares).get(scan, 1.0)

    def utilisation(self, load: StreamLoad) -> float:
        """Seconds of work a second under these settings."""
        return utilisation(self.trigger, load.fixed, load.rows_work(self.shares))
