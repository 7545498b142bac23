"""Disjoint: a sparse table whose entries do not overlap; any window is two of them. Legal for every operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from weft.aggregates.operation import Operation, State, types_of
from weft.final.algorithms.base import TABLED, Card, CombineBound
from weft.final.algorithms.bulk import Bulk
from weft.final.algorithms.flat_fat import levels

CARD = Card(
    name="disjoint",
    title="disjoint sparse table",
    about="Level j folds away from the middle of every block of 2ʲ⁺¹ slices, to the left and to the right; a window "
          "reads the level at which its ends part, one fold on each side. Above the highest level that a window's "
          "length needs, one more table folds away from where those blocks meet.",
    paper="beyond the paper",
    single=CombineBound("⌈log₂ n⌉ + 3", lambda n: levels(n) + 3),
    worst=CombineBound("2n (⌈log₂ n⌉ + 3)", lambda n: 2 * n * (levels(n) + 3)),
    multi=CombineBound("n + ⌈log₂ n⌉ + 3", lambda n: n + levels(n) + 3),
    space=CombineBound("n (⌈log₂ n⌉ + 2)", lambda n: n * (levels(n) + 2)),
    depth="log",
    longest=TABLED,
    ragged=True,
)


def build_level(operation: Operation, line: State, level: int) -> State:
    """The folds of level j: suffixes of each left half block, prefixes of each right half block."""
    half = 1 << level
    blocks = tuple(a.reshape(-1, 2, half) for a in line)
    right = operation.scan(tuple(b[:, 1] for b in blocks), 1)
    left = reversed_scan(operation, tuple(b[:, 0] for b in blocks))
    merged = tuple(np.empty_like(b) for b in blocks)
    for target, before, after in zip(merged, left, right, strict=True):
        target[:, 0], target[:, 1] = before, after
    return tuple(m.reshape(-1) for m in merged)


def reversed_scan(operation: Operation, rows: State) -> State:
    """The fold of each element of a row and all after it, in their order."""
    if not operation.commutative:
        return suffixes(operation, rows)
    folded = tuple(np.empty(a.shape, a.dtype) for a in rows)
    operation.scan(tuple(a[:, ::-1] for a in rows), 1, tuple(a[:, ::-1] for a in folded))
    return folded


def suffixes(operation: Operation, rows: State) -> State:
    """Suffix folds for operations in which order matters: each pass doubles how far ahead an element has folded."""
    state, step, size = tuple(a.copy() for a in rows), 1, rows[0].shape[1]
    while step < size:
        ahead = operation.combine(tuple(a[:, :-step] for a in state), tuple(a[:, step:] for a in state))
        for target, value in zip(state, ahead, strict=True):
            target[:, :-step] = value
        step *= 2
    return state


def padded(operation: Operation, line: State, to: int) -> State:
    """The line, with identities at its end up to a multiple of `to`."""
    missing = operation.empty(types_of(line), -len(line[0]) % to)
    return line if not len(missing[0]) else tuple(np.concatenate(pair) for pair in zip(line, missing, strict=True))


def read(operation: Operation, line: State, lo: np.ndarray, hi: np.ndarray) -> State:
    """The folds of windows of any lengths."""
    return look_up(Tables(operation, line, int((hi - lo).max()), {}), lo, hi)


@dataclass(frozen=True)
class Tables:
    """The levels of one line, built when the first window needs them; `longest` is the longest window's length."""

    operation: Operation
    line: State
    longest: int
    built: dict[int, State]

    @property
    def top(self) -> int:
        """The level of the table that folds away from where the blocks of the level below it meet."""
        return (self.longest - 1).bit_length() + 1

    def level(self, i: int) -> tuple[State, int]:
        """A level, and by how many places its blocks are shifted."""
        shift = 1 << (i - 1) if i == self.top else 0
        if i not in self.built:
            shifted = tuple(np.concatenate(p) for p in zip(self.empty(shift), self.line, strict=True))
            below = i - 1 if shift else i
            self.built[i] = build_level(self.operation, padded(self.operation, shifted, 2 << below), below)
        return self.built[i], shift

    def empty(self, size: int) -> State:
        """So many identities."""
        return self.operation.empty(types_of(self.line), size)


def look_up(tables: Tables, lo: np.ndarray, hi: np.ndarray) -> State:
    """Two gathers and one combine a window."""
    answers = tuple(a[lo] for a in tables.line)
    level = np.minimum(np.frexp((lo ^ (hi - 1)).astype(np.float64))[1] - 1, tables.top)
    # Levels are few; the first place is that of one slice alone, which reads no level.
    for i in np.flatnonzero(np.bincount(level + 1)[1:]).tolist():
        mine, (table, shift) = np.flatnonzero(level == i), tables.level(i)
        left, right = lo[mine] + shift, hi[mine] - 1 + shift
        found = tables.operation.combine(tuple(a[left] for a in table), tuple(a[right] for a in table))
        for target, value in zip(answers, found, strict=True):
            target[mine] = value
    return answers


def slide(operation: Operation, cells: State, lengths: Sequence[int], size: int) -> Iterator[State]:
    """Every window of one length after another."""
    place = np.arange(size)
    tables = Tables(operation, cells, max(lengths), {})
    for length in lengths:
        yield look_up(tables, place, place + length)


disjoint = Bulk(CARD, slide, read)
