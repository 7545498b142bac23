"""Chain: each window's fold grows out of the next shorter one's. Legal for every associative operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.aggregates.operation import Operation, State
from weft.final.algorithms.base import TABLED, Card, CombineBound
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.doubling import widen
from weft.final.algorithms.flat_fat import levels

# A chain of sums errs by one rounding a link: this many keep a double sum within 1e-13 of its terms.
LONGEST = 200

CARD = Card(
    name="chain",
    title="chain",
    about="Folds of 1, 2, 4 … slices from every place; a range is reached from the next shorter one by as few of them "
          "as the binary digits of the difference.",
    paper="beyond the paper",
    single=CombineBound("2 ⌈log₂ n⌉", lambda n: 2 * levels(n) + 1),
    worst=CombineBound("2n ⌈log₂ n⌉", lambda n: 2 * n * (2 * levels(n) + 1)),
    multi=CombineBound("n + 2 ⌈log₂ n⌉", lambda n: n + 2 * levels(n) + 1),
    space=CombineBound("n ⌈log₂ n⌉", lambda n: n * (levels(n) + 1)),
    depth="log",
    longest=TABLED,
)


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """A length from the one before it, or from nothing where that is nearer or the chain has grown long."""
    table, reached, links = [cells], 0, 0
    total: State | None = None
    for length in lengths:
        if total is None or links >= LONGEST or length.bit_count() <= (length - reached).bit_count():
            total, reached, links = None, 0, 0
        for level in reversed(range((length - reached).bit_length())):
            step = 1 << level
            if (length - reached) & step:
                piece = tuple(a[reached : reached + size] for a in widen(operation, table, level))
                total = piece if total is None else operation.combine(total, piece)
                reached, links = reached + step, links + 1
        assert total is not None
        yield total


chain = Bulk(CARD, slide)
