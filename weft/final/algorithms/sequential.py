"""Sequential algorithms: one slice after another through a compiled kernel, for any number of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.aggregates.operation import Operation, State, types_of
from weft.final.algorithms.base import Card, Types, refusal
from weft.final.algorithms.jit import missing
from weft.final.algorithms.values import TAGS


@dataclass(frozen=True)
class Feed:
    """New slices of many keys, and the windows that end among them.

    Key k brings the slices `keys[k]` … `keys[k + 1]` of `cells` and takes the steps `steps[k]` … `steps[k + 1]`.
    At a step all its windows end before slice `hi[step]`, and the one of range r begins at slice `lo[step, r]`,
    counting the key's slices since `begin`; both never fall, and ranges ascend. Where `hi` is empty the data is dense:
    there is a step after every slice, and range r reaches back over the last `ranges[r]` slices, or all there are.
    """

    cells: State
    keys: np.ndarray
    steps: np.ndarray
    hi: np.ndarray
    lo: np.ndarray
    ranges: np.ndarray


def dense_feed(cells: State, ranges: Sequence[int], keys: np.ndarray | None = None) -> Feed:
    """A feed in which every slice of every key is a step; one key unless `keys` cuts the cells."""
    cut = np.array([0, len(cells[0])]) if keys is None else np.asarray(keys, np.int64)
    lengths = np.asarray(ranges, np.int64)
    return Feed(cells, cut, cut, np.empty(0, np.int64), np.empty((0, len(lengths)), np.int64), lengths)


@dataclass(frozen=True)
class KernelState:
    """What a kernel keeps of many keys between two calls, in arrays that it changes.

    `seen[k]` slices of key k have come in. Its values lie in a ring of `size` slices and what else it needs, its
    integers in row k of `marks` (pointers) and of `links` (one or more per place).
    """

    size: int
    seen: np.ndarray
    values: State
    marks: np.ndarray
    links: np.ndarray


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

    def begin(self, operation: Operation, types: Types, ranges: Sequence[int], keys: int) -> KernelState:
        """An empty state of so many keys."""
        kinds = wide(operation, types)
        lines = keys * (len(types) if operation.ufunc is not None else 1)
        room = self.room(max(ranges), len(ranges))
        return KernelState(
            room.size,
            np.zeros(lines, np.int64),
            operation.empty(kinds, lines * room.values),
            np.zeros((lines, room.marks), np.int64),
            np.zeros((lines, room.links), np.int64),
        )

    def step(self, operation: Operation, kept: KernelState, feed: Feed) -> State:
        """The answers of all steps and ranges, range by range within a step; the state goes on from there."""
        fields, types = len(feed.cells), types_of(feed.cells)
        lined = one_line(operation, feed)
        steps = int(lined.steps[-1])
        out = tuple(np.empty(steps * len(feed.ranges), a.dtype) for a in lined.cells)
        identity = tuple(np.full(1, e, a.dtype) for e, a in zip(operation.identity(types), lined.cells, strict=False))
        identity += tuple(np.zeros(1) for _ in lined.cells[len(identity):])
        scratch = np.empty(kept.size + 1, np.int64)
        self.kernel(TAGS[operation.name], identity, kept.size, lined.cells, lined.keys, lined.steps, lined.hi, lined.lo,
                    lined.ranges, kept.seen, kept.values, kept.marks, kept.links, scratch, out)
        return narrow(out, types, fields)

    def slide(self, operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
        """For each length q, ascending, the fold of cells p … p + q − 1 for every p < size."""
        line = tuple(a[: size + lengths[-1] - 1] for a in cells)
        answers = self.step(operation, self.begin(operation, types_of(cells), lengths, 1), dense_feed(line, lengths))
        table = tuple(a.reshape(-1, len(lengths)) for a in answers)
        for r, length in enumerate(lengths):
            yield tuple(a[length - 1 : length - 1 + size, r] for a in table)

    def read(self, operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
        """At each step i, for each range r, the fold of slices lo[i, r] … hi[i] − 1 of a line."""
        if not len(hi):
            return operation.empty(types_of(line), 0)
        feed = feed_of(line, lo, hi)
        kept = self.begin(operation, types_of(line), feed.ranges.tolist(), len(feed.keys) - 1)
        return self.step(operation, kept, feed)


def feed_of(line: State, lo: np.ndarray, hi: np.ndarray) -> Feed:
    """The windows as a kernel takes them: where they begin anew on the line there is another key, with its own slices.
    """
    falls = (np.diff(hi) < 0) | (np.diff(lo, axis=0) < 0).any(1)
    steps = np.concatenate(([0], np.flatnonzero(falls) + 1, [len(hi)]))
    begin, end = lo[steps[:-1]].min(1), hi[steps[1:] - 1]
    sizes = end - begin
    keys = np.append(0, np.cumsum(sizes))
    place = np.arange(keys[-1]) + np.repeat(begin - keys[:-1], sizes)
    shift = np.repeat(begin, np.diff(steps))
    held = np.maximum.accumulate(np.maximum((hi[:, None] - lo).max(0), 1))
    return Feed(tuple(a[place] for a in line), keys, steps, hi - shift, lo - shift[:, None], held)


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
