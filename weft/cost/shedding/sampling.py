"""Which rows a drop box keeps, and with which integer weight.

A row that is kept with probability 1/w stands for w rows. For any share of rows there are two neighbouring weights,
m − 1 and m, and a hash of the row decides: the lowest hashes get m − 1, those above m, the rest is dropped. On average
a row weighs 1, so weighted sums are unbiased; all weights are integers, so weighted counts and sums of integers stay
integers; and at a share of 1 all weights are 1, so answers are to the bit those without a drop box.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from weft.errors import PlanError

# Spark's xxhash64 gives a signed 64-bit number.
HASHES, LOWEST = 2**64, -(2**63)
ROUNDING = 1e-12


@dataclass(frozen=True)
class Sampling:
    """A drop box that keeps a share of the rows."""

    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise PlanError(f"a drop box keeps a share of rows above 0 and at most 1, not {self.share:g}.")

    @property
    def weight(self) -> int:
        """The greater of the two weights; the other is one less."""
        return max(2, ceil(1 / self.share - ROUNDING))

    @property
    def light(self) -> float:
        """The share of all rows that is kept with the smaller weight."""
        return max(0.0, self.share * self.weight - 1)

    @property
    def variance(self) -> float:
        """The variance of a row's weight. A sum of x has this times Σx²; with weights 1 / share it would be
        (1 − share) / share, which is the same wherever 1 / share is an integer, and else a little less."""
        return (self.weight - 1) * (1 - self.light)

    @property
    def thresholds(self) -> tuple[int, int]:
        """Hashes below the first have the smaller weight, those below the second the greater one."""
        return LOWEST + round(self.light * HASHES), LOWEST + round(self.share * HASHES)

    def weight_of(self, row_hash: int) -> int:
        """The weight of a row, 0 where it is dropped."""
        light, kept = self.thresholds
        if row_hash < light:
            return self.weight - 1
        return self.weight if row_hash < kept else 0


def share_with_variance(variance: float) -> float:
    """The least share of rows whose weights have this variance: `Sampling.variance` the other way round."""
    weight = int(variance) + 2
    # Between 1/m and 1/(m − 1) the variance falls in a straight line from m − 1 to m − 2.
    light = 1 - variance / (weight - 1)
    return (1 + light) / weight
