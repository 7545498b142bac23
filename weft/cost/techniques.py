"""Ω: operations per edge of each final technique in a tree of many queries (001 §4.1, Table 3).

`P` is the number of slices a window holds on average: its range times the tree's edge rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import e
from typing import Any

import numpy as np

EULER = 0.5772156649015329
SLICE = 1 + 1e-9  # a slice, and what rounding may add to it


@dataclass(frozen=True)
class Members:
    """The distinct windows of a tree: their ranges and slides; and the different projections that read them."""

    ranges: np.ndarray
    slides: np.ndarray
    projections: frozenset[int] = frozenset((0,))

    def __len__(self) -> int:
        return len(self.ranges)

    def join(self, other: Members) -> Members:
        """The windows of two trees. Windows of different edges are never equal, so nothing is counted twice."""
        ranges, slides = (np.concatenate(p) for p in ((self.ranges, other.ranges), (self.slides, other.slides)))
        return Members(ranges, slides, self.projections | other.projections)


def unknown(trees: Sequence[Members], rates: np.ndarray) -> np.ndarray:
    """Any two trees may have anything in common."""
    return np.full((len(trees), len(trees)), np.inf)


@dataclass(frozen=True)
class Technique:
    """How a final technique's Ω follows from a tree's windows and edge rate.

    `lasting` is what Ω is at least at this edge rate and at any higher one; Ω itself, unless it can fall.
    `least(lasting a, lasting b, Q a, Q b)` bounds the Ω of two merged trees from below, whatever edges they have; where
    `additive` it is their sum, and exact at equal edge rates. `alike` is a second bound, of all pairs of trees at once:
    by how much the merged Ω can at most fall short of the sum. It holds for any edge rate from the trees' own on, and
    adds up when trees merge. `fixed` says that Ω does not depend on the edge rate at all.

    For flat_fat all this holds but for the jumps of its formula: where P passes a power of two, Ω falls by up to one a
    window.
    """

    name: str
    omega: Callable[[Members, float], float]
    least: Callable[[Any, Any, Any, Any], Any]
    fixed: bool
    equation: str
    lower: Callable[[Members, float], float] | None = None
    alike: Callable[[Sequence[Members], np.ndarray], np.ndarray] = unknown

    def lasting(self, members: Members, edge_rate: float) -> float:
        """At least Ω at this edge rate and at any higher one."""
        return (self.lower or self.omega)(members, edge_rate)

    @property
    def additive(self) -> bool:
        """Whether two trees' Ω add up."""
        return self.least is total


def total(a: Any, b: Any, queries_a: Any, queries_b: Any) -> Any:
    """Every query costs what it costs alone."""
    return a + b


def larger(a: Any, b: Any, queries_a: Any, queries_b: Any) -> Any:
    """The smaller tree's windows may all be among the larger one's."""
    return np.maximum(a, b)


def larger_and_queries(a: Any, b: Any, queries_a: Any, queries_b: Any) -> Any:
    """One of the two deques, and one look-up a query."""
    return np.maximum(a - queries_a, b - queries_b) + queries_a + queries_b


def panes(members: Members, edge_rate: float) -> float:
    """Σ r / s (001 Eq. 3, 000 Eq. 2)."""
    return float((members.ranges / members.slides).sum())


def flat_fat(members: Members, edge_rate: float) -> float:
    """Σ ⌊log₂(P − 1)⌋ + (P − 1) / 2^⌊log₂ P⌋ (001 Eq. 4), and nothing for windows of a single slice."""
    held = members.ranges * edge_rate
    held = held[held > 1]
    each = np.floor(np.log2(held - 1)) + (held - 1) / 2 ** np.floor(np.log2(held))
    return float(np.maximum(each, 0).sum())


def flat_fit(members: Members, edge_rate: float) -> float:
    """3 Q (001 Eq. 5)."""
    return 3.0 * len(members)


def slick_deque_inv(members: Members, edge_rate: float) -> float:
    """2 · distinct P (001 Eq. 6), a window's P being a whole number of slices."""
    return 2.0 * len(np.unique(np.rint(members.ranges * edge_rate)))


def ranges_apart(members: Members, edge_rate: float) -> float:
    """2 · windows of which each is more than a slice longer than the one before: no higher rate makes their P equal."""
    ranges = np.sort(members.ranges)
    following = np.searchsorted(ranges, ranges + SLICE / edge_rate, "right").tolist()
    count = place = 0
    while place < len(following):
        count, place = count + 1, following[place]
    return 2.0 * count


def ranges_close(trees: Sequence[Members], rates: np.ndarray) -> np.ndarray:
    """2 · pairs of windows, one of each tree, that differ by at most a slice: no others can have the same P."""
    sizes = np.array([len(tree) for tree in trees])
    if sizes.sum() > 4 * len(trees) + 1000:  # so large trees have most P in common anyway
        return unknown(trees, rates)
    ranges, slices = np.concatenate([tree.ranges for tree in trees]), np.repeat(SLICE / rates, sizes)
    firsts = np.append(0, np.cumsum(sizes)[:-1])
    rows = [(abs(tree.ranges[:, None] - ranges) <= np.minimum(slices, SLICE / rate)).sum(0)
            for tree, rate in zip(trees, rates, strict=True)]
    return 2.0 * np.stack([np.add.reduceat(row, firsts) for row in rows])


def slick_deque_printed(members: Members, edge_rate: float) -> float:
    """2 − 2 / P_max + Q + Σ 1 / i! (001 Eq. 7 as printed; the sum is e − 1 to all digits from P = 18 on)."""
    most = max(float(members.ranges.max()) * edge_rate, 1.0)
    return 2 - 2 / most + len(members) + inverse_factorials(int(most))


def slick_deque(members: Members, edge_rate: float) -> float:
    """The same with the deque's real mean length, the harmonic number H(P_max)."""
    most = max(float(members.ranges.max()) * edge_rate, 1.0)
    return 2 - 2 / most + len(members) + harmonic(int(most))


def inverse_factorials(n: int) -> float:
    """Σ 1 / i! for i from 1 to n."""
    total, term = 0.0, 1.0
    for i in range(1, min(n, 20) + 1):
        term /= i
        total += term
    return total if n < 20 else e - 1


def harmonic(n: int) -> float:
    """H(n), by its expansion where n is large."""
    if n < 100:
        return sum(1 / i for i in range(1, n + 1))
    return float(np.log(n)) + EULER + 1 / (2 * n) - 1 / (12 * n * n)


TECHNIQUES: tuple[Technique, ...] = (
    Technique("panes", panes, total, True, "001 Eq. 3"),
    Technique("flat_fat", flat_fat, total, False, "001 Eq. 4"),
    Technique("b_int", flat_fat, total, False, "001 Eq. 4"),
    Technique("flat_fit", flat_fit, total, True, "001 Eq. 5"),
    Technique("slick_deque_inv", slick_deque_inv, larger, False, "001 Eq. 6", ranges_apart, ranges_close),
    Technique("slick_deque_printed", slick_deque_printed, larger_and_queries, False, "001 Eq. 7 as printed"),
    Technique("slick_deque", slick_deque, larger_and_queries, False, "001 Eq. 7 with H(P)"),
)
