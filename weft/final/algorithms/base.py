"""What every final algorithm is: a card, what it supports, `init`, a resumable `advance`, and state as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

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
    longest: int | None = None
    table: str = ""


@dataclass(frozen=True)
class Feed:
    """New slices of many keys, and the windows that end among them.

    Key k brings the slices `keys[k]` … `keys[k + 1]` of `cells` and takes the steps `steps[k]` … `steps[k + 1]`.
    At a step all its windows end before slice `hi[step]`, and the one of range r begins at slice `lo[step, r]`,
    counting the key's slices since `init`; both never fall, and ranges ascend. Where `hi` is empty the data is dense:
    there is a step after every slice, and range r reaches back over the last `ranges[r]` slices, or all there are.
    `keep[k]` is the first slice that a later step may still read; None where the data is dense.
    """

    cells: State
    keys: np.ndarray
    steps: np.ndarray
    hi: np.ndarray
    lo: np.ndarray
    ranges: np.ndarray
    keep: np.ndarray | None = None

    @property
    def dense(self) -> bool:
        """Whether every slice is a step."""
        return len(self.hi) == 0


def dense_feed(cells: State, ranges: Sequence[int], keys: np.ndarray | None = None) -> Feed:
    """A feed in which every slice of every key is a step; one key unless `keys` cuts the cells."""
    cut = np.array([0, len(cells[0])]) if keys is None else np.asarray(keys, np.int64)
    lengths = np.asarray(ranges, np.int64)
    return Feed(cells, cut, cut, np.empty(0, np.int64), np.empty((0, len(lengths)), np.int64), lengths)


@dataclass(frozen=True)
class AlgorithmState:
    """What an algorithm keeps of many keys between two calls.

    `seen[k]` slices of key k have come in. Its values lie in the places `offsets[k]` … `offsets[k + 1]` of `values`,
    its integers in row k of `marks` (pointers) and of `links` (one or more per place).
    """

    seen: np.ndarray
    offsets: np.ndarray
    values: State
    marks: np.ndarray
    links: np.ndarray

    def to_bytes(self) -> bytes:
        """The state as bytes, array after array in NumPy's own format."""
        target = BytesIO()
        for array in (self.seen, self.offsets, self.marks, self.links, *self.values):
            np.lib.format.write_array(target, np.ascontiguousarray(array), allow_pickle=False)
        return target.getvalue()

    @staticmethod
    def from_bytes(data: bytes) -> AlgorithmState:
        """The state that `to_bytes` wrote."""
        source, arrays = BytesIO(data), []
        while source.tell() < len(data):
            arrays.append(np.lib.format.read_array(source, allow_pickle=False))
        seen, offsets, marks, links, *values = arrays
        return AlgorithmState(seen, offsets, tuple(values), marks, links)


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

    def init(self, operation: Operation, types: Types, ranges: Sequence[int], keys: int,
             slack: int = 0) -> AlgorithmState:
        """An empty state of so many keys; `slack` slices at most follow a key's last step of a call."""

    def advance(self, operation: Operation, kept: AlgorithmState, feed: Feed) -> tuple[State, AlgorithmState]:
        """The answers of all steps and ranges, range by range within a step, and the state after them.

        The state passed in is spent.
        """

    def slide(self, operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
        """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size."""


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
