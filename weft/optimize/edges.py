"""Edge sets of trees, to be merged and measured many times: bits where time repeats soon, else progressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd, lcm
from typing import Any, Protocol

import numpy as np

from weft.model.edges import Progression, signed_terms
from weft.slicing import PAIRS, Slicer

MOST_BITS = 1 << 23
MOST_BYTES = 1 << 29
TERMS = 400
SAMPLES = 2000


class EdgeSets(Protocol):
    """Sets of edges, their unions, and how dense they are."""

    def of(self, edges: Iterable[Progression]) -> Any:
        """The edges of one kind of window, or of many."""

    def union(self, a: Any, b: Any) -> Any:
        """The edges of two sets."""

    def rate(self, edges: Any) -> float:
        """Edges per unit of time."""


class BitSets:
    """Edges as the bits of one composite slide (000 §8.2), exact."""

    def __init__(self, unit: int, period: int):
        self.unit, self.period = unit, period

    def of(self, edges: Iterable[Progression]) -> np.ndarray:
        """Marks every edge of the composite slide."""
        marks = np.zeros(-(-self.period // 64) * 64, bool)
        for phase, every in edges:
            marks[phase // self.unit : self.period : every // self.unit] = True
        return np.packbits(marks).view(np.uint64)

    def union(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The marks of both."""
        return a | b

    def rate(self, edges: np.ndarray) -> float:
        """Marks counted."""
        return int(np.bitwise_count(edges).sum()) / (self.period * self.unit)


class ProgressionSets:
    """Edges as progressions: counted by F1 while that stays small, else sampled."""

    def of(self, edges: Iterable[Progression]) -> frozenset[Progression]:
        """The progressions themselves."""
        return frozenset(edges)

    def union(self, a: frozenset[Progression], b: frozenset[Progression]) -> frozenset[Progression]:
        """The progressions of both."""
        return a | b

    def rate(self, edges: frozenset[Progression]) -> float:
        """Exact for few terms, else by sampling with a fixed seed."""
        ordered = sorted(edges, key=lambda e: (e[1], e[0]))
        terms = signed_terms(ordered, TERMS)
        if terms is not None:
            return float(sum(sign / period for (_, period), sign in terms.items()))
        return sampled_rate(np.array(ordered, dtype=np.int64))


class GridSets:
    """Cuts that several windows have as one grid, which a slicer's `join` makes of the grids of each."""

    def __init__(self, join: Callable[[Iterable[Progression]], tuple[Progression, ...]]):
        self.join = join

    def of(self, edges: Iterable[Progression]) -> tuple[Progression, ...]:
        """The grid of all."""
        return self.join(edges)

    def union(self, a: tuple[Progression, ...], b: tuple[Progression, ...]) -> tuple[Progression, ...]:
        """The grid of both."""
        return self.join((*a, *b))

    def rate(self, edges: tuple[Progression, ...]) -> float:
        """Cuts of the grid."""
        return sum(1 / period for _, period in edges)


def sampled_rate(edges: np.ndarray) -> float:
    """The density of a union from random edges of it, each counted by how many progressions hold it."""
    phase, period = edges[:, 0], edges[:, 1]
    random = np.random.default_rng(len(edges))
    chance = 1 / period
    drawn = random.choice(len(edges), SAMPLES, p=chance / chance.sum())
    steps = random.integers(0, 2**61 // period[drawn])
    points = phase[drawn] + period[drawn] * steps
    held = ((points[:, None] - phase) % period == 0).sum(1)
    return float(chance.sum() * (1 / held).mean())


def edge_sets(kinds: Sequence[tuple[Progression, ...]], slicer: Slicer = PAIRS) -> EdgeSets:
    """Bits if all kinds' marks fit memory, else progressions; a grid where the slicer makes one of all cuts."""
    if slicer.join is not None:
        return GridSets(slicer.join)
    unit = gcd(*(number for edges in kinds for edge in edges for number in edge))
    period = lcm(*(every // unit for edges in kinds for _, every in edges))
    if period <= MOST_BITS and period // 8 * len(kinds) <= MOST_BYTES:
        return BitSets(unit, period)
    return ProgressionSets()


def common_rates(kinds: Sequence[tuple[Progression, ...]]) -> np.ndarray:
    """Edges per unit of time that each two kinds share, exact but for rounding: a kind's progressions are disjoint."""
    size = len(kinds)
    period = np.array([edges[0][1] for edges in kinds], np.int64)
    phases = np.full((size, 2), -1, np.int64)
    for i, edges in enumerate(kinds):
        phases[i, : len(edges)] = [phase for phase, _ in edges]
    divisor = np.gcd.outer(period, period)
    density = divisor / (period[:, None].astype(float) * period)
    common = np.zeros((size, size))
    for a in range(2):
        for b in range(2):
            there = (phases[:, a] >= 0)[:, None] & (phases[:, b] >= 0)
            meets = (phases[:, a][:, None] - phases[:, b]) % divisor == 0
            common += density * (there & meets)
    return common
