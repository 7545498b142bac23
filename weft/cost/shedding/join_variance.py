"""The variance of a sum over a two-way join whose sides are sampled independently.

A pair's weight is the product of its rows' weights. Rows of one side share partners, so pairs are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import sqrt


@dataclass(frozen=True)
class JoinedPair:
    """A row of the result: which rows it is of, their weights, and its value."""

    left: Hashable
    right: Hashable
    left_weight: int
    right_weight: int
    value: float


def join_variance(pairs: Iterable[JoinedPair]) -> float:
    """The exact variance, where `pairs` are all pairs of the whole join and weights those that kept rows would have:
    Σ_a (m_a − 1) Y_a² + Σ_b (m_b − 1) Y_b² + Σ_ab (m_a − 1)(m_b − 1) y², with Y_a the sum of the pairs of row a."""
    found = list(pairs)
    left = sum((group[0].left_weight - 1) * sum(p.value for p in group) ** 2 for group in by(found, left_row))
    right = sum((group[0].right_weight - 1) * sum(p.value for p in group) ** 2 for group in by(found, right_row))
    both = sum((p.left_weight - 1) * (p.right_weight - 1) * p.value**2 for p in found)
    return left + right + both


def join_estimate(pairs: Iterable[JoinedPair]) -> tuple[float, float]:
    """The sum over the whole join and its variance, both without bias, from the pairs of kept rows.

    The square of a row's estimated sum is too great by the variance of that sum, which is taken off again. So a
    variance can come out negative where few rows were kept.
    """
    found = list(pairs)
    total = sum(p.left_weight * p.right_weight * p.value for p in found)
    left = sum(excess(group[0].left_weight) * squared([(p.right_weight, p.value) for p in group])
               for group in by(found, left_row))
    right = sum(excess(group[0].right_weight) * squared([(p.left_weight, p.value) for p in group])
                for group in by(found, right_row))
    both = sum(excess(p.left_weight) * excess(p.right_weight) * p.value**2 for p in found)
    return total, left + right + both


def join_sketch(pairs: Iterable[JoinedPair], left: Mapping[Hashable, int], right: Mapping[Hashable, int]) -> float:
    """The variance by a sketch: rows of each side have a sign, and over all signs it is that of `join_estimate` on
    average. What is squared is a plain sum over pairs, which slices can add up (`aggregates/joined.py`)."""
    found = list(pairs)
    total = sum(p.value * (left[p.left] * sqrt(excess(p.left_weight)) * p.right_weight
                           + right[p.right] * sqrt(excess(p.right_weight)) * p.left_weight) for p in found)
    return total**2 - sum(excess(p.left_weight) * excess(p.right_weight) * p.value**2 for p in found)


def squared(partners: Iterable[tuple[int, float]]) -> float:
    """(Σwy)² less its bias Σ w(w − 1) y²."""
    pairs = list(partners)
    return sum(w * y for w, y in pairs) ** 2 - sum(excess(w) * y * y for w, y in pairs)


def excess(weight: int) -> int:
    """w(w − 1): its mean is the variance of a weight."""
    return weight * (weight - 1)


def by(pairs: list[JoinedPair], row: Callable[[JoinedPair], Hashable]) -> list[list[JoinedPair]]:
    """Pairs in groups of one row."""
    keys = {key: number for number, key in enumerate(dict.fromkeys(map(row, pairs)))}
    ordered = sorted(pairs, key=lambda pair: keys[row(pair)])
    return [list(group) for _, group in groupby(ordered, key=row)]


def left_row(pair: JoinedPair) -> Hashable:
    """The row of the left side."""
    return pair.left


def right_row(pair: JoinedPair) -> Hashable:
    """The row of the right side."""
    return pair.right
