"""What every final algorithm is: a card, what it supports, and the windows of equal or of any slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from weft.aggregates.operation import LINEAR, Operation, State

Types = tuple[np.dtype, ...]


@dataclass(frozen=True)
class CombineBound:
    """A number of combines per slide as a function of n, the slices in a window: as text and to compute with."""

    text: str
    of: Callable[[int], float]


@dataclass(frozen=True)
class Card:
    """What an algorithm needs, serves and costs; `docs/algorithms.md` is made of these.

    `single` and `worst` bound the combines per slide for one range, amortised and in the worst slide; `multi` bounds
    them, amortised, when all ranges 1 … n are asked at once, and is None for algorithms that serve one range.
    `depth` says how rounding grows: "linear" where a sum may be one chain of n additions, so that doubles are added
    up to LINEAR slices only; "log" where chains stay short however long the window is.
    `ragged` says that it reads any windows off slices of any lengths cheaply, so that a stream may choose it.
    `longest` is the longest window, in slices, whose tables still fit a worker's memory. `table` is the row that
    001 Table 2 prints, if it has one.
    """

    name: str
    title: str
    about: str
    paper: str
    single: CombineBound
    worst: CombineBound
    multi: CombineBound | None
    space: CombineBound
    needs: tuple[str, ...] = ()
    depth: str = "linear"
    engine: str = "numpy"
    ragged: bool = False
    longest: int | None = None
    table: str = ""


@runtime_checkable
class Algorithm(Protocol):
    """A member of the family."""

    @property
    def card(self) -> Card:
        """What it needs, serves and costs."""

    @property
    def missing(self) -> str | None:
        """What has to be installed before it runs here."""

    def supports(self, operation: Operation, types: Types, ranges: Sequence[int]) -> str | None:
        """Why it must not fold this operation over these ranges (in slices), or None if it may."""

    def slide(self, operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
        """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size: what batches ask."""

    def read(self, operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
        """At each step i, for each range r, the fold of slices lo[i, r] … hi[i] − 1 of a line, which may be none: what
        streams ask. Ranges ascend, and neither bound falls from step to step, unless the windows begin anew."""


# The longest windows for which an algorithm may keep a line of folds a level.
TABLED = 1 << 16


def refusal(card: Card, operation: Operation, types: Types, ranges: Sequence[int]) -> str | None:
    """Why the card forbids this operation over these ranges, or None."""
    if card.multi is None and len(ranges) > 1:
        return f"{card.title} serves one range, not {len(ranges)}"
    if "invertible" in card.needs and not operation.invertible(types):
        return f"{card.title} subtracts what leaves a window, which is not exact for {describe(operation, types)}"
    for need in ("selective", "idempotent", "commutative"):
        if need in card.needs and not getattr(operation, need):
            return f"{card.title} needs {ARTICLE[need]} function, and {describe(operation, types)} is not {need}"
    if card.longest is not None and max(ranges, default=0) > card.longest:
        return f"{card.title} keeps tables that fit memory up to {card.longest} slices, not {max(ranges)}"
    if operation.rounds(types) and card.depth == "linear" and max(ranges, default=0) > LINEAR:
        return (f"{card.title} adds {max(ranges)} slices one after another, and rounding {describe(operation, types)} "
                f"may then exceed its bound; it may serve up to {LINEAR}")
    return None


ARTICLE = {"selective": "a selective", "idempotent": "an idempotent", "commutative": "a commutative"}


def describe(operation: Operation, types: Types) -> str:
    """An operation and its type in words."""
    return f"{operation.name} of {', '.join(dict.fromkeys(str(t) for t in types))}"
