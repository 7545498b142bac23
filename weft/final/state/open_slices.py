"""Slices that wait for the watermark: whatever comes before its slice is over lies in pieces until then.

A trigger writes what is new as a few pieces, the nearer to the watermark the shorter the span of time in one, and reads
a piece when the watermark comes to its first slice. What of it is not over yet is then nearer, and written once more;
so a slice is written about as often as its distance can be halved. Many pieces of a kind are merged into one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from weft.final.state.form import SliceForm, merge_equal_starts
from weft.final.state.history import WAITING, Blob
from weft.final.state.tables import BlobTables

# How many pieces of a kind are merged into one.
MANY = 16
# Stands where a piece has its tier, in rows that hold the mark of a blob.
MARKED = -1
# The same in the row that holds the layout of a bucket.
LAID_OUT = -2


class SlicePiece(NamedTuple):
    """Some slices: their number in the store, when the first of them ends, how far that was, and how often merged."""

    number: int
    low: int
    grade: int
    tier: int


class BucketLayout(NamedTuple):
    """How the blobs of a bucket are laid out: the number of levels, and a digest of all that matters."""

    levels: int
    digest: int


class OpenSlices:
    """The slices of a bucket that are not over, in one trigger."""

    def __init__(self, form: SliceForm, tables: BlobTables, pieces: Iterable[SlicePiece]):
        self.form, self.tables, self.pieces = form, tables, list(pieces)

    @property
    def low(self) -> int | None:
        """When the first slice that waits is over."""
        return min((piece.low for piece in self.pieces), default=None)

    def advance(self, new: pa.Table | None, until: int) -> pa.Table | None:
        """Take new slices in and give those that are over at the watermark, one a key and start."""
        due = [piece for piece in self.pieces if piece.low <= until]
        tables = [*([] if new is None else [new]), *map(self.taken, due)]
        if not tables:
            return None
        table = merge_equal_starts(self.form, pa.concat_tables(tables))
        over = self.form.ends(table) <= until
        if not over.all():
            self.put(table.filter(pa.array(~over)), until)
            self.merge(until)
        return table.filter(pa.array(over)) if over.any() else None

    def taken(self, piece: SlicePiece) -> pa.Table:
        """The slices of a piece, which is then no more."""
        found = self.tables.get(Blob(WAITING, piece.number))
        assert found is not None, f"{piece} of waiting slices is not in the store"
        self.tables.remove(Blob(WAITING, piece.number))
        self.pieces.remove(piece)
        return found

    def put(self, table: pa.Table, until: int, tier: int = 0) -> None:
        """Keep slices as pieces, by how far their ends are from the watermark."""
        ends = self.form.ends(table)
        grades = distance_tiers(ends - until, min(period for _, period in self.form.cut))
        for grade in np.unique(grades).tolist():
            there = grades == grade
            number = max((piece.number for piece in self.pieces), default=-1) + 1
            self.tables.put(Blob(WAITING, number), table.filter(pa.array(there)))
            self.pieces.append(SlicePiece(number, int(ends[there].min()), grade, tier))

    def merge(self, until: int) -> None:
        """Make one piece of many that are equally far and equally often merged."""
        kinds: dict[tuple[int, int], list[SlicePiece]] = defaultdict(list)
        for piece in self.pieces:
            kinds[piece.grade, piece.tier].append(piece)
        for (_, tier), found in kinds.items():
            if len(found) >= MANY:
                self.put(merge_equal_starts(self.form, pa.concat_tables(map(self.taken, found))), until, tier + 1)


def distance_tiers(distance: np.ndarray, unit: int) -> np.ndarray:
    """How often a distance can be halved until it is a unit."""
    return np.frexp((distance - 1) // unit)[1]


def pack_pieces(pieces: Iterable[SlicePiece], marks: Mapping[Blob, int] | None = None,
                layout: BucketLayout | None = None) -> bytes:
    """Pieces as bytes, without what they hold, the marks of blobs, and how these are laid out."""
    rows = [*pieces, *((blob.level, blob.number, mark, MARKED) for blob, mark in (marks or {}).items()),
            *([(layout.levels, layout.digest, 0, LAID_OUT)] if layout else [])]
    return np.array(rows, np.int64).tobytes()


def unpack_pieces(data: bytes) -> tuple[list[SlicePiece], dict[Blob, int], BucketLayout | None]:
    """What `pack_pieces` wrote; state of older versions has no marks or no layout."""
    rows = np.frombuffer(data, np.int64).reshape(-1, len(SlicePiece._fields)).tolist()
    pieces = [SlicePiece(*row) for row in rows if row[-1] >= 0]
    marks = {Blob(level, number): mark for level, number, mark, tier in rows if tier == MARKED}
    return pieces, marks, next((BucketLayout(row[0], row[1]) for row in rows if row[-1] == LAID_OUT), None)
