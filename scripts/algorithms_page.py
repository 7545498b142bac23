"""Writes the cards of all algorithms into their page: python -m scripts.algorithms_page [docs/algorithms.md]."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import numpy as np

from weft.aggregates.operation import ADD, OPERATIONS, Operation
from weft.final.algorithms import ALGORITHMS
from weft.final.algorithms.base import LINEAR, Algorithm, Card

WIDTH = 120
PAGE = Path("docs/algorithms.md")
BEGIN, END = "<!-- cards:begin, made by python -m scripts.algorithms_page -->", "<!-- cards:end -->"
COLUMNS = ("name", "needs", "ranges", "streams", "longest window, in slices", "amortised", "worst", "all ranges 1 … n",
           "space", "engine", "paper", "001 Table 2")
INTEGERS, DOUBLES = (np.dtype(np.int64),), (np.dtype(np.float64),)


def renewed(page: str) -> str:
    """The page with the cards as they are now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{cards()}\n{END}{after}"


def cards() -> str:
    """A table of all algorithms, then a paragraph on each."""
    rows = [COLUMNS, ("---",) * len(COLUMNS), *(row(a) for a in ALGORITHMS)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    return "\n\n".join([table, *(paragraph(a) for a in ALGORITHMS)])


def row(algorithm: Algorithm) -> tuple[str, ...]:
    """An algorithm's line of the table."""
    card = algorithm.card
    multi = card.multi.text if card.multi else "–"
    return (f"`{card.name}`", ", ".join(card.needs) or "–", "many" if card.multi else "one",
            "yes" if card.ragged else "–", longest(algorithm), card.single.text, card.worst.text, multi,
            card.space.text, card.engine, card.paper, printed(card))


def longest(algorithm: Algorithm) -> str:
    """How long a window may be; sums of doubles may have a bound of their own."""
    whole = f"{algorithm.card.longest:,}" if algorithm.card.longest else "any"
    bounded = algorithm.card.depth == "linear" and any(folds(algorithm, m, DOUBLES) and m.rounds(DOUBLES)
                                                       for m in OPERATIONS)
    return f"{whole}; {LINEAR:,} where doubles are added" if bounded else whole


def printed(card: Card) -> str:
    """What 001 Table 2 prints: amortised, worst, all ranges, space."""
    return card.table.replace(" | ", " / ") or "–"


def paragraph(algorithm: Algorithm) -> str:
    """What an algorithm does and what it folds."""
    card = algorithm.card
    head = f"### {card.name}" if card.title == card.name else f"### {card.name}: {card.title}"
    return f"{head}\n\n" + fill(f"{card.about} It folds {', '.join(functions(algorithm))}.", WIDTH)


def functions(algorithm: Algorithm) -> Iterator[str]:
    """The functions that the algorithm may fold."""
    if all(folds(algorithm, m, DOUBLES) for m in OPERATIONS):
        yield "every function"
        return
    for operation in OPERATIONS:
        if folds(algorithm, operation, DOUBLES):
            yield operation.name
        elif folds(algorithm, operation, INTEGERS):
            yield f"{operation.name} of integers" if operation is ADD else operation.name


def folds(algorithm: Algorithm, operation: Operation, types: tuple[np.dtype, ...]) -> bool:
    """Whether the algorithm may fold a short window of these types."""
    return algorithm.supports(operation, types, [2]) is None


def main() -> None:
    """Renews the page."""
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
