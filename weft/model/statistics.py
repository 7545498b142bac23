"""What is known of the rows that a scan reads: how many, of how many keys, over what span of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import expm1, log1p


@dataclass(frozen=True)
class Statistics:
    """Rows that pass a scan's predicate, their distinct keys, and their span of time in microseconds."""

    rows: float
    keys: float
    span: float

    @property
    def in_rows(self) -> Statistics:
        """The same where time is counted in rows of a key: the span is then how many rows a key has."""
        return replace(self, span=max(self.rows / self.keys, 1.0))


# What a source is taken for where nobody measured it.
ASSUMED = Statistics(rows=2e6, keys=1000, span=3.6e10)


def keys_of_sample(found: float, sampled: float, fraction: float) -> float:
    """How many keys all rows have, of which a sample of so many rows shows `found`, if all keys are equally frequent.

    Of D keys with N / D rows each, a sample of a fraction q shows D · (1 − (1 − q)^(N/D)); D is sought by halving.
    """
    rows = sampled / fraction
    if fraction >= 1 or found >= sampled:
        return max(found, 1.0) if fraction >= 1 else max(rows, 1.0)
    low, high = found, rows
    for _ in range(60):
        middle = (low + high) / 2
        shown = -middle * expm1(rows / middle * log1p(-fraction))
        low, high = (middle, high) if shown < found else (low, middle)
    return max(high, 1.0)
