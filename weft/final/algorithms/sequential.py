"""Sequential algorithms: one slice after another through a compiled kernel, for any number of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.aggregates.operation import Operation, State, types_of
from weft.final.algorithms.base import AlgorithmState, Card, Feed, Types, dense_feed, refusal
from weft.final.algorithms.jit import missing
from weft.final.algorithms.values import TAGS


@dataclass(frozen=True)
class Room:
    """What a key's state takes: a ring of `size` slices, `values` places, `marks` and `links` integers."""

    size: int
    values: int
    marks: int
    links: int


@dataclass(frozen=True)
class Sequential:
    """An algorithm that a kernel runs step by step.

    The kernel takes (tag, identity, size, cells, keys, steps, hi, lo, ranges, seen, values, marks, links, scratch,
    out) and writes the answers into `out`; `room` says how much state a key needs for n slices and so many ranges.
    """

    card: Card
    kernel: Callable[..., None]
    room: Callable[[int, int], Room]

    @property
    def missing(self) -> str | None:
        """What has to be installed before it runs here."""
        return missing()

    def supports(self, operation: Operation, types: Types, ranges: Sequence[int]) -> str | None:
        """Why it must not fold this operation over these ranges, or None if it may."""
        if operation.name not in TAGS:
            return f"{self.card.title} has no compiled {operation.name}"
        return refusal(self.card, operation, types, ranges)

    def init(self, operation: Operation, types: Types, ranges: Sequence[int], keys: int,
             slack: int = 0) -> AlgorithmState:
        """An empty state of so many keys."""
        kinds = wide(operation, types)
        lines = keys * (len(types) if operation.ufunc is not None else 1)
        room = self.room(max(ranges) + slack, len(ranges))
        return AlgorithmState(
            np.zeros(lines, np.int64),
            np.array([0, room.size]),
            operation.empty(kinds, lines * room.values),
            np.zeros((lines, room.marks), np.int64),
            np.zeros((lines, room.links), np.int64),
        )

    def advance(self, operation: Operation, kept: AlgorithmState, feed: Feed) -> tuple[State, AlgorithmState]:
        """The answers of all steps and ranges, and the state after them."""
        fields, types = len(feed.cells), types_of(feed.cells)
        lined = one_line(operation, feed)
        steps = int(lined.steps[-1])
        out = tuple(np.empty(steps * len(feed.ranges), a.dtype) for a in lined.cells)
        identity = tuple(np.full(1, e, a.dtype) for e, a in zip(operation.identity(types), lined.cells, strict=False))
        identity += tuple(np.zeros(1) for _ in lined.cells[len(identity):])
        size = int(kept.offsets[1])
        scratch = np.empty(size + 1, np.int64)
        self.kernel(TAGS[operation.name], identity, size, lined.cells, lined.keys, lined.steps, lined.hi, lined.lo,
                    lined.ranges, kept.seen, kept.values, kept.marks, kept.links, scratch, out)
        return narrow(out, types, fields), kept

    def slide(self, operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
        """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size."""
        line = tuple(a[: size + lengths[-1] - 1] for a in cells)
        kept = self.init(operation, types_of(cells), lengths, 1)
        answers, _ = self.advance(operation, kept, dense_feed(line, lengths))
        table = tuple(a.reshape(-1, len(lengths)) for a in answers)
        for r, length in enumerate(lengths):
            yield tuple(a[length - 1 : length - 1 + size, r] for a in table)


def power(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << (n - 1).bit_length()


def wide(operation: Operation, types: Types) -> Types:
    """The types a kernel works in: 64 bits, one field for field by field operations, else as many as they pad to."""
    kinds = tuple(np.dtype(np.float64 if t.kind == "f" else np.int64) for t in types)
    if operation.ufunc is not None:
        return kinds[:1]
    return kinds + kinds[:1] * (operation.padded - len(kinds))


def one_line(operation: Operation, feed: Feed) -> Feed:
    """The feed in the types a kernel takes; several fields that do not mix become as many times the keys."""
    kinds, fields = wide(operation, types_of(feed.cells)), len(feed.cells)
    if operation.ufunc is None:
        padded = feed.cells + (np.zeros_like(feed.cells[0]),) * (len(kinds) - fields)
        return with_cells(feed, tuple(np.ascontiguousarray(a, k) for a, k in zip(padded, kinds, strict=True)))
    if fields == 1:
        return with_cells(feed, (np.ascontiguousarray(feed.cells[0], kinds[0]),))
    cells = (np.concatenate(feed.cells).astype(kinds[0], copy=False),)
    return Feed(cells, repeated(feed.keys, fields), repeated(feed.steps, fields), np.tile(feed.hi, fields),
                np.tile(feed.lo, (fields, 1)), feed.ranges)


def with_cells(feed: Feed, cells: State) -> Feed:
    """The feed over other arrays."""
    return Feed(cells, feed.keys, feed.steps, feed.hi, feed.lo, feed.ranges)


def repeated(offsets: np.ndarray, times: int) -> np.ndarray:
    """Offsets that cut the same pieces several times, one after another."""
    return np.append(0, np.cumsum(np.tile(np.diff(offsets), times)))


def narrow(out: State, types: Types, fields: int) -> State:
    """The answers in the fields and types that were asked."""
    if len(out) == 1 and fields > 1:
        out = tuple(np.split(out[0], fields))
    return tuple(a.astype(t, copy=False) for a, t in zip(out[:fields], types, strict=True))
