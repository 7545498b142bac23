"""Which share of rows keeps a relative error within a bound.

V is the relative variance that a weight variance of 1 would make: Σx² / (Σx)² for a sum, 1 / n for a count. With
weights of variance v the relative standard error is √(vV).
"""

from __future__ import annotations

from math import sqrt

from weft.cost.shedding.estimates import Z95
from weft.cost.shedding.sampling import Sampling, share_with_variance


def skewness_factor(rows: float, total: float, squares: float) -> float:
    """κ = nΣx² / (Σx)²: how many times the variance of a count's that of a sum is; 1 for equal values."""
    return rows * squares / total**2


def needed_share(variance: float, bound: float, z: float = Z95) -> float:
    """The share that a bound ε needs if a kept row weighs 1 / share: z²V / (ε² + z²V)."""
    spread = z * z * variance
    return spread / (bound * bound + spread) if spread else 0.0


def needed_integer_share(variance: float, bound: float, z: float = Z95) -> float:
    """The same for integer weights, whose variance is greater between 1/2 and 1, 1/3 and 1/2, …"""
    spread = z * z * variance
    return share_with_variance(bound * bound / spread) if spread else 0.0


def expected_error(share: float, variance: float, z: float = Z95) -> float:
    """Half the relative width of the interval that a share of rows gives, with integer weights."""
    return z * sqrt(Sampling(share).variance * variance)
