"""Counts, sums and averages of weighted rows, each with its variance.

All of these sums are plain additions, so slices merge them as any other component, also where the share of kept rows
changed between two slices: a row's weight w says all there is to know of its drop box. With independent rows of mean
weight 1, Σwx has the variance Σ (E w² − 1) x², and Σ w(w − 1) x² over the kept rows estimates that without bias.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from math import sqrt

from weft.aggregates.weighted import FEWEST_KEPT

Z95 = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """A value with its variance, of so many kept rows."""

    value: float
    variance: float
    kept: int

    @property
    def error(self) -> float:
        """The standard error."""
        return sqrt(self.variance)

    def interval(self, z: float = Z95) -> tuple[float, float] | None:
        """Where the exact value lies with 95 % probability; None where too few rows were kept to say so."""
        if self.variance and self.kept < FEWEST_KEPT:
            return None
        return self.value - z * self.error, self.value + z * self.error


@dataclass(frozen=True)
class WeightedSums:
    """What is kept of the rows of a window: how many, Σw, Σwx, and the sums of w(w − 1), w(w − 1)x and w(w − 1)x²."""

    kept: int = 0
    weight: float = 0
    total: float = 0
    excess: float = 0
    excess_total: float = 0
    excess_squares: float = 0

    def __add__(self, other: WeightedSums) -> WeightedSums:
        return WeightedSums(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def count(self) -> Estimate:
        """How many rows there were before the drop box."""
        return Estimate(self.weight, self.excess, self.kept)

    def sum(self) -> Estimate:
        """The sum over all rows."""
        return Estimate(self.total, self.excess_squares, self.kept)

    def avg(self) -> Estimate | None:
        """The average of all rows, by the ratio of two estimates: None of none. Its variance is of first order."""
        if not self.weight:
            return None
        mean = self.total / self.weight
        # Σ w(w − 1)(x − mean)², which rounding must not make negative.
        squares = self.excess_squares - 2 * mean * self.excess_total + mean * mean * self.excess
        return Estimate(mean, max(0.0, squares) / self.weight**2, self.kept)


def weighted(rows: Iterable[tuple[float, int]]) -> WeightedSums:
    """The sums of rows given as value and weight; a weight of 0 is a row that was dropped."""
    found = WeightedSums()
    for value, weight in rows:
        if weight:
            excess = weight * (weight - 1)
            found += WeightedSums(1, weight, weight * value, excess, excess * value, excess * value * value)
    return found
