"""A sliding window: range, slide and start offset, in microseconds or in rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

TIME, ROW_COUNT = "time", "rows"
UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "us"))


def duration(micros: int) -> str:
    """Microseconds in the largest unit that divides them: 90 s, 2 h."""
    size, unit = next((size, unit) for size, unit in UNITS if micros % size == 0)
    return f"{micros // size} {unit}"


def measured(amount: int, unit: str) -> str:
    """A length of either unit in words: 90 s, 100 rows."""
    return duration(amount) if unit == TIME else f"{amount} row{'' if amount == 1 else 's'}"


@dataclass(frozen=True, order=True)
class Window:
    """Half-open windows `[start + k·slide, start + k·slide + range)` for every integer k.

    The unit of all three is a microsecond of event time, or with `unit` ROW_COUNT a row of a group, the first being 0.
    """

    range: int
    slide: int
    start: int = 0
    unit: str = TIME

    def __post_init__(self) -> None:
        if self.range <= 0 or self.slide <= 0:
            raise ValueError("range and slide must be positive")
        if self.slide > self.range:
            raise ValueError("the slide must not be larger than the range")
        if abs(self.start) >= self.slide:
            raise ValueError("the start offset must be smaller than the slide")
        if self.counts_rows and (self.start + self.range) % self.slide:
            raise ValueError("a window of rows must end at a multiple of its slide")

    @property
    def counts_rows(self) -> bool:
        """Whether it is so many rows long, not so much time."""
        return self.unit == ROW_COUNT

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
        """The lengths a slide is cut into, in order (000 §3.2): g₁ = range mod slide, then the rest; or all of it.

        A slide is counted from where a window begins, so g₁ ends where an older window does.
        """
        first = self.range % self.slide
        return (first, self.slide - first) if first else (self.slide,)

    def __str__(self) -> str:
        offset = f" from {duration(self.start)}" if self.start and not self.counts_rows else ""
        return f"{measured(self.range, self.unit)} / {measured(self.slide, self.unit)}{offset}"


def rows_window(size: int, slide: int) -> Window:
    """Windows of the last `size` rows after every `slide`-th row: they end where the slide says (004 Def. 3)."""
    return Window(size, slide, -size % slide, ROW_COUNT)
