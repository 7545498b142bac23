"""Workloads of windows: the generators of both papers, and one of arbitrary slides and ranges. All are seeded."""

from __future__ import annotations

from functools import cache

import numpy as np

from weft.model.window import Window


@cache
def factors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return tuple(sorted({*small, *(number // d for d in small)}))


def zipf_slides(count: int, largest: int, skew: float, random: np.random.Generator) -> np.ndarray:
    """Slides from the factors of the largest one; a positive skew favours large slides (000 §6, 001 §5.1)."""
    slides = np.array(factors(largest)[::-1])
    weights = 1 / np.arange(1, len(slides) + 1) ** float(skew)
    return random.choice(slides, count, p=weights / weights.sum())


def weave_workload(count: int, overlap: float = 50, skew: float = 0.6, largest: int = 100_000,
                   seed: int = 0) -> tuple[Window, ...]:
    """000's: an overlap that is a real number, so that most ranges are no multiples of their slides."""
    random = np.random.default_rng(seed)
    slides = zipf_slides(count, largest, skew, random)
    ranges = np.rint(slides * random.uniform(1, overlap, count)).astype(int)
    return tuple(Window(int(r), int(s)) for r, s in zip(np.maximum(ranges, slides), slides, strict=True))


def tri_workload(count: int, overlap: int = 10_000, skew: float = 0.0, largest: int = 1000,
                 seed: int = 0) -> tuple[Window, ...]:
    """001's: a whole overlap, so that windows begin and end at the same edges."""
    random = np.random.default_rng(seed)
    slides = zipf_slides(count, largest, skew, random)
    ranges = slides * random.integers(1, overlap, count, endpoint=True)
    return tuple(Window(r, s) for r, s in zip(ranges.tolist(), slides.tolist(), strict=True))


def any_workload(count: int, overlap: float = 50, largest: int = 100_000, seed: int = 0) -> tuple[Window, ...]:
    """Arbitrary slides and ranges, which no paper tries."""
    random = np.random.default_rng(seed)
    slides = random.integers(1, largest, count, endpoint=True)
    ranges = np.maximum(np.rint(slides * random.uniform(1, overlap, count)).astype(int), slides)
    return tuple(Window(r, s) for r, s in zip(ranges.tolist(), slides.tolist(), strict=True))
