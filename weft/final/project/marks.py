"""Marks of rows: which predicates each passes, as places on scales and single bits (`model/marks.py`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.final.project.tree import Node, Scope
from weft.final.project.vector import Vector, either


@dataclass(frozen=True, eq=False)
class ScalePlace(Node):
    """The place of a number on a scale of ascending ones: 2i + 2 where it equals number i, 2i + 1 where it lies before
    it, 0 where it is null; on a scale of equalities only, 0 wherever it equals none."""

    value: Node
    numbers: tuple[float, ...]
    equalities: bool

    def evaluate(self, scope: Scope) -> Vector:
        """Never null. NaN is sorted above all numbers, as Spark has it."""
        found = scope.read(self.value)
        numbers = np.asarray(self.numbers, found.values.dtype)
        at = np.searchsorted(numbers, found.values)
        here = numbers[np.minimum(at, len(numbers) - 1)] == found.values
        place = np.where(here, 2 * at + 2, 0 if self.equalities else 2 * at + 1)
        return Vector(place if found.valid is None else np.where(found.valid, place, 0), None, found.errors)


@dataclass(frozen=True, eq=False)
class MarkBits(Node):
    """A mark: each field's number, or a one where its condition is true, shifted to its place."""

    fields: tuple[tuple[Node, int], ...]

    def evaluate(self, scope: Scope) -> Vector:
        """Never null."""
        bits, errors = np.zeros((), np.int64), None
        for node, shift in self.fields:
            found = scope.read(node)
            value = found.true if node.kind == "boolean" else found.values
            bits = bits | value.astype(np.int64) << shift
            errors = either(errors, found.errors)
        return Vector(bits, None, errors)
