"""A sliding window: range, slide and start offset, in microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "us"))


def duration(micros: int) -> str:
    """Microseconds in the largest unit that divides them: 90 s, 2 h."""
    size, unit = next((size, unit) for size, unit in UNITS if micros % size == 0)
    return f"{micros // size} {unit}"


@dataclass(frozen=True, order=True)
class Window:
    """Half-open windows `[start + k·slide, start + k·slide + range)` for every integer k."""

    range: int
    slide: int
    start: int = 0

    def __post_init__(self) -> None:
        if self.range <= 0 or self.slide <= 0:
            raise ValueError("range and slide must be positive")
        if self.slide > self.range:
            raise ValueError("the slide must not be larger than the range")
        if abs(self.start) >= self.slide:
            raise ValueError("the start offset must be smaller than the slide")

    @property
    def overlap(self) -> Fraction:
        """How many windows cover one moment on average (the papers' overlap factor)."""
        return Fraction(self.range, self.slide)

    @property
    def phase(self) -> int:
        """The start offset brought into [0, slide)."""
        return self.start % self.slide

    @property
    def fragments(self) -> tuple[int, ...]:
        """The lengths a slide is cut into (000 §3.2): (slide − f, f) with f = range mod slide, or (slide,)."""
        rest = self.range % self.slide
        return (self.slide - rest, rest) if rest else (self.slide,)

    def __str__(self) -> str:
        offset = f" from {duration(self.start)}" if self.start else ""
        return f"{duration(self.range)} / {duration(self.slide)}{offset}"
