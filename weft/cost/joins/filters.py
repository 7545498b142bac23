"""Selections one after another on one stream, and the one drop box that they need (004 §4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf, prod
from operator import mul


@dataclass(frozen=True)
class Filter:
    """A predicate: seconds for each row it sees, and the share of them that passes."""

    seconds: float
    selectivity: float

    @property
    def rank(self) -> float:
        """Predicates in ascending rank are the cheapest plan (Hellerstein, cited in 004 §4.1)."""
        return (self.selectivity - 1) / self.seconds if self.seconds else -inf


@dataclass(frozen=True)
class FilterPlan:
    """Predicates in the order in which rows of a stream pass them."""

    rate: float
    filters: tuple[Filter, ...]

    @property
    def costs(self) -> tuple[float, ...]:
        """Seconds a second of each predicate (004 Eq. 14)."""
        passed = accumulate((f.selectivity for f in self.filters), mul, initial=1.0)
        return tuple(self.rate * f.seconds * share for f, share in zip(self.filters, passed, strict=False))

    @property
    def utilisation(self) -> float:
        """Seconds of work a second without drop boxes."""
        return sum(self.costs)

    @property
    def kept(self) -> float:
        """The share of rows that the drop box at the source keeps, which suffices (004 Obs. 2, Eq. 16)."""
        return min(1.0, 1 / self.utilisation) if self.utilisation else 1.0

    @property
    def output(self) -> float:
        """Rows a second after the drop box and all predicates (004 Eq. 13, 17)."""
        return self.kept * self.output_with(())

    def utilisation_with(self, keep: Sequence[float]) -> float:
        """The same with a drop box before each predicate (004 Eq. 12); a last one after all costs nothing."""
        arriving = accumulate(keep, mul)
        return sum(cost * share for cost, share in zip(self.costs, arriving, strict=False))

    def output_with(self, keep: Sequence[float]) -> float:
        """Rows a second after drop boxes at all places (004 Eq. 11)."""
        return self.rate * prod(f.selectivity for f in self.filters) * prod(keep)


def cheapest_filters(rate: float, filters: Iterable[Filter]) -> FilterPlan:
    """The order that takes least, which is also the one to drop from (004 Obs. 2)."""
    return FilterPlan(rate, tuple(sorted(filters, key=lambda f: f.rank)))
