"""Chain: each window's fold grows out of the next shorter one's. Legal for every associative monoid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.monoid import Monoid, State
from weft.final.doubling import widen

# A chain of sums errs by one rounding a link: this many keep a double sum within 1e-13 of its terms.
LONGEST = 200


def chain(monoid: Monoid, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size.

    A length is reached from the one before it, or from nothing, in as few combines with folds of
    1, 2, 4 … cells as the binary digits of what is missing.
    """
    table, reached, links = [cells], 0, 0
    total: State | None = None
    for length in lengths:
        if total is None or links >= LONGEST or length.bit_count() <= (length - reached).bit_count():
            total, reached, links = None, 0, 0
        for level in reversed(range((length - reached).bit_length())):
            step = 1 << level
            if (length - reached) & step:
                piece = tuple(a[reached : reached + size] for a in widen(monoid, table, level))
                total = piece if total is None else monoid.combine(total, piece)
                reached, links = reached + step, links + 1
        assert total is not None
        yield total
